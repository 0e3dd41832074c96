"""Golden outputs: the text that each read-only command prints over the fixtures, kept in archives and compared."""
