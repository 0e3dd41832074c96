"""Finds voters' replicas that lack every trace of an epoch in which their node voted or led.

Decides: which act proves that. Must not know: which LeaderChanges are believed.

A voter writes its vote to disk before it grants it, and a leader its epoch before it leads (KIP-595). A directory
without that epoch was restored from an older copy, or was copied earlier. A LeaderChange of a repair proves nothing: it
names a leader and voters that did not act.
"""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.tools.findings.facts import VoterRestored
from metadata_log.tools.read.control_facts import Election


def restored_voter(node_id: int, knows_epoch: int, elections: Iterable[tuple[str, Election]]) -> VoterRestored | None:
    """Return the latest act of a node in an epoch after `knows_epoch`, or None.

    Args:
        elections: the believed ones, each with the name of a replica that has it.
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
