"""Copies that contradict each other: other bytes at one offset and epoch, or repairs that know nothing of each other.

Decides: which pairs of copies cannot be of one log, and whether two repairs made them so. Must not know: what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from quorum.recovery.copies import Copy


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Two copies of which one at least is wrong.

    Attributes:
        end: the end offset of the first batch that differs; None where two repairs begin at different offsets.
        repairs: the epochs that a repair began in each, where each was repaired by itself; None: not that.
    """

    one: Copy
    other: Copy
    end: int | None
    repairs: tuple[int, int] | None = None

    @property
    def copies(self) -> tuple[Copy, Copy]:
        """Both."""
        return self.one, self.other

    def __str__(self) -> str:
        if self.repairs is not None:
            epochs = " and ".join(
                f"{copy.label} (epoch {epoch} from offset {0 if copy.repair is None else copy.repair.offset} on)"
                for copy, epoch in zip(self.copies, self.repairs, strict=True)
            )
            return f"two repairs were done, and neither knows of the other: on {epochs}"
        end = 0 if self.end is None else self.end
        return (
            f"{self.one.label} and {self.other.label} hold other bytes in the batch that ends at offset {end}, of "
            f"epoch {self.one.epoch_at(end - 1)} on both"
        )

    @property
    def cause(self) -> str:
        """How copies come to contradict each other so."""
        return (
            "two repairs, of which one at most may stay"
            if self.repairs
            else "a log was changed by hand, or a disk lies"
        )


def common_end(one: Copy, other: Copy) -> int:
    """Up to where two logs are the same: one past the last offset at which both have the same epoch (log matching).

    Where they do not overlap, the shorter is taken for a beginning of the longer: a checkpoint holds what is committed.
    """
    high = min(int(one.end.offset), int(other.end.offset))
    low = max(one.start_offset, other.start_offset)
    if high <= low:
        return high
    points = {low, high}
    points |= {span.start_offset for copy in (one, other) for span in copy.spans if low < span.start_offset < high}
    for point in sorted(points, reverse=True):
        if point > low and one.epoch_at(point - 1) == other.epoch_at(point - 1):
            return point
    return low


def conflicts_of(copies: Sequence[Copy]) -> Iterator[Conflict]:
    """All pairs that contradict each other."""
    for index, one in enumerate(copies):
        for other in copies[index + 1 :]:
            wrong = one.sums.first_difference(other.sums, common_end(one, other))
            repairs = _rivals(one, other, wrong)
            if wrong is not None or repairs is not None:
                yield Conflict(one=one, other=other, end=wrong, repairs=repairs)


def _rivals(one: Copy, other: Copy, wrong: int | None) -> tuple[int, int] | None:
    """The epochs of two repairs of which neither log goes on from the other's; `wrong`: where they differ first.

    A difference before both is another matter: somebody changed bytes that neither repair wrote.
    """
    mine, theirs = one.repair, other.repair
    if mine is None or theirs is None or _has_repair_of(one, other) or _has_repair_of(other, one):
        return None
    if wrong is not None and wrong <= min(mine.offset, theirs.offset):
        return None
    return int(mine.epoch), int(theirs.epoch)


def _has_repair_of(one: Copy, other: Copy) -> bool:
    """Whether the batch that opens the last repair of `other` stands in `one`, too, or before its beginning."""
    repair = other.repair
    if repair is None or repair.offset < one.start_offset:
        return True
    return one.sums.batch_from(int(repair.offset)) == other.sums.batch_from(int(repair.offset))
