"""The `kraft` command: the composition root of everything. Nothing imports it."""
