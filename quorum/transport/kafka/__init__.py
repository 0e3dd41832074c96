"""Kafka's protocol on the wire: kio's entities, read and written safely, the Raft RPCs' translation in both directions,
and outgoing connections to controllers that speak nothing else.

The only package beside the Kafka door that knows kio.
"""
