"""The next steps for an operator, as sentences and commands."""
