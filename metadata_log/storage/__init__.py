"""The log and its checkpoints on disk: segments, writer, crash recovery."""
