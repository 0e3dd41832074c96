"""The repairs, one file a command."""
