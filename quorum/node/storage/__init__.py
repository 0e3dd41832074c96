"""Opening of a replica's directory, and execution of its disk jobs."""
