"""Where a batch is, for those who judge its records."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a batch is. `offsets_are_own`: it is in a checkpoint, whose offsets are not the log's."""

    base_offset: int
    file: str
    position: int
    epoch: int
    offsets_are_own: bool = False
