"""Conversions between the domain's messages and protobuf: pure functions, one pair for each message.

Decides: the encoding of each field, and which messages are malformed. Must not know: channels, streams, the event loop,
or whether a request is allowed. A malformed message raises `BadMessage` with the Kafka error that the listener returns;
nothing else is raised.
"""
