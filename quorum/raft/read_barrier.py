"""The read barrier: linearizable reads without a log write, by a proof that this replica still leads.

Decides: when a read may be answered, and from which offset on. Must not know: the data that is read.

This is ReadIndex (Ongaro's Raft dissertation, 6.4; etcd's `ReadOnlySafe`), with BeginQuorumEpoch as the heartbeat. Once
a record of its epoch is committed, the leader notes its high watermark and sends the voters a BeginQuorumEpoch. If a
majority acknowledges one that left after the read arrived, no later leader can have committed a record before that
read. Reads that arrive during a round share the next one.
"""

from __future__ import annotations

from metadata_log.voters import Voter
from quorum.api.raft_messages import BeginQuorumEpochRequest
from quorum.raft.core import Core
from quorum.raft.inputs import AskReadBarrier
from quorum.raft.membership import destination_of
from quorum.raft.ready import ReadBarrierPassed, ReadBarrierRefused
from quorum.raft.states import AskedVoter, Leader


def handle_read_barrier(core: Core, asked: AskReadBarrier) -> None:
    """Start or queue a proof for all reads up to `asked.token`, or emit `ReadBarrierRefused`."""
    state = core.state
    if type(state) is not Leader or asked.epoch != core.epoch:
        core.outbox.add(ReadBarrierRefused(token=asked.token))
        return
    state.barrier.waiting = asked.token
    maybe_begin_round(core, state)


def maybe_begin_round(core: Core, leader: Leader) -> None:
    """Begin the next round if reads wait, no round is in progress, and a record of this epoch is committed.

    Before that commit, records of former leaders may be committed beyond the known high watermark.
    """
    barrier = leader.barrier
    if barrier.waiting is None or barrier.proving is not None or not leader.has_committed:
        return
    barrier.proving, barrier.waiting = barrier.waiting, None
    barrier.round += 1
    barrier.offset = core.log.high_watermark
    _ask_silent_voters(core, leader)
    _maybe_pass(core, leader)


def send_begin_to(core: Core, leader: Leader, voter: Voter) -> None:
    """Send BeginQuorumEpoch; its response counts for the rounds that have begun by now, and for no later one."""
    request = BeginQuorumEpochRequest(
        leader_id=core.me.node_id, leader_epoch=core.epoch, voter=voter.key, leader_endpoints=core.endpoints
    )
    correlation = core.outbox.send(destination_of(voter), request, core.config.request_timeout_ms)
    leader.barrier.asked[correlation] = AskedVoter(key=voter.key, round=leader.barrier.round)


def on_begin_answered(core: Core, leader: Leader, correlation: int, *, acknowledged: bool) -> None:
    """Handle the response to a BeginQuorumEpoch, or its failure, after which a retry follows a little later."""
    barrier = leader.barrier
    asked = barrier.asked.pop(correlation, None)
    if asked is None or not acknowledged:
        return
    barrier.acknowledged[asked.key] = max(asked.round, barrier.acknowledged.get(asked.key, 0))
    _maybe_pass(core, leader)
    if barrier.proving is not None and asked.round < barrier.round:
        _ask_silent_voters(core, leader)


def on_elapsed_barrier(core: Core, leader: Leader) -> None:
    """Send BeginQuorumEpoch again to voters that have not responded, if the retry is due."""
    retry_at_ms = leader.barrier.retry_at_ms
    if retry_at_ms is not None and retry_at_ms <= core.now_ms:
        _ask_silent_voters(core, leader)


def follow_voters(core: Core, leader: Leader) -> None:
    """Continue the round with a changed voter set: it may be complete now, or new voters must be asked."""
    if leader.barrier.proving is not None:
        _ask_silent_voters(core, leader)
        _maybe_pass(core, leader)


def _ask_silent_voters(core: Core, leader: Leader) -> None:
    """Send BeginQuorumEpoch to voters that the round needs; at most one request to each is in flight."""
    barrier = leader.barrier
    barrier.retry_at_ms = core.now_ms + core.config.retry_backoff_ms if core.members.peers else None
    busy = set(core.outbox.in_flight.values())
    for voter in core.members.peers:
        if voter.key.node_id not in busy and barrier.acknowledged.get(voter.key, 0) < barrier.round:
            send_begin_to(core, leader, voter)


def _maybe_pass(core: Core, leader: Leader) -> None:
    barrier = leader.barrier
    if barrier.proving is None:
        return
    others = sum(barrier.acknowledged.get(voter.key, 0) >= barrier.round for voter in core.members.peers)
    if others + core.members.is_voter < core.members.majority:
        return
    token, barrier.proving, barrier.retry_at_ms = barrier.proving, None, None
    core.outbox.add(ReadBarrierPassed(token=token, offset=barrier.offset))
    maybe_begin_round(core, leader)
