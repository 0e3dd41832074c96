"""Finds leaders that a `quorum-state` names, in epochs that the leader's own directory lacks.

Decides: when that is a contradiction. Must not know: files, and votes.

A new leader writes its own `quorum-state`, then appends its LeaderChange, and only then sends requests or responses
(KafkaRaftClient.pollLeader). So if a node names that leader, one of three things happened: the leader's log was cut,
its directory was restored from an older copy, or the node's file was changed.

Two cases are no contradiction. If the leader is in a later epoch, its LeaderChange may have been truncated. If its own
file names it as leader of that epoch, it may have resigned before it appended, or `log_extent` reports a lost end. A
leader without any log is another finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from metadata_log.directory import QUORUM_STATE_FILE, QuorumState
from metadata_log.tools.check.votes import FAR_AHEAD
from metadata_log.tools.findings.epoch_facts import LeaderWithoutEpoch
from metadata_log.tools.findings.finding import Finding, finding, is_well
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.words import join_names


def check_leaders(view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each `quorum-state` whose leader is one of these replicas, but lacks that epoch.

    `check.votes` covers epochs far ahead of all logs, and epochs whose LeaderChange is in a log.
    """
    newest = max((replica.facts.last_epoch for replica in view.replicas), default=-1)
    known = {election.epoch for replica in view.replicas for election in replica.facts.elections}
    for replica in view.replicas:
        state = replica.facts.quorum_state
        if state is None or state.leader_id < 0 or state.leader_epoch in known:
            continue
        leaders = [one for one in view.replicas if one.source.node_id == state.leader_id]
        is_near = state.leader_epoch - newest < FAR_AHEAD
        if is_near and leaders and all(_lacks(leader, state) for leader in leaders):
            yield _finding(replica, state, leaders[0])


def _lacks(leader: Replica, state: QuorumState) -> bool:
    """Return True if this directory of the leader never led that epoch, or has lost every trace of it."""
    own, report = leader.facts.quorum_state, leader.facts
    is_cut = any(one.kind == "log_cut" for one in report.findings)
    if own is None or not leader.reach or report.is_unread or not report.is_sound or is_cut:
        return False
    went_on = max(int(own.leader_epoch), leader.last_epoch) > state.leader_epoch
    led = (own.leader_epoch, own.leader_id) == (state.leader_epoch, state.leader_id)
    return not went_on and not led and leader.last_epoch < state.leader_epoch


def _finding(replica: Replica, state: QuorumState, leader: Replica) -> Finding:
    own = leader.facts.quorum_state
    facts = LeaderWithoutEpoch(
        holder=replica.label,
        leader=leader.label,
        leader_id=int(state.leader_id),
        epoch=int(state.leader_epoch),
        log_epoch=leader.last_epoch,
        own_epoch=None if own is None else int(own.leader_epoch),
    )
    return finding(
        facts,
        node_id=replica.source.node_id,
        file=f"{replica.facts.directory}/{QUORUM_STATE_FILE}",
        epoch=int(state.leader_epoch),
    )


LEADER_BEHIND: Final = "leader_behind_followers"
"""The kind of a note that holds only of logs at rest: a running leader sends records while it writes them."""


def check_lacking_leaders(view: ReplicaSet, odd: Collection[int]) -> Iterator[Finding]:
    """Yield a note for each leader whose log has fewer records of the last epoch that it led than another log.

    A leader has each record before its followers. But it is only a note: a leader's directory that was copied before
    the others looks the same. A running leader may also send records while it writes them.

    Args:
        odd: the indexes of the replicas whose logs diverge from the others.
    """
    sound = [one for index, one in enumerate(view.replicas) if index not in odd and is_well(one.facts.findings)]
    for leader in sound:
        epoch = _led_last(leader)
        copies = [one for one in view.replicas if one.source.node_id == leader.source.node_id]
        end = max(_end_in(one.facts, epoch) for one in copies)
        ahead = [one for one in sound if epoch >= 0 and _end_in(one.facts, epoch) > end]
        ahead = [] if leader.facts.is_unread else [one for one in ahead if view.shows_one_log(leader, one)]
        if not ahead:
            continue
        names = join_names([f"{one.label} (up to {_end_in(one.facts, epoch)})" for one in ahead])
        what = (
            f"it led epoch {epoch}, and its log ends at offset {end} of it; {names} "
            f"{'has' if len(ahead) == 1 else 'have'} more records of that epoch, and a leader has each first"
        )
        node_id, file = leader.source.node_id, leader.last_place
        yield finding(LEADER_BEHIND, what, node_id=node_id, file=file, offset=end, epoch=epoch)


def _led_last(replica: Replica) -> int:
    """Return the last epoch of a replica's log if its node led it, and knows no later epoch; otherwise -1.

    In a later epoch the node may have truncated its own records.
    """
    report, state = replica.facts, replica.facts.quorum_state
    last = report.elections[-1] if report.elections else None
    is_leaders = last is not None and last.leader_id == replica.source.node_id and last.epoch == replica.last_epoch
    if last is None or not is_leaders or state is None or state.leader_epoch != last.epoch:
        return -1
    return -1 if any(one.kind == "log_cut" for one in report.findings) else last.epoch


def _end_in(report: LogFacts, epoch: int) -> int:
    return max((span.end_offset for span in report.epochs if span.epoch == epoch), default=0)
