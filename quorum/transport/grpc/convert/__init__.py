"""Between the domain's messages and the protobuf ones: pure functions, one pair for each message.

Decides: how each field is spelled on the wire, and what makes a message impossible to understand. Must not know:
channels, streams, the loop, and whether what a message says is allowed.

What a peer or a client got wrong is `BadMessage` with Kafka's error, which a door answers; nothing else is raised.
"""
