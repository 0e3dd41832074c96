"""The depths of a verification."""

from __future__ import annotations

import enum


class Depth(enum.IntEnum):
    """The checks that a verification makes; each level from `BYTES` on includes the levels before it."""

    PREFIX = -1
    """As `BYTES`; and `read_replica` finds the valid prefix in the same pass."""
    BYTES = 0
    """Checksums, framing, offsets, epochs, indexes, and the files beside the log."""
    RECORDS = 1
    """Each record is decoded and judged by itself."""
    REPLAY = 2
    """All records are replayed: each is judged by the image before it, and each checkpoint by the image at its end."""

    @property
    def decodes(self) -> bool:
        """Return True if each record is decoded."""
        return self >= Depth.RECORDS
