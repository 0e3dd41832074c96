"""How deep a verification goes."""

from __future__ import annotations

import enum


class Depth(enum.IntEnum):
    """How much of a log is judged; each level from `BYTES` on has all of those before it."""

    PREFIX = -1
    """As `BYTES`; and `read_replica` finds the valid prefix in the same pass."""
    BYTES = 0
    """Checksums, framing, offsets, epochs, indexes, and the files beside the log."""
    RECORDS = 1
    """Each record is decoded and judged by itself."""
    REPLAY = 2
    """All records are replayed: each is judged by what was before it, and checkpoints by the log."""

    @property
    def decodes(self) -> bool:
        """Return True if each record is decoded."""
        return self >= Depth.RECORDS
