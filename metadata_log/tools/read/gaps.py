"""Offsets that a log lacks between two of its batches: their records are lost.

Decides: how a gap is named, and which states it hides. Must not know: how it is found (`verify.chain` does).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from metadata_log.counts import offsets_are


class Gap(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Missing offsets `start` to `end` (exclusive), before the rest of `file`."""

    start: int
    end: int
    file: str

    def __str__(self) -> str:
        return f"{offsets_are(self.start, self.end - 1)} missing"

    @property
    def before(self) -> str:
        """Return the name of the file that continues after the gap."""
        return Path(self.file).name


def hidden_state(gaps: Iterable[Gap], end: int, limit: int, checkpoints: Iterable[int]) -> str | None:
    """Return a sentence on the gap that hides the states after offset `end`, up to `limit`, or None if no gap does.

    `checkpoints`: the offsets at which checkpoints end. Their states are known again.
    """
    gap = next((gap for gap in gaps if gap.end > end and gap.start < limit), None)
    if gap is None or end >= limit:
        return None
    known = min((offset for offset in checkpoints if offset > end), default=None)
    until = "" if known is None else f", up to that of the checkpoint at offset {known}"
    return f"{gap}, so that no state behind offset {end} is known{until}"
