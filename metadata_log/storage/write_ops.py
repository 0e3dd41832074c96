"""What is to be done to the log's files: steps that `file_log` stages and `log_writer` executes.

Decides: nothing. Must not know: files or memory. A step says exactly where its bytes go, so that the writer needs no
view of the log of its own.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Offset


class Append(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Write whole batches at the end of a segment's file."""

    segment_base: Offset
    position: int
    data: bytes


class Roll(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Close a segment, with its index files, and create the next."""

    closing_base: Offset
    index: bytes
    time_index: bytes
    new_base: Offset


class Truncate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove whole segments, the newest first, then cut one to a size: the log ends at `end`. Durable before the next
    step.

    Where epochs go with it, `epochs` is what is left of the history, durable before the first cut, and `epochs_before`
    what it was.
    """

    remove_bases: tuple[Offset, ...]
    segment_base: Offset
    size: int
    end: Offset
    epochs: EpochHistory | None = None
    epochs_before: EpochHistory | None = None


class SaveEpochs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Replace `leader-epoch-checkpoint`. Durable before the next step."""

    epochs: EpochHistory


class SaveIndexes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Write a segment's index files, as a clean stop does."""

    segment_base: Offset
    index: bytes
    time_index: bytes


class RemoveSegments(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove whole segments, one after the other in this order, each durably before the next."""

    bases: tuple[Offset, ...]


class CreateSegment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Create the one segment of a log that begins anew."""

    base: Offset


class AdoptCheckpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sync a received checkpoint, which was found sound, and give it its name. Durable before the next step."""

    part: str
    name: str


class RemoveFiles(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove files of the directory, as far as they are there."""

    names: tuple[str, ...]


Step: TypeAlias = (
    Append | Roll | Truncate | SaveEpochs | SaveIndexes | RemoveSegments | CreateSegment | AdoptCheckpoint | RemoveFiles
)


class WriteOp:
    """An opaque piece of work for the writer.

    `executed` is set by the writer once it is durable, and only read elsewhere: a single flag that goes up once, so
    that the log's memory knows what the file has without another message.
    """

    __slots__ = ("executed", "steps")

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self.executed = False

    def finish(self) -> None:
        """It is durable: let go of its bytes, which the log keeps for as long as it wants them."""
        self.steps = ()
        self.executed = True
