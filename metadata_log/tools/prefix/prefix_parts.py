"""Parts of a valid prefix: segments, checkpoints, where it ends.

Decides: why a batch does not go on from it. Must not know: how they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from metadata_log.errors import MetadataLogError, UnknownRecordError
from metadata_log.format.batch import batch_records
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.records import ControlRecord, LeaderChangeMessage, VotersRecord, control_or_newer
from metadata_log.storage.checkpoint import checkpoint_name
from metadata_log.storage.epoch_starts import leads, unled_epoch
from metadata_log.storage.segment import LocatedBatch, segment_file
from metadata_log.tools.prefix.own_epochs import OwnEpochs
from metadata_log.tools.read.control_facts import Election


def control_records(batch: LocatedBatch) -> list[ControlRecord | UnknownRecordError]:
    """Return those of a control batch; the error in place of each that a later release has written.

    Raises:
        MetadataLogError: one cannot be read.
    """
    found = batch_records(batch.buffer, batch.header, batch.at)
    return [control_or_newer(record.key or b"", record.value or b"") for record in found]


def opens_repair(batch: LocatedBatch) -> bool:
    """Return True if a control batch, not the log's first, is the one that a repair begins with.

    An elected leader's first batch names those who elected it, itself at least; and no voters, offset 0 apart.
    """
    try:
        records = control_records(batch)
    except MetadataLogError:
        return False
    first = records[0]
    if not isinstance(first, LeaderChangeMessage):
        return False
    return not first.granting_voters or any(isinstance(one, VotersRecord) for one in records[1:])


class SegmentPart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A segment of `size` bytes: of the first `valid_size` all but the first `skipped` belong to the valid prefix."""

    base: int
    size: int
    valid_size: int
    skipped: int = 0

    @property
    def kept_size(self) -> int:
        """How many of its bytes belong to the valid prefix."""
        return self.valid_size - self.skipped

    @property
    def name(self) -> str:
        """Its file's name."""
        return segment_file(self.base)


class Stop(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place where the valid prefix ends before the files do.

    `is_torn`: an unfinished write, nothing sound follows it.
    `false_epoch`: what the batch there gives as its epoch, where that cannot be: it proves nothing.
    """

    file: str
    position: int
    offset: int
    what: str
    is_torn: bool
    false_epoch: int | None = None

    def __str__(self) -> str:
        return f"{self.file}, position {self.position} (offset {self.offset}): {self.what}"


class PassedOver(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Damage in what a whole checkpoint holds, of that name: the valid prefix begins at the checkpoint's end."""

    stop: Stop
    held_by: str

    def __str__(self) -> str:
        return str(self.stop)


class Hindsight(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Facts of epochs that only a whole pass over a log shows.

    Attributes:
        false_starts: offsets of epochs that the batch after them denies.
        late_leader: offset of a LeaderChange before which its epoch has records, as the log's first may.
    """

    false_starts: tuple[int, ...] = ()
    late_leader: int | None = None


NO_HINDSIGHT: Final = Hindsight()
NONE_MISNAMED: Final[Mapping[str, str]] = MappingProxyType({})


class Epochs(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that show which epochs of a log are false. `own`: the files beside the log."""

    own: OwnEpochs
    hindsight: Hindsight = NO_HINDSIGHT

    def fault(self, batch: LocatedBatch, before: int) -> str | None:
        """Return why a batch cannot be of its epoch, or None; `before`: the epoch of the one before, no greater."""
        epoch, offset, is_led = int(batch.header.partition_leader_epoch), int(batch.header.base_offset), leads(batch)
        if epoch == before:
            is_another = is_led and offset != self.hindsight.late_leader
            return f"another LeaderChange stands amid epoch {epoch}" if is_another else None
        if offset in self.hindsight.false_starts:
            return f"epoch {epoch} begins here, and the next batch is of an earlier one"
        return unled_epoch(batch, before, is_led=is_led) or (self.own.denial(epoch, offset) if is_led else None)

    def believes(self, election: Election) -> bool:
        """Return True if nothing denies an election that the log has."""
        return (
            election.offset not in self.hindsight.false_starts
            and self.own.denial(election.epoch, election.offset) is None
        )


def stop_before(batch: LocatedBatch, file: str, end: int, epoch: int, epochs: Epochs) -> Stop | None:
    """Return why a batch does not go on from a valid prefix with this end and last epoch (-1: none yet), or None."""
    header = batch.header
    false_epoch = None
    if header.base_offset != end:
        what = f"a batch of offset {header.base_offset} stands where {end} is due"
    elif header.partition_leader_epoch < epoch:
        what = f"epoch {header.partition_leader_epoch} comes after epoch {epoch}"
    else:
        fault = epochs.fault(batch, epoch)
        if fault is None:
            return None
        what, false_epoch = fault, int(header.partition_leader_epoch)
    return Stop(file=file, position=batch.position, offset=end, what=what, is_torn=False, false_epoch=false_epoch)


class CheckpointFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checkpoint; `problem` None: it is whole, or nothing suggests otherwise and it was not read (`was_read`).

    `is_misnamed`: it ends elsewhere than its name says, and so proves nothing.
    """

    end: OffsetAndEpoch
    size: int = 0
    problem: str | None = None
    was_read: bool = False
    is_misnamed: bool = False

    @property
    def name(self) -> str:
        """Its file's name."""
        return checkpoint_name(self.end)
