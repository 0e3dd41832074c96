"""Kafka's protocol on the wire: reading and writing kio's entities, converting the Raft RPCs, and outgoing connections.

Except for the Kafka listener, only this package imports kio.
"""
