"""The outgoing sides: how a node reaches others, and what its messages look like on the way."""
