"""That the reader of our output has left, as commands say it to the entry point. Imports nothing: every start pays."""

from __future__ import annotations


class ReaderGone(Exception):
    """The reader of our output has left. Not an OSError: of those click makes another exit status."""
