"""Positions in the metadata log: offsets, epochs and the pair that identifies a prefix.

`log_end_offset` and `high_watermark` are exclusive everywhere: one past the last record that they cover.
"""

from __future__ import annotations

from typing import Final, NewType

import msgspec

Offset = NewType("Offset", int)
Epoch = NewType("Epoch", int)

LARGEST_OFFSET: Final = Offset((1 << 63) - 1)
LARGEST_EPOCH: Final = Epoch((1 << 31) - 1)
LAST_EPOCH: Final = Epoch(LARGEST_EPOCH - 1)
"""The last epoch in which a replica can start no election: a candidate needs a greater epoch."""
FEW_EPOCHS: Final = 1000
"""If fewer elections are left, nodes and tools warn. No cluster gets there by elections alone."""
NO_EPOCH: Final = Epoch(-1)
"""The unknown epoch, which a replica reports before it has seen any."""


def epochs_left(epoch: int) -> int:
    """Return how many elections are possible above an epoch."""
    return max(0, LAST_EPOCH - epoch)


def is_near_last_epoch(epoch: int) -> bool:
    """Return True if fewer than `FEW_EPOCHS` elections are possible above this epoch."""
    return epochs_left(epoch) < FEW_EPOCHS


def is_possible(offset: int, epoch: int) -> bool:
    """Return True if a log can have this offset and this epoch. File names have room for larger numbers."""
    return offset <= LARGEST_OFFSET and epoch <= LARGEST_EPOCH


class OffsetAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False, order=False):
    """The end of a log prefix: an exclusive `offset`, and the epoch of the last record before it.

    Two replicas whose logs share such a pair share every byte before it (log matching). Fetch validates it, and
    snapshots are named by it (KIP-595, KIP-630).
    """

    offset: Offset
    epoch: Epoch

    def is_at_least(self, other: OffsetAndEpoch) -> bool:
        """Return True if a log with this end is as up to date as `other`, by epoch, then by offset (Raft, 5.4.1)."""
        return (self.epoch, self.offset) >= (other.epoch, other.offset)

    def __str__(self) -> str:
        return f"{self.offset}@{self.epoch}"
