"""The steps on the log's files that `file_log` stages and `log_writer` executes.

A step has the exact position of its bytes, so that the writer needs no memory of the log.
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
    """Remove whole segments, the newest first, then cut one to a size: the log ends at `end`.

    Durable before the next step. If epochs are removed, `epochs` is the remaining history, durable before the first
    cut, and `epochs_before` the former one.
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
    """Create the only segment of a replaced log."""

    base: Offset


class AdoptCheckpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sync a received and checked checkpoint, and give it its final name. Durable before the next step."""

    part: str
    name: str


class RemoveFiles(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove those of these files that exist."""

    names: tuple[str, ...]


Step: TypeAlias = (
    Append | Roll | Truncate | SaveEpochs | SaveIndexes | RemoveSegments | CreateSegment | AdoptCheckpoint | RemoveFiles
)


class WriteOp:
    """An operation for the writer: an opaque list of steps.

    The writer sets `executed` once after the steps are durable; other threads only read it. So the log's memory knows
    without a message which batches the file has.
    """

    __slots__ = ("executed", "steps")

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self.executed = False

    def finish(self) -> None:
        """Note that the steps are durable, and drop their bytes: the log's cache keeps those that it needs."""
        self.steps = ()
        self.executed = True
