"""Which records of a replica are judged."""

from __future__ import annotations

import msgspec


class Range(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Records from `start` to `end` (exclusive) of a replica, upon the checkpoint that ends at `start`.

    `checkpoint` is its file, or None where the log starts at offset 0; `end` None is the log's end.
    """

    replica: int
    start: int
    end: int | None
    checkpoint: str | None
