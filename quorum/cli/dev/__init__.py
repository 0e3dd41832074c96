"""`kraft dev`: a cluster for developers, in the foreground."""
