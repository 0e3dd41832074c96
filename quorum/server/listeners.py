"""What can go wrong with any listener."""

from __future__ import annotations


class ListenError(OSError):
    """A listener's address cannot be bound."""
