"""Records that a repair did not go on from: the branch of the log that the former voters wrote.

Decides: which copies hold such a branch, and which of its records were committed.

A repair appends without a vote. Elections on top of it prove nothing about the branch that it left behind. Records of
that branch were committed if a majority of the former voters held them. If some of those voters are not here, any
record may have been.
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
    """Return the epoch of a repair that left a branch of `copy` behind, or None.

    The logs of the repair and of `copy` share a beginning that ends at or before the repair, and `copy` goes on from
    there. If the repair may lie before the first offset of another copy, this is the epoch in which that copy begins.
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
    """Return True if `best` was, or may have been, repaired in a later epoch than any of these copies knows.

    "May have been": the repair can lie before the first offset of `best`.
    """
    if best.repair is not None and all(copy.end.epoch < best.repair.epoch for copy in copies):
        return True
    return bool(copies) and all(is_passed_over([best], best, copy) for copy in copies)


def bounds_of(copies: Sequence[Copy], bounds: CommittedBounds, copy: Copy) -> CommittedBounds:
    """Return the committed bounds for the records of `copy`.

    `copies`: the best first. `bounds`: those by the voters in force, which apply unless `copy` holds an abandoned
    branch.
    """
    epoch = repair_beside(copies, copy)
    if epoch is None:
        return _as_proven(copies, bounds, copy)
    old = [one for one in copies if one.end.epoch < epoch and shows_one_log(one, copy)]
    voters = certain_voters(old, 0).keys
    stale = [one.copy for one in stale_replicas(old, voters)]
    by_them = bounds_once(old, stale, voters, committed_bounds(extents(old, stale), voters))
    # No upper bound: a former voter whose copy is not here may have completed a majority.
    return msgspec.structs.replace(by_them, upper=None)


def _as_proven(copies: Sequence[Copy], bounds: CommittedBounds, copy: Copy) -> CommittedBounds:
    """Return the bounds with the upper bound that a repair proved when it cut one of these logs.

    Such a proof holds while no later epoch is known: a later leader commits all records that it finds in its log.
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
    """Return how far offsets `start` to `end` (exclusive) were committed: `was`, `partly`, `may` or `never`."""
    if bounds.lower >= end:
        return "was"
    if bounds.lower > start:
        return "partly"
    return "never" if bounds.upper is not None and bounds.upper <= start else "may"
