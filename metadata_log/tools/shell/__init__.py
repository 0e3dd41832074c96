"""The shell over one replica of a metadata log."""
