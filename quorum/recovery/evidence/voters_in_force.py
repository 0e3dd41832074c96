"""The voters that each copy names, as input for the rules of `metadata_log.tools.replicas.voters_in_force`.

Must not know: which copies are damaged.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.tools.replicas.voters_in_force import NamedVoters, VotersInForce, voters_in_force
from metadata_log.voters import VoterSet
from quorum.recovery.copies.log_copy import Copy


def certain_voters(ranked: Sequence[Copy], committed: int) -> VotersInForce:
    """Return the voters in force by these copies, the best first; no voters if only an election names them."""
    found = voters_in_force([named_by(copy) for copy in ranked], committed)
    return found if found.is_certain else msgspec.structs.replace(found, keys=())


def named_by(copy: Copy) -> NamedVoters:
    """Return the voters that a copy names."""
    quorum = copy.prefix.quorum
    at = -1 if quorum is None else quorum.voters_at
    before = None if quorum is None else quorum.voters_before
    is_repairs = copy.repair is not None and copy.repair.offset == at
    return NamedVoters(
        recorded=None if copy.voters is None else copy.voters.keys,
        recorded_at=at,
        is_newer=copy.kraft_version > 0 and copy.newer_voters is not None,
        before=() if before is None or is_repairs else VoterSet.from_record(before, f"{copy.label}, VotersRecord").keys,
        static=tuple(ReplicaKey(node_id=NodeId(voter)) for voter in copy.static_voters),
        electors=copy.prefix.elections[-1].voters if copy.prefix.elections else (),
        is_repaired=copy.repair is not None,
    )


def undecided(voters: VotersInForce) -> str | None:
    """Return a sentence about both voter sets that may be in force; None if only one may be."""
    if not voters.before:
        return None
    now, then = (", ".join(str(voter.node_id) for voter in one) for one in (voters.keys, voters.before))
    if voters.source == "static":
        return (
            f"the files beside the logs name {now} as the static voters, but by the log the last leader was elected "
            f"among {then}: the files are wrong, or were changed since; a majority of both is needed"
        )
    return (
        f"the last change of the voters, to {now}, is not proven to be committed: the controllers before it, {then}, "
        "may have dropped it and gone on; a majority of both is needed"
    )
