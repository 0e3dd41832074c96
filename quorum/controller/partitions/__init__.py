"""Placement of replicas and changes of one partition."""
