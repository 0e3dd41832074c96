"""Who votes, by the copies that are here: the latest voter set, and the one before it while that may still be in force.

Decides: which sets a majority must be had of. Must not know: how sound the copies are.

A VotersRecord counts from its append on, and is committed by a majority of the set that it names (KIP-853). Until that
is proven, it may also have been dropped: then the set before it elected a leader and committed without its holder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.voters_in_force import is_voter
from metadata_log.voters import VoterSet, majority_of
from quorum.recovery.copies.log_copy import Copy


def is_majority(copies: Iterable[Copy], voters: Sequence[ReplicaKey]) -> bool:
    """Whether these are of more than half of the voters; two copies of one node count once."""
    return len({copy.node_id for copy in copies if is_voter(copy.place.key, voters)}) >= majority_of(len(voters))


def latest_voters(ranked: Sequence[Copy]) -> tuple[ReplicaKey, ...]:
    """Return the set in force by the best copy that names one, committed or not; empty where none does.

    So it is where a later release has written the latest one in a form that is not known.
    """
    for copy in ranked:
        if copy.voters is not None:
            return copy.voters.keys
        if copy.kraft_version > 0 and copy.newer_voters is not None:
            return ()
    for copy in ranked:
        if copy.static_voters:
            return tuple(ReplicaKey(node_id=NodeId(voter)) for voter in copy.static_voters)
    return ()


def voters_before(ranked: Sequence[Copy], committed: int) -> tuple[ReplicaKey, ...]:
    """The set that the latest replaced, where its record is not proven to be committed; else empty.

    `committed`: up to where all is, by the latest set. What a repair wrote is in force as it stands: nobody elects it.
    """
    copy = next((copy for copy in ranked if copy.voters is not None), None)
    quorum = None if copy is None or copy.state is None else copy.state.quorum
    if copy is None or quorum is None or quorum.voters_before is None:
        return ()
    is_repair = copy.repair is not None and copy.repair.offset == quorum.voters_at
    if is_repair or committed > quorum.voters_at:
        return ()
    before = VoterSet.from_record(quorum.voters_before).keys
    return () if set(before) == set(latest_voters(ranked)) else before


def undecided(voters: Sequence[ReplicaKey], before: Sequence[ReplicaKey]) -> str | None:
    """A sentence about both sets, where there are both."""
    if not before:
        return None
    now, then = (", ".join(str(voter.node_id) for voter in one) for one in (voters, before))
    return (
        f"the last change of the voters, to {now}, is not proven to be committed: the controllers before it, {then}, "
        "may have dropped it and gone on; a majority of both is needed"
    )


def weaker(one: CommittedBounds, other: CommittedBounds) -> CommittedBounds:
    """What holds by both."""
    lower = min(one, other, key=lambda bounds: bounds.lower)
    upper = None if one.upper is None or other.upper is None else max(one.upper, other.upper)
    return msgspec.structs.replace(lower, upper=upper)
