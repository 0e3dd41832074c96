"""Offsets that a log does not have between two of its batches: records were there, and are gone.

Decides: how a gap is named. Must not know: how it is found (`verify.chain` does).
"""

from __future__ import annotations

from pathlib import Path

import msgspec


class Gap(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Offsets `start` to `end` (exclusive) are missing in front of the rest of `file`."""

    start: int
    end: int
    file: str

    def __str__(self) -> str:
        if self.end - self.start == 1:
            return f"offset {self.start} is missing"
        return f"offsets {self.start} to {self.end - 1} are missing"

    @property
    def before(self) -> str:
        """The name of the file that goes on behind it."""
        return Path(self.file).name
