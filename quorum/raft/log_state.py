"""The core's view of its log: its bounds, and how much of it is durable and committed.

Decides: whether another replica's position is valid in this log, where to truncate, and what a completed write proves.
Must not know: the bytes, the disk, the leader.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch
from quorum.raft.config import Snapshot, StorageState


class EpochStartsAt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The start of an epoch within an append."""

    epoch: Epoch
    start_offset: Offset


class _PendingWrite(msgspec.Struct, kw_only=True, gc=False):
    """A log write in progress. `is_replaced`: a later truncation has removed some of its bytes."""

    token: int
    epoch: Epoch
    end_offset: Offset
    is_replaced: bool = False


class Diverging(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The other log diverges. `end`: the end, here, of the largest epoch that is not above the other's."""

    end: OffsetAndEpoch


OPENING_RECORDS: Final = 3
"""The most records with which Raft opens an epoch: LeaderChange, KRaftVersion, Voters."""


class BeforeStart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This log begins after the position. `snapshot_id`: the newest snapshot, or None."""

    snapshot_id: OffsetAndEpoch | None


class LogState:
    """The bounds of the log.

    `append` grows it, `truncate` and `trim` shrink it at end and start, `install` replaces it, and `complete` notes a
    durable write.
    """

    def __init__(self, storage: StorageState) -> None:
        self.start_offset: Offset = storage.log_start_offset
        self.snapshots: tuple[Snapshot, ...] = storage.snapshots
        """Complete and durable snapshots, rising; the log begins at 0 or at the end of the first."""
        self.end_offset: Offset = storage.end.offset
        self.last_epoch: Epoch = storage.end.epoch
        self.epochs = storage.epochs
        self.flushed_offset: Offset = storage.end.offset
        kept = min(storage.high_watermark, storage.end.offset)
        self.high_watermark: Offset = max(
            [kept, storage.log_start_offset, *(each.id.offset for each in self.snapshots)]
        )
        """The highest committed offset that this replica knows; after a restart a lower bound."""
        self._pending: deque[_PendingWrite] = deque()

    @property
    def snapshot_id(self) -> OffsetAndEpoch | None:
        """The id of the newest snapshot, or None."""
        return self.snapshots[-1].id if self.snapshots else None

    @property
    def end(self) -> OffsetAndEpoch:
        """The end for comparisons in elections and Fetch; the epoch of an empty log is 0."""
        return OffsetAndEpoch(offset=self.end_offset, epoch=self.last_epoch if self.last_epoch >= 0 else Epoch(0))

    @property
    def proven_offset(self) -> Offset:
        """The offset before which the log is certainly committed, by the high watermark or by the log itself.

        A controller appends to its epoch only after the opening records are committed. So an epoch with more records
        proves that its start is committed.
        """
        end = self.end_offset
        for entry in reversed(self.epochs.entries):
            if end - entry.start_offset > OPENING_RECORDS:
                return max(self.high_watermark, entry.start_offset)
            end = entry.start_offset
        return self.high_watermark

    @property
    def is_flushed(self) -> bool:
        """True if the whole log is durable and no write is in progress."""
        return not self._pending

    def append(self, token: int, end_offset: Offset, starts: tuple[EpochStartsAt, ...]) -> None:
        """Extend the log to `end_offset` with a write in progress; `starts` are the epochs in it."""
        if end_offset <= self.end_offset:
            raise InvariantViolation(
                f"an append to offset {end_offset} does not grow a log that ends at {self.end_offset}"
            )
        for start in starts:
            if start.epoch != self.epochs.last_epoch:
                self.epochs = self.epochs.assign(start.epoch, start.start_offset)
                self.last_epoch = start.epoch
        self.end_offset = end_offset
        self._pending.append(_PendingWrite(token=token, epoch=self.last_epoch, end_offset=end_offset))

    def truncate(self, token: int, end_offset: Offset) -> None:
        """Cut the log at `end_offset` with a truncation in progress.

        Raises:
            InvariantViolation: the cut is below the high watermark, or not below the log's end.
        """
        if not self.high_watermark <= end_offset < self.end_offset:
            raise InvariantViolation(
                f"a log committed to {self.high_watermark} and ending at {self.end_offset}, cut to {end_offset}"
            )
        self.epochs = self.epochs.truncate_to(end_offset)
        self.end_offset = end_offset
        self.last_epoch = self.epoch_before(end_offset)
        self.flushed_offset = min(self.flushed_offset, end_offset)
        for write in self._pending:
            write.is_replaced = write.is_replaced or write.end_offset > end_offset
        self._pending.append(_PendingWrite(token=token, epoch=self.last_epoch, end_offset=end_offset))

    def complete(self, token: int, epoch: Epoch, end_offset: Offset) -> bool:
        """Note that a write is durable; return True if the flushed offset has grown.

        Raises:
            InvariantViolation: it is not the oldest write in progress, or its end differs.
        """
        if not self._pending or self._pending[0].token != token:
            expected = self._pending[0].token if self._pending else None
            raise InvariantViolation(f"log write {token} is said to be durable, where {expected} is due")
        write = self._pending.popleft()
        if (write.epoch, write.end_offset) != (epoch, end_offset):
            raise InvariantViolation(
                f"log write {token} reached {write.end_offset}@{write.epoch}, not {end_offset}@{epoch}"
            )
        if write.is_replaced or end_offset <= self.flushed_offset:
            return False
        self.flushed_offset = end_offset
        return True

    def advance_high_watermark(self, offset: Offset) -> bool:
        """Raise the high watermark; return True if `offset` is above it.

        Raises:
            InvariantViolation: `offset` is past the log's end.
        """
        if offset <= self.high_watermark:
            return False
        if offset > self.end_offset:
            raise InvariantViolation(f"high watermark {offset} is past the log's end, {self.end_offset}")
        self.high_watermark = offset
        return True

    def epoch_before(self, offset: Offset) -> Epoch:
        """Return the epoch of the record before `offset`, or -1 before the first."""
        if offset > self.start_offset:
            return self.epochs.epoch_at(Offset(offset - 1))
        return next((each.id.epoch for each in self.snapshots if each.id.offset == offset), NO_EPOCH)

    def snapshot_of(self, snapshot_id: OffsetAndEpoch) -> Snapshot | None:
        """Return the snapshot with that id, or None."""
        return next((each for each in self.snapshots if each.id == snapshot_id), None)

    def lacks(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Return True if the committed log up to `snapshot_id` is not a prefix of this log: longer, or diverging."""
        is_longer = snapshot_id.offset > self.end_offset
        return is_longer or self.epoch_before(snapshot_id.offset) != snapshot_id.epoch

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """Add a durable snapshot of this log.

        Raises:
            InvariantViolation: it is not of the committed part of this log.
        """
        end = snapshot.id
        if not self.start_offset <= end.offset <= self.high_watermark or self.epoch_before(end.offset) != end.epoch:
            held = f"{self.start_offset} to {self.end}, committed to {self.high_watermark}"
            raise InvariantViolation(f"snapshot {end} is not one of the log {held}")
        others = (each for each in self.snapshots if each.id != end)
        self.snapshots = tuple(sorted((*others, snapshot), key=lambda each: each.id.offset))

    def trim(self, start: OffsetAndEpoch) -> None:
        """Let the log begin at the end of a snapshot, and drop older snapshots.

        Raises:
            InvariantViolation: there is no such snapshot, or the log begins after it.
        """
        if self.snapshot_of(start) is None or start.offset < self.start_offset:
            raise InvariantViolation(f"the log, which begins at {self.start_offset}, cannot be trimmed to {start}")
        self.snapshots = tuple(each for each in self.snapshots if each.id.offset >= start.offset)
        self.start_offset = start.offset
        self.epochs = self.epochs.trim_to(start.offset).truncate_to(self.end_offset)

    def install(self, token: int, snapshot: Snapshot) -> None:
        """Replace the log by a snapshot, with the write in progress.

        Raises:
            InvariantViolation: a write is in progress, the log has the prefix already, or more of it is committed.
        """
        end = snapshot.id
        if self._pending or not self.lacks(end) or end.offset < self.high_watermark:
            raise InvariantViolation(f"snapshot {end} in place of a log that ends at {self.end}")
        self.flushed_offset = min(self.flushed_offset, self.high_watermark)
        self.snapshots = (snapshot,)
        self.start_offset = self.end_offset = self.high_watermark = end.offset
        self.last_epoch = end.epoch
        self.epochs = EpochHistory()
        self._pending.append(_PendingWrite(token=token, epoch=end.epoch, end_offset=end.offset))

    def validate_position(self, offset: Offset, epoch: Epoch) -> Diverging | BeforeStart | None:
        """Return None if a log with this end is a prefix of this log, otherwise the fault (KIP-595, Fetch).

        `epoch` is that of the last record before `offset`.
        """
        if (offset == self.end_offset and epoch == self.last_epoch) or offset == 0 == self.start_offset:
            return None
        start = OffsetAndEpoch(offset=self.start_offset, epoch=self.epoch_before(self.start_offset))
        if offset <= start.offset or (start.offset > 0 and epoch < start.epoch):
            is_start = offset == start.offset and epoch == start.epoch
            return None if is_start else BeforeStart(snapshot_id=self.snapshot_id)
        end = self.epochs.end_offset_for(epoch, self.end_offset)
        if end.epoch == NO_EPOCH:
            return Diverging(end=start if start.offset > 0 else OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0)))
        return None if end.epoch == epoch and offset <= end.offset else Diverging(end=end)

    def truncation_for(self, leader_end: OffsetAndEpoch) -> Offset:
        """Return the truncation offset for a leader in whose log `leader_end.epoch` ends at `leader_end.offset`.

        If both logs have that epoch, it is the smaller of the two ends of the epoch. If this log lacks it, all later
        epochs are removed, and the next Fetch asks about the epoch before (KIP-595).
        """
        own = self.epochs.end_offset_for(leader_end.epoch, self.end_offset)
        return min(own.offset, leader_end.offset) if own.epoch == leader_end.epoch else own.offset
