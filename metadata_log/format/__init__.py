"""The bytes of the log: record batches and the epoch history. Pure."""
