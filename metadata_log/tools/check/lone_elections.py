"""Finds LeaderChanges that only one log has, and that a voter's `quorum-state` contradicts.

The finding is about the record; no voter is accused of a second vote. Must not know: which records are believed
(`witnesses`).
"""

from __future__ import annotations

from collections.abc import Iterator

from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.witnesses import Witnesses
from metadata_log.tools.words import join_names


def check_lone_elections(view: ReplicaSet, witnesses: Witnesses) -> Iterator[Finding]:
    """Yield a finding for each such record, at the replica that has it."""
    for index, election in witnesses.lone():
        holder = view.replicas[index]
        denials = [text for one in view.replicas if one is not holder for text in _denials(one, election)]
        if denials:
            what = (
                f"the LeaderChange of epoch {election.epoch} names node {election.leader_id} as the leader, and no "
                f"other log has it; but {join_names(denials)}: no node is judged by this record"
            )
            yield finding(
                "leader_change_denied",
                what,
                node_id=holder.source.node_id,
                file=election.file,
                position=election.position,
                offset=election.offset,
                epoch=election.epoch,
            )


def _denials(replica: Replica, election: Election) -> Iterator[str]:
    state, node_id = replica.facts.quorum_state, replica.source.node_id
    if state is None or node_id is None or state.leader_epoch != election.epoch:
        return
    voted = state.voted_key
    if voted is not None and node_id in election.granting and voted.node_id != election.leader_id:
        yield f"node {node_id} voted for node {voted.node_id} by its quorum-state"
    elif state.leader_id >= 0 and state.leader_id != election.leader_id:
        yield f"node {node_id} follows node {state.leader_id} by its quorum-state"
