"""Votes and leaders across nodes: what their quorum-state files and LeaderChange records prove of each other.

Decides: which contradictions are proof. A vote for a candidate that lost is none, and neither is a leader's own file
without a vote (Kafka writes none there). Must not know: files.

A voter grants one vote in an epoch (KIP-595): a LeaderChange that counts a voter for one leader, while that voter's
quorum-state of the same epoch names another candidate, is proof of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from metadata_log.directory import QUORUM_STATE_FILE, QuorumState
from metadata_log.tools.agreement import join_names
from metadata_log.tools.findings import Finding, Severity, finding
from metadata_log.tools.quorum_view import QuorumView, Replica
from metadata_log.tools.verify_chain import Election

_FAR_AHEAD: Final = 10
"""Epochs. A voter that reaches nobody asks again and again: before pre-votes (KIP-996) each time in a new one."""


def check_votes(view: QuorumView) -> Iterator[Finding]:
    """Two votes of one voter, and leaders that a quorum-state has otherwise than other nodes do."""
    elections = _elections(view)
    for replica in view.replicas:
        state = replica.report.quorum_state
        if state is not None:
            yield from _two_votes(replica, state, elections)
            yield from _two_leaders(replica, state, elections)
    yield from _among_states(view, elections)
    yield from _far_ahead(view)


def _far_ahead(view: QuorumView) -> Iterator[Finding]:
    """Quorum-states of epochs that no log is anywhere near. Elections that fail use up epochs, one each."""
    newest = max((replica.report.last_epoch for replica in view.replicas), default=-1)
    present = {voter for voter in view.voters if any(replica.key.node_id == voter.node_id for replica in view.replicas)}
    is_majority = 2 * len(present) > len(view.voters)
    for replica in view.replicas:
        state = replica.report.quorum_state
        if state is None or newest < 0 or state.leader_epoch - newest < _FAR_AHEAD:
            continue
        what = (
            f"it is of epoch {state.leader_epoch}, and the last epoch that any of these logs has a record of is "
            f"{newest}: {state.leader_epoch - newest} elections elected nobody, or somebody who is not here; or the "
            "file was changed"
        )
        severity = None if is_majority else Severity.NOTE
        node_id = replica.source.node_id
        yield finding(
            "quorum_state_ahead",
            what,
            severity=severity,
            node_id=node_id,
            file=_file(replica),
            epoch=state.leader_epoch,
        )


def _elections(view: QuorumView) -> dict[int, list[tuple[Replica, Election]]]:
    by_epoch: dict[int, list[tuple[Replica, Election]]] = {}
    for replica in view.replicas:
        for election in replica.report.elections:
            by_epoch.setdefault(election.epoch, []).append((replica, election))
    return by_epoch


def _file(replica: Replica) -> str:
    return f"{replica.report.directory}/{QUORUM_STATE_FILE}"


def _two_votes(
    replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    voted, node_id = state.voted_key, replica.source.node_id
    if voted is None or node_id is None:
        return
    for holder, election in elections.get(state.leader_epoch, ()):
        if node_id in election.granting and election.leader_id != voted.node_id:
            what = (
                f"node {node_id} voted for node {voted.node_id} in epoch {state.leader_epoch}, but node "
                f"{election.leader_id} became its leader with node {node_id}'s vote (LeaderChange at offset "
                f"{election.offset} on {holder.label})"
            )
            yield finding(
                "two_votes", what, node_id=node_id, file=_file(replica), offset=election.offset, epoch=election.epoch
            )
            return


def _two_leaders(
    replica: Replica, state: QuorumState, elections: dict[int, list[tuple[Replica, Election]]]
) -> Iterator[Finding]:
    """A quorum-state's leader against other nodes' logs; against its own log `verify_state` checks it."""
    if state.leader_id < 0:
        return
    held = elections.get(state.leader_epoch, ())
    if any(holder is replica for holder, _ in held):
        return
    for holder, election in held:
        if election.leader_id != state.leader_id:
            what = (
                f"it says that node {state.leader_id} leads epoch {state.leader_epoch}; the LeaderChange at offset "
                f"{election.offset} on {holder.label} says node {election.leader_id}"
            )
            yield finding(
                "two_leaders",
                what,
                node_id=replica.source.node_id,
                file=_file(replica),
                offset=election.offset,
                epoch=election.epoch,
            )
            return


def _among_states(view: QuorumView, elections: dict[int, list[tuple[Replica, Election]]]) -> Iterator[Finding]:
    """Quorum-states that name different leaders of an epoch of which no log has the LeaderChange."""
    by_epoch: dict[int, dict[int, list[Replica]]] = {}
    for replica in view.replicas:
        state = replica.report.quorum_state
        if state is not None and state.leader_id >= 0 and state.leader_epoch not in elections:
            by_epoch.setdefault(state.leader_epoch, {}).setdefault(state.leader_id, []).append(replica)
    for epoch, leaders in sorted(by_epoch.items()):
        yield from _rivals(epoch, leaders) if len(leaders) > 1 else ()


def _rivals(epoch: int, leaders: Mapping[int, Sequence[Replica]]) -> Iterator[Finding]:
    for leader_id, replicas in sorted(leaders.items()):
        others = ", ".join(
            f"node {other} by {join_names([replica.label for replica in held])}"
            for other, held in sorted(leaders.items())
            if other != leader_id
        )
        for replica in replicas:
            what = f"it says that node {leader_id} leads epoch {epoch}, which is {others}"
            yield finding("two_leaders", what, node_id=replica.source.node_id, file=_file(replica), epoch=epoch)
