"""Reads that are linearizable without a log write: proof, at the time of reading, that this replica still leads.

Decides: when a read may be answered, and from which offset on. Must not know: what is read.

ReadIndex (Ongaro's Raft dissertation, 6.4; etcd's `ReadOnlySafe`), with BeginQuorumEpoch for the heartbeat: once a
record of its epoch is committed, the leader notes its high watermark and asks the voters; when a majority has
acknowledged a BeginQuorumEpoch that left after the read came in, no later leader can have committed anything before
that. Reads that come while a round is out share the next one.
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
    """Prove the leadership for all reads up to `asked.token`, or say that there is none."""
    state = core.state
    if type(state) is not Leader or asked.epoch != core.epoch:
        core.outbox.add(ReadBarrierRefused(token=asked.token))
        return
    state.barrier.waiting = asked.token
    maybe_begin_round(core, state)


def maybe_begin_round(core: Core, leader: Leader) -> None:
    """Begin the next round if somebody waits for one, none is out, and this epoch has a committed record.

    Before that, what the leaders before have committed may lie beyond the high watermark that is known here.
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
    """BeginQuorumEpoch; its answer counts for the rounds that have begun by now, and for no later one."""
    request = BeginQuorumEpochRequest(
        leader_id=core.me.node_id, leader_epoch=core.epoch, voter=voter.key, leader_endpoints=core.endpoints
    )
    correlation = core.outbox.send(destination_of(voter), request, core.config.request_timeout_ms)
    leader.barrier.asked[correlation] = AskedVoter(key=voter.key, round=leader.barrier.round)


def on_begin_answered(core: Core, leader: Leader, correlation: int, *, acknowledged: bool) -> None:
    """The answer to one BeginQuorumEpoch, or that there is none: then the voter is asked again a little later."""
    barrier = leader.barrier
    asked = barrier.asked.pop(correlation, None)
    if asked is None or not acknowledged:
        return
    barrier.acknowledged[asked.key] = max(asked.round, barrier.acknowledged.get(asked.key, 0))
    _maybe_pass(core, leader)
    if barrier.proving is not None and asked.round < barrier.round:
        _ask_silent_voters(core, leader)


def on_elapsed_barrier(core: Core, leader: Leader) -> None:
    """Ask those again that have not answered."""
    retry_at_ms = leader.barrier.retry_at_ms
    if retry_at_ms is not None and retry_at_ms <= core.now_ms:
        _ask_silent_voters(core, leader)


def follow_voters(core: Core, leader: Leader) -> None:
    """The voters are others: those who have answered may be a majority of them, or others have to be asked."""
    if leader.barrier.proving is not None:
        _ask_silent_voters(core, leader)
        _maybe_pass(core, leader)


def _ask_silent_voters(core: Core, leader: Leader) -> None:
    """One question at a time to each: a voter that stays silent collects none."""
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
