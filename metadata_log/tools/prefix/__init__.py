"""The part of one log that a node can go on from."""
