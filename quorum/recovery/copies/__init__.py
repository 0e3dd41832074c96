"""Read one copy of the metadata log for a repair."""
