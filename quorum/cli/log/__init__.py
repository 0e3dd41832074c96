"""`kraft log`: read, check, compare and export metadata logs."""
