"""The configuration file of a node."""
