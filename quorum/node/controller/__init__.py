"""The controller role of a replica."""
