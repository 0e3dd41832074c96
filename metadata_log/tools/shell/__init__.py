"""The shell over one copy of a metadata log."""
