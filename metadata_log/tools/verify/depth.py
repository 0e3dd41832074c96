"""How deep a verification goes."""

from __future__ import annotations

import enum


class Depth(enum.IntEnum):
    """How much of a log is judged; each level has all of those before it."""

    BYTES = 0
    """Checksums, framing, offsets, epochs, indexes, and the files beside the log."""
    RECORDS = 1
    """Each record is decoded and judged by itself."""
    REPLAY = 2
    """All records are replayed: each is judged by what was before it, and checkpoints by the log."""
