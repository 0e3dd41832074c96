"""The doors that speak gRPC: thin translations of requests for the node, with a bound on everything.

A request costs no task: a stream's reader hands it to the node with a callback, and the stream's one writer sends what
has been answered since its last message.
"""
