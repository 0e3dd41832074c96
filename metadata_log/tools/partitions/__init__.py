"""Brokers' partition directories against the metadata."""
