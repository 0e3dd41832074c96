"""The gRPC services: thin translations of requests for the node, with a bound on everything.

A request costs no task. The reader of a stream hands it to the node with a callback; the one writer of the stream
sends all answers that are ready.
"""
