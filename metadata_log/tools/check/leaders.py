"""Leaders that a quorum-state names, in epochs that those leaders themselves know nothing of.

Decides: when that is a contradiction. Must not know: files, and votes.

A leader's first act is to append its LeaderChange, before it answers or tells anybody (KafkaRaftClient.pollLeader), and
before that it writes its own quorum-state. So who has learnt of it can only be wrong where the leader's log was cut,
its directory set back, or the other file changed. Nothing is wrong where the leader went on to a later epoch: its
LeaderChange may have been cut off then. And where its own file names it the leader of that epoch it may have resigned
before it wrote anything, or has lost its end, which `log_extent` says. A leader with no log at all is said elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from metadata_log.directory import QUORUM_STATE_FILE, QuorumState
from metadata_log.tools.check.votes import FAR_AHEAD
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import QuorumView


def check_leaders(view: QuorumView) -> Iterator[Finding]:
    """A finding for each quorum-state whose leader, one of these replicas, lacks the epoch that it is said to lead.

    Epochs that are far ahead of all logs, and those of which another log has the LeaderChange, are `check.votes`'s.
    """
    newest = max((replica.report.last_epoch for replica in view.replicas), default=-1)
    known = {election.epoch for replica in view.replicas for election in replica.report.elections}
    for replica in view.replicas:
        state = replica.report.quorum_state
        if state is None or state.leader_id < 0 or state.leader_epoch in known:
            continue
        leaders = [one for one in view.replicas if one.source.node_id == state.leader_id]
        is_near = state.leader_epoch - newest < FAR_AHEAD
        if is_near and leaders and all(_lacks(leader, state) for leader in leaders):
            yield _finding(replica, state, leaders[0])


def _lacks(leader: Replica, state: QuorumState) -> bool:
    """Whether a replica of the leader can never have led that epoch, or has forgotten it."""
    own, report = leader.report.quorum_state, leader.report
    is_cut = any(one.kind == "log_cut" for one in report.findings)
    if own is None or not leader.reach or report.is_unread or not report.is_sound or is_cut:
        return False
    went_on = max(int(own.leader_epoch), leader.last_epoch) > state.leader_epoch
    led = (own.leader_epoch, own.leader_id) == (state.leader_epoch, state.leader_id)
    return not went_on and not led and leader.last_epoch < state.leader_epoch


def _finding(replica: Replica, state: QuorumState, leader: Replica) -> Finding:
    own = leader.report.quorum_state
    knows = "" if own is None else f", and its own quorum-state is of epoch {own.leader_epoch}"
    what = (
        f"it says that node {state.leader_id} leads epoch {state.leader_epoch}, which {leader.label} knows nothing of: "
        f"its log ends in epoch {leader.last_epoch}{knows}; a leader begins with a record in its own log"
    )
    return finding(
        "leader_without_epoch",
        what,
        node_id=replica.source.node_id,
        file=f"{replica.report.directory}/{QUORUM_STATE_FILE}",
        epoch=int(state.leader_epoch),
    )
