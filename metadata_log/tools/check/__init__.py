"""`kraft check`: every check over one set of evidence."""
