"""Parts of a valid prefix: segments, checkpoints and its end.

Decides: why a batch does not continue the prefix. Must not know: how files are read.
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
from metadata_log.tools.read.contents import voter_keys
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.verify.voter_steps import voter_ids_fault


def control_records(batch: LocatedBatch) -> list[ControlRecord | UnknownRecordError]:
    """Return the records of a control batch. A record of a later release is replaced by its error.

    Raises:
        MetadataLogError: a record cannot be read.
    """
    found = batch_records(batch.buffer, batch.header, batch.at)
    return [control_or_newer(record.key or b"", record.value or b"") for record in found]


def opens_repair(batch: LocatedBatch) -> bool:
    """Return True if a control batch after offset 0 is the first one of a repair.

    An elected leader's first batch names the voters that granted their votes, at least itself. It holds the voter set
    only at offset 0.
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
    """A segment of `size` bytes. Its bytes from `skipped` to `valid_size` belong to the valid prefix."""

    base: int
    size: int
    valid_size: int
    skipped: int = 0

    @property
    def kept_size(self) -> int:
        """Return the number of its bytes in the valid prefix."""
        return self.valid_size - self.skipped

    @property
    def name(self) -> str:
        """Return its file's name."""
        return segment_file(self.base)


class Stop(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place where the valid prefix ends before the files do.

    `is_torn`: an unfinished write, and nothing intact follows.
    `false_epoch`: the impossible epoch of the batch there; it proves nothing.
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
    """Damage before the end of the whole checkpoint `held_by`: the valid prefix begins at that end."""

    stop: Stop
    held_by: str

    def __str__(self) -> str:
        return str(self.stop)


class Hindsight(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Facts about epochs that only a pass over the whole log shows.

    Attributes:
        false_starts: offsets of epochs that the next batch denies.
        late_leader: offset of a LeaderChange with records of its epoch before it, as a log's first may have.
    """

    false_starts: tuple[int, ...] = ()
    late_leader: int | None = None


NO_HINDSIGHT: Final = Hindsight()
NONE_MISNAMED: Final[Mapping[str, str]] = MappingProxyType({})


class Epochs(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that show which epochs of a log are false. `own`: those of the sidecar files."""

    own: OwnEpochs
    hindsight: Hindsight = NO_HINDSIGHT

    def fault(self, batch: LocatedBatch, before: int) -> str | None:
        """Return why a batch cannot be of its epoch, or None. `before`: the epoch of the batch before, not greater."""
        epoch, offset, is_led = int(batch.header.partition_leader_epoch), int(batch.header.base_offset), leads(batch)
        if epoch == before:
            is_another = is_led and offset != self.hindsight.late_leader
            return f"epoch {epoch} has another LeaderChange here" if is_another else None
        if offset in self.hindsight.false_starts:
            return f"epoch {epoch} begins here, and the next batch is of an earlier one"
        return unled_epoch(batch, before, is_led=is_led) or (self.own.denial(epoch, offset) if is_led else None)

    def believes(self, election: Election) -> bool:
        """Return True if no fact denies an election in the log."""
        return (
            election.offset not in self.hindsight.false_starts
            and self.own.denial(election.epoch, election.offset) is None
        )


def stop_before(batch: LocatedBatch, file: str, end: int, epoch: int, epochs: Epochs) -> Stop | None:
    """Return why a batch does not continue a valid prefix with this end and last epoch (-1: no epoch yet), or None."""
    header = batch.header
    false_epoch = None
    if header.base_offset != end:
        what = f"a batch of offset {header.base_offset} is where {end} is due"
    elif header.partition_leader_epoch < epoch:
        what = f"epoch {header.partition_leader_epoch} comes after epoch {epoch}"
    else:
        fault, no_set = epochs.fault(batch, epoch), _no_voter_set(batch)
        if fault is None and no_set is None:
            return None
        what, false_epoch = (no_set or "", None) if fault is None else (fault, int(header.partition_leader_epoch))
    return Stop(file=file, position=batch.position, offset=end, what=what, is_torn=False, false_epoch=false_epoch)


def _no_voter_set(batch: LocatedBatch) -> str | None:
    """Return a sentence about an empty voter set, or one that names a node twice; otherwise None.

    No node starts from a log that names a node twice, and no voter of an empty set could be elected.
    """
    if not batch.header.is_control:
        return None
    try:
        records = control_records(batch)
    except MetadataLogError:  # the replay stops at it, and says why
        return None
    for index, record in enumerate(records):
        if isinstance(record, VotersRecord):
            fault = voter_ids_fault(voter_keys(record))
            if fault is not None:
                return f"VotersRecord at offset {int(batch.header.base_offset) + index} {fault}"
    return None


class CheckpointFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checkpoint. `problem` None: it is whole, or nothing suggests damage and it was not read (`was_read`).

    `is_misnamed`: its name states a wrong end, so it proves nothing.
    """

    end: OffsetAndEpoch
    size: int = 0
    problem: str | None = None
    was_read: bool = False
    is_misnamed: bool = False

    @property
    def name(self) -> str:
        """Return its file's name."""
        return checkpoint_name(self.end)
