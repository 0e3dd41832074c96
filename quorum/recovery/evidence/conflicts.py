"""Copies that contradict each other: by their bytes, by their metadata, or by conflicting repairs.

Decides: which pairs of copies cannot be of one log, and whether two repairs are the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.same_log import contradiction, shows_one_log

LEAST_GAP: Final = 1000
"""The smallest number of epochs that a repair skips. An election takes one or a few."""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Two copies of which at least one is wrong.

    Attributes:
        end: the end offset of the first batch that differs; None if the contradiction is another one.
        repairs: the epochs that two conflicting repairs began; None if the contradiction is another one.
        metadata: how their metadata rules out one cluster; None if the contradiction is another one.
        wrong: the copy that is at fault, as `kraft check` judges it; None if it names neither or both.
    """

    one: Copy
    other: Copy
    end: int | None
    repairs: tuple[int, int] | None = None
    metadata: str | None = None
    wrong: Copy | None = None

    @property
    def copies(self) -> tuple[Copy, Copy]:
        """Both copies."""
        return self.one, self.other

    def __str__(self) -> str:
        if self.repairs is not None:
            epochs = " and ".join(
                f"{copy.label} (epoch {epoch} from offset {0 if copy.repair is None else copy.repair.offset} on)"
                for copy, epoch in zip(self.copies, self.repairs, strict=True)
            )
            return f"two repairs were done, and neither knows of the other: on {epochs}"
        if self.metadata is not None:
            return f"{self.one.label} and {self.other.label} are not of one cluster: {self.metadata}"
        end = 0 if self.end is None else self.end
        return (
            f"{self.one.label} and {self.other.label} hold other bytes in the batch that ends at offset {end}, of "
            f"epoch {self.one.epoch_at(end - 1)} on both"
        )

    @property
    def cause(self) -> str:
        """The likely cause of the contradiction."""
        if self.metadata is not None:
            return "two clusters have one cluster id, like a clone and its original"
        if self.repairs is not None:
            return "two repairs, of which one at most may stay"
        at_fault = "" if self.wrong is None else f", that of {self.wrong.label}, as kraft check finds"
        return f"a log was changed by hand, or a disk lies{at_fault}"


def common_end(one: Copy, other: Copy) -> int:
    """Return the offset up to which two logs are the same; 0 if nothing shows that they are of one log.

    It is one past the last offset at which both have the same epoch (log matching). If they do not overlap, the shorter
    log counts as a beginning of the longer: a checkpoint holds only committed records.
    """
    return _matching_end(one, other) if shows_one_log(one, other) else 0


def joined_end(copies: Sequence[Copy], one: Copy, other: Copy) -> int | None:
    """Return the common end of two of these copies, or None if a repair may hide it and no third copy shows it.

    A repair may lie between the end of one copy and the beginning of the other. A third copy that overlaps both
    decides.
    """
    if not _is_hidden(copies, one, other):
        return common_end(one, other)
    early, late = sorted((one, other), key=_beginning)
    for third in copies:
        is_third = third is not one and third is not other
        is_joint = is_third and third.start_offset < min(early.end.offset, late.start_offset)
        if is_joint and common_end(third, late) > late.start_offset and not _is_hidden(copies, third, early):
            return common_end(third, early)
    return None


def is_passed_over(copies: Sequence[Copy], late: Copy, early: Copy) -> bool:
    """Return True if a repair that no copy shows may lie before the beginning of `late`, while `early` lacks it."""
    return _beginning(early) < _beginning(late) and joined_end(copies, late, early) is None


def _is_hidden(copies: Sequence[Copy], one: Copy, other: Copy) -> bool:
    """Return True if a repair that no copy shows may lie before the beginning of the later copy.

    It could have gone on from any offset there. Two things hint at one: a gap of epochs as wide as a repair leaves, or
    an audit file with an epoch between. If both copies match where they overlap, there is no such repair.
    """
    early, late = sorted((one, other), key=_beginning)
    at = min(int(early.end.offset), late.start_offset)
    if at == 0:
        return False
    reached = early.end.epoch if at == early.end.offset else early.epoch_at(at - 1)
    reached, begun = reached if reached >= 0 else epoch_before(early), epoch_before(late)
    done = (
        accepted.new_epoch for copy in copies for accepted in copy.audited.accepted if accepted.new_epoch is not None
    )
    if begun - reached < LEAST_GAP and not any(reached < epoch <= begun for epoch in done):
        return False
    return shows_one_log(one, other) and _matching_end(one, other) <= at


