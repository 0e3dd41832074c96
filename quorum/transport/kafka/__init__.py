"""Kafka's protocol on the wire: kio's entities, read and written safely, and the Raft RPCs' translation.

The only package beside the Kafka door that knows kio. Outgoing connections to Java voters will stand here too.
"""
