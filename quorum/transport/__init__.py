"""The outgoing side of a node: its connections to other nodes, and the encoding of its messages."""
