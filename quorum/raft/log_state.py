"""What the core knows of its log: where it ends, how much of it is durable, how much is committed.

Decides: whether a position of another replica's log lies on this one, where to truncate, and what a completed write
proves. Must not know: the bytes, the disk, who leads.
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
    """Batches of `epoch` begin at `start_offset`."""

    epoch: Epoch
    start_offset: Offset


class _PendingWrite(msgspec.Struct, kw_only=True, gc=False):
    """A log write whose completion is due. `is_replaced`: its bytes have since been truncated, wholly or in part."""

    token: int
    epoch: Epoch
    end_offset: Offset
    is_replaced: bool = False


class Diverging(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The other log leaves this one; `end` is where the largest epoch not above the other's ends here."""

    end: OffsetAndEpoch


OPENING_RECORDS: Final = 3
"""The most that Raft itself opens an epoch with: LeaderChange, KRaftVersion, KRaftVoters."""


class BeforeStart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """This log begins later; the snapshot holds what came before, where one is known."""

    snapshot_id: OffsetAndEpoch | None


class LogState:
    """Grows by `append`, shrinks by `truncate` at its end and `trim` at its start, is replaced by `install`; `complete`
    says what has become durable."""

    def __init__(self, storage: StorageState) -> None:
        self.start_offset: Offset = storage.log_start_offset
        self.snapshots: tuple[Snapshot, ...] = storage.snapshots
        """Whole and durable, rising; the log begins at 0 or at the end of the first."""
        self.end_offset: Offset = storage.end.offset
        self.last_epoch: Epoch = storage.end.epoch
        self.epochs = storage.epochs
        self.flushed_offset: Offset = storage.end.offset
        kept = min(storage.high_watermark, storage.end.offset)
        self.high_watermark: Offset = max(
            [kept, storage.log_start_offset, *(each.id.offset for each in self.snapshots)]
        )
        """The highest offset that this replica knows to be committed; a lower bound until it hears of one."""
        self._pending: deque[_PendingWrite] = deque()

    @property
    def snapshot_id(self) -> OffsetAndEpoch | None:
        """Of the newest snapshot."""
        return self.snapshots[-1].id if self.snapshots else None

    @property
    def end(self) -> OffsetAndEpoch:
        """The end as elections and Fetch compare it: the epoch of an empty log is 0."""
        return OffsetAndEpoch(offset=self.end_offset, epoch=self.last_epoch if self.last_epoch >= 0 else Epoch(0))

    @property
    def proven_offset(self) -> Offset:
        """All before it is committed: as this replica was told since its start, or as its log says. A controller writes
        more than what opens its epoch only once that is committed."""
        end = self.end_offset
        for entry in reversed(self.epochs.entries):
            if end - entry.start_offset > OPENING_RECORDS:
                return max(self.high_watermark, entry.start_offset)
            end = entry.start_offset
        return self.high_watermark

    @property
    def is_flushed(self) -> bool:
        """Whether all of it is durable and no write is under way."""
        return not self._pending

    def append(self, token: int, end_offset: Offset, starts: tuple[EpochStartsAt, ...]) -> None:
        """Batches up to `end_offset` are being written; `starts` are the epochs among them."""
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
        """Everything at and after `end_offset` is being removed."""
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
        """A write is durable; whether more of the present log is known to be so.

        Raises:
            InvariantViolation: it is not the oldest write under way, or another one than was issued.
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
        """Whether `offset` is news; it never goes back and never passes the log's end."""
        if offset <= self.high_watermark:
            return False
        if offset > self.end_offset:
            raise InvariantViolation(f"high watermark {offset} is past the log's end, {self.end_offset}")
        self.high_watermark = offset
        return True

    def epoch_before(self, offset: Offset) -> Epoch:
        """The epoch of the record before `offset`, -1 before the first."""
        if offset > self.start_offset:
            return self.epochs.epoch_at(Offset(offset - 1))
        return next((each.id.epoch for each in self.snapshots if each.id.offset == offset), NO_EPOCH)

    def snapshot_of(self, snapshot_id: OffsetAndEpoch) -> Snapshot | None:
        """The snapshot of that end, if there is one."""
        return next((each for each in self.snapshots if each.id == snapshot_id), None)

    def lacks(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Whether a committed log that ends so is no prefix of this one: it is longer, or this one has left it."""
        is_longer = snapshot_id.offset > self.end_offset
        return is_longer or self.epoch_before(snapshot_id.offset) != snapshot_id.epoch

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """One of this very log, committed to its end, is durable.

        Raises:
            InvariantViolation: it is not.
        """
        end = snapshot.id
        if not self.start_offset <= end.offset <= self.high_watermark or self.epoch_before(end.offset) != end.epoch:
            held = f"{self.start_offset} to {self.end}, committed to {self.high_watermark}"
            raise InvariantViolation(f"snapshot {end} is not one of the log {held}")
        others = (each for each in self.snapshots if each.id != end)
        self.snapshots = tuple(sorted((*others, snapshot), key=lambda each: each.id.offset))

    def trim(self, start: OffsetAndEpoch) -> None:
        """The log begins at the end of that snapshot; older ones are forgotten.

        Raises:
            InvariantViolation: there is no such snapshot, or the log begins past it.
        """
        if self.snapshot_of(start) is None or start.offset < self.start_offset:
            raise InvariantViolation(f"the log, which begins at {self.start_offset}, cannot be trimmed to {start}")
        self.snapshots = tuple(each for each in self.snapshots if each.id.offset >= start.offset)
        self.start_offset = start.offset
        self.epochs = self.epochs.trim_to(start.offset).truncate_to(self.end_offset)

    def install(self, token: int, snapshot: Snapshot) -> None:
        """A snapshot is being put in place of the log.

        Raises:
            InvariantViolation: something is being written, or the log holds as much, or more that is committed.
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
        """None if a log whose last record before `offset` has `epoch` is a prefix of this one (KIP-595, Fetch)."""
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
        """Where this log has to end so as to be one with a leader whose `leader_end.epoch` ends at that offset.

        Only of an epoch that both hold does the leader's offset stand between two batches of this log. Where this log
        lacks that epoch, all later ones go, and the next Fetch asks about the one before (KIP-595).
        """
        own = self.epochs.end_offset_for(leader_end.epoch, self.end_offset)
        return min(own.offset, leader_end.offset) if own.epoch == leader_end.epoch else own.offset
