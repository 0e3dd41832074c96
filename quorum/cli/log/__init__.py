"""`kraft log`: look into metadata logs."""
