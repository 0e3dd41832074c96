"""The next steps, as commands."""
