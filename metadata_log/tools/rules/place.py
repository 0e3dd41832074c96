"""The position of a batch, for the rules that judge its records."""

from __future__ import annotations

import msgspec

from metadata_log.records.newer import NewerPart
from metadata_log.tools.findings.sink import FindingSink


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch's position. `offsets_are_own`: it is in a checkpoint, whose offsets are not the log's."""

    base_offset: int
    file: str
    position: int
    epoch: int
    offsets_are_own: bool = False

    def note_newer(self, sink: FindingSink, part: NewerPart, offset: int) -> None:
        """Add to `sink` a part of a later release, at `offset` in the batch."""
        sink.add_newer(part, file=self.file, position=self.position, offset=offset, epoch=self.epoch)
