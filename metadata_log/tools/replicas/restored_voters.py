"""Voters' replicas that know of no epoch as late as one in which their node acted.

Decides: which act shows that. Must not know: which LeaderChanges are believed, and what follows.

A vote is durable before it is given, and so is the epoch that a leader begins (KIP-595). A directory that lacks it was
set back to an older copy, or copied before. A repair names a leader and electors that did nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.tools.findings.facts import VoterRestored
from metadata_log.tools.read.control_facts import Election


def restored_voter(node_id: int, knows_epoch: int, elections: Iterable[tuple[str, Election]]) -> VoterRestored | None:
    """Return the latest act of a node in an epoch after `knows_epoch`; None without one.

    `elections`: those that are believed, each with the name of a replica that has it.
    """
    later = [(name, election) for name, election in elections if election.epoch > knows_epoch]
    acts = [(name, election) for name, election in later if _acted(node_id, election)]
    if not acts:
        return None
    name, election = max(acts, key=lambda act: act[1].epoch)
    return VoterRestored(
        knows_epoch=knows_epoch,
        acted_epoch=election.epoch,
        began_at=election.offset,
        voted_for=None if election.leader_id == node_id else election.leader_id,
        shown_by=name,
    )


def _acted(node_id: int, election: Election) -> bool:
    return not election.is_repairs and node_id in (election.leader_id, *election.granting)
