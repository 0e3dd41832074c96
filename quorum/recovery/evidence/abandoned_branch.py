"""Copies that hold what a repair did not go on from: the branch of the log on which the old voters were.

Decides: which copies those are, and what of such a branch was committed. Must not know: what is done about them.

A repair appends with no vote. Who votes by what it wrote proves nothing of the records that it left behind: those were
committed where a majority of the old voters held them, and may have been wherever not all of these are here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.tools.replicas.committed_bounds import CommittedBounds, committed_bounds
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.authoritative import stale_replicas
from quorum.recovery.evidence.conflicts import epoch_before, is_passed_over, joined_end
from quorum.recovery.evidence.historical_extents import bounds_once, extents
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.evidence.voters_in_force import certain_voters


def repair_beside(copies: Sequence[Copy], copy: Copy) -> int | None:
    """The epoch of a repair from whose log `copy` parts before that and goes on; None where there is none.

    Or, where such a repair may stand before the beginning of a copy, the epoch in which that one begins.
    """
    for one in copies:
        if one is not copy and is_passed_over(copies, one, copy):
            return epoch_before(one)
        if one is copy or one.repair is None or copy.end.epoch >= one.repair.epoch or not shows_one_log(one, copy):
            continue
        joined = joined_end(copies, one, copy)
        if joined is not None and joined <= one.repair.offset and copy.end.offset > joined:
            return int(one.repair.epoch)
    return None


def is_past_repair(best: Copy, copies: Sequence[Copy]) -> bool:
    """Whether `best` was repaired in a later epoch than any of these knows, or may have been before it begins."""
    if best.repair is not None and all(copy.end.epoch < best.repair.epoch for copy in copies):
        return True
    return bool(copies) and all(is_passed_over([best], best, copy) for copy in copies)


def bounds_of(copies: Sequence[Copy], bounds: CommittedBounds, copy: Copy) -> CommittedBounds:
    """What was committed of the records of `copy`, the best copy first; `bounds`: by the voters in force."""
    epoch = repair_beside(copies, copy)
    if epoch is None:
        return _as_proven(copies, bounds, copy)
    old = [one for one in copies if one.end.epoch < epoch and shows_one_log(one, copy)]
    voters = certain_voters(old, 0).keys
    stale = [one.copy for one in stale_replicas(old, voters)]
    by_them = bounds_once(old, stale, voters, committed_bounds(extents(old, stale), voters))
    return msgspec.structs.replace(by_them, upper=None)


def _as_proven(copies: Sequence[Copy], bounds: CommittedBounds, copy: Copy) -> CommittedBounds:
    """Return the bounds with what was proven never to have been committed when one of these logs was cut.

    That holds as long as no epoch is known that was not known then: a later leader commits what it finds in its log.
    """
    latest = max(one.greatest_epoch for one in copies)
    proven = [
        done.never.start
        for one in copies
        for done in one.audited.accepted
        if done.never is not None and latest <= done.greatest_epoch and copy.end.epoch <= done.never.epoch
        if done.never.start >= bounds.lower and shows_one_log(one, copy)
    ]
    upper = min([*proven, *([] if bounds.upper is None else [bounds.upper])], default=None)
    return bounds if upper == bounds.upper else msgspec.structs.replace(bounds, upper=upper)


def judged_by(bounds: CommittedBounds, start: int, end: int) -> str:
    """Of offsets `start` to `end` (exclusive): `was` committed, `partly`, `may` have been, or `never`."""
    if bounds.lower >= end:
        return "was"
    if bounds.lower > start:
        return "partly"
    return "never" if bounds.upper is not None and bounds.upper <= start else "may"
