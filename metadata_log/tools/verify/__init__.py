"""Verify one replica's metadata directory."""