def _beginning(copy: Copy) -> tuple[int, int]:
    return copy.start_offset, epoch_before(copy)


def epoch_before(copy: Copy) -> int:
    """Return the epoch in which its segments begin: of the checkpoint there, or of their first record."""
    believed = (one.end for one in copy.prefix.checkpoints if not one.is_misnamed)
    found = (int(end.epoch) for end in believed if end.offset == copy.start_offset)
    return next(found, int(copy.spans[0].epoch if copy.spans else copy.end.epoch))


def _matching_end(one: Copy, other: Copy) -> int:
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
    """Yield all pairs that contradict each other."""
    for index, one in enumerate(copies):
        for other in copies[index + 1 :]:
            wrong = one.prefix.sums.first_difference(other.prefix.sums, _matching_end(one, other))
            repairs = _rivals(one, other, wrong)
            metadata = None if wrong is not None or repairs is not None else contradiction(one, other)
            if wrong is not None or repairs is not None or metadata is not None:
                yield Conflict(one=one, other=other, end=wrong, repairs=repairs, metadata=metadata)


def with_wrong(conflict: Conflict, judged: Callable[[Copy], object | None]) -> Conflict:
    """Return the conflict with the copy that is at fault. `judged` returns a finding for a copy that is."""
    if conflict.end is None or conflict.repairs is not None:
        return conflict
    wrong = [copy for copy in conflict.copies if judged(copy) is not None]
    return msgspec.structs.replace(conflict, wrong=wrong[0]) if len(wrong) == 1 else conflict


class Uncompared(msgspec.Struct, frozen=True, kw_only=True):
    """Two copies without a contradiction that may be of different logs, or whose common end is unknown."""

    one: Copy
    other: Copy

    def __str__(self) -> str:
        if shows_one_log(self.one, self.other):
            early, late = sorted((self.one, self.other), key=_beginning)
            return (
                f"{late.label} begins at offset {late.start_offset}, in epoch {epoch_before(late)}, and {early.label} "
                f"ends in epoch {early.end.epoch}. A repair that no copy here shows may lie between: which records "
                "they share is not known"
            )
        return (
            f"{self.one.label} and {self.other.label} share no batch, no topic and no broker's run or directory, so "
            "they cannot be compared: the same cluster id does not prove that they are of one log"
        )


def uncompared(copies: Sequence[Copy], conflicts: Sequence[Conflict]) -> Iterator[Uncompared]:
    """Yield all pairs that neither agree nor contradict each other."""
    known = [conflict.copies for conflict in conflicts]
    for index, one in enumerate(copies):
        for other in copies[index + 1 :]:
            is_told = shows_one_log(one, other) and joined_end(copies, one, other) is not None
            if (one, other) not in known and not is_told:
                yield Uncompared(one=one, other=other)


def _rivals(one: Copy, other: Copy, wrong: int | None) -> tuple[int, int] | None:
    """Return the epochs of two conflicting repairs, neither of which is in the other copy's log; None otherwise.

    `wrong`: the end of the first batch that differs. If that is before both repairs, they are not the cause: something
    changed bytes that neither repair wrote.
    """
    mine, theirs = one.repair, other.repair
    if mine is None or theirs is None or _has_repair_of(one, other) or _has_repair_of(other, one):
        return None
    if wrong is not None and wrong <= min(mine.offset, theirs.offset):
        return None
    return int(mine.epoch), int(theirs.epoch)


def _has_repair_of(one: Copy, other: Copy) -> bool:
    """Return True if `one` holds the batch that opens the last repair of `other`, or begins after its offset."""
    repair = other.repair
    if repair is None or repair.offset < one.start_offset:
        return True
    return one.prefix.sums.batch_from(int(repair.offset)) == other.prefix.sums.batch_from(int(repair.offset))
