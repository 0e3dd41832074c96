"""The epoch history: the start offset of each leader epoch. Fetch validation and truncation use it.

Decides: the epoch of an offset, and where a follower's log diverges (KIP-595, after KIP-101). Must not know: files. On
disk it is `leader-epoch-checkpoint`, see FORMAT.md.
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch


class EpochStart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An epoch and the offset of its first record."""

    epoch: Epoch
    start_offset: Offset


class EpochHistory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An immutable history. Epochs and start offsets both rise strictly from entry to entry."""

    entries: tuple[EpochStart, ...] = ()

    @property
    def last_epoch(self) -> Epoch:
        """The epoch of the last record, or -1 in an empty log."""
        return self.entries[-1].epoch if self.entries else NO_EPOCH

    def assign(self, epoch: Epoch, start_offset: Offset) -> EpochHistory:
        """Return the history after a batch of `epoch` was appended at `start_offset`.

        Raises:
            InvariantViolation: the epoch is below the last one, or the offset is not after the last entry's.
        """
        if not self.entries:
            return EpochHistory(entries=(EpochStart(epoch=epoch, start_offset=start_offset),))
        last = self.entries[-1]
        if epoch == last.epoch and start_offset >= last.start_offset:
            return self
        if epoch < last.epoch or start_offset <= last.start_offset:
            raise InvariantViolation(
                f"epoch {epoch} at offset {start_offset} cannot follow epoch {last.epoch}, begun at {last.start_offset}"
            )
        return EpochHistory(entries=(*self.entries, EpochStart(epoch=epoch, start_offset=start_offset)))

    def truncate_to(self, end_offset: Offset) -> EpochHistory:
        """Return the history after the log was truncated to `end_offset` (exclusive)."""
        kept = tuple(entry for entry in self.entries if entry.start_offset < end_offset)
        return self if len(kept) == len(self.entries) else EpochHistory(entries=kept)

    def trim_to(self, start_offset: Offset) -> EpochHistory:
        """Return the history after deleting the records before `start_offset`; the epoch there then begins there."""
        index = bisect_right(self.entries, start_offset, key=_start_of) - 1
        if index < 0 or self.entries[index].start_offset == start_offset:
            return self if index <= 0 else EpochHistory(entries=self.entries[index:])
        first = EpochStart(epoch=self.entries[index].epoch, start_offset=start_offset)
        return EpochHistory(entries=(first, *self.entries[index + 1 :]))

    def epoch_at(self, offset: Offset) -> Epoch:
        """Return the epoch of the record at `offset`, or -1 before the first entry."""
        index = bisect_right(self.entries, offset, key=_start_of) - 1
        return self.entries[index].epoch if index >= 0 else NO_EPOCH

    def end_offset_for(self, epoch: Epoch, log_end_offset: Offset) -> OffsetAndEpoch:
        """Return the largest epoch that is at most `epoch`, and the offset where it ends in this log (exclusive).

        If `epoch` is before the first entry, return that entry's start offset with epoch -1: no prefix is shared.
        """
        index = bisect_right(self.entries, epoch, key=_epoch_of) - 1
        following = index + 1
        end = self.entries[following].start_offset if following < len(self.entries) else log_end_offset
        return OffsetAndEpoch(offset=end, epoch=self.entries[index].epoch if index >= 0 else NO_EPOCH)


def _start_of(entry: EpochStart) -> Offset:
    return entry.start_offset


def _epoch_of(entry: EpochStart) -> Epoch:
    return entry.epoch
