"""Open a replica's directory and carry out its disk jobs."""
