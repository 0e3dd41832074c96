"""Replication by a leader: appends, the high watermark, BeginQuorumEpoch.

Decides: which records are committed (KIP-595). Must not know: how a replica becomes leader or stops being one.
"""

from __future__ import annotations

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.voters import VoterSet
from quorum.api.raft_messages import UNKNOWN_OFFSET, FetchResponse
from quorum.raft.control_batches import opening_batch
from quorum.raft.core import Core
from quorum.raft.fetch_purgatory import announce_high_watermark, answer_appended
from quorum.raft.log_state import EpochStartsAt
from quorum.raft.read_barrier import follow_voters, maybe_begin_round, send_begin_to
from quorum.raft.ready import HighWatermarkAdvanced, VotersChanged
from quorum.raft.states import Leader, Progress

CHECK_QUORUM_FACTOR = 1.5


def check_quorum_timeout_ms(core: Core) -> int:
    """Return how long a leader leads without Fetches of a majority, in ms."""
    return int(core.config.fetch_timeout_ms * CHECK_QUORUM_FACTOR)


def begin_interval_ms(core: Core) -> int:
    """Return the interval of BeginQuorumEpoch to voters that do not fetch, in ms."""
    return core.config.fetch_timeout_ms // 2


def new_leader_state(core: Core) -> Leader:
    """Return the state of a leader whose epoch begins at the log's end."""
    state = Leader(
        epoch_start_offset=core.log.end_offset,
        began_at_ms=core.now_ms,
        voters={},
        observers={},
        answer=FetchResponse(leader_epoch=core.epoch),
        heard=set(),
        check_quorum_deadline_ms=None,
        begin_deadline_ms=None,
        parked={},
        serving=set(),
        reported_voters=core.members.latest.with_voter(core.members.own) if core.members.kraft_version == 0 else None,
    )
    follow_membership(core, state)
    return state


def follow_membership(core: Core, leader: Leader) -> None:
    """Keep the voters' progress for exactly the latest set: removed voters become observers, and added ones voters."""
    known = {progress.key: progress for progress in (*leader.voters.values(), *leader.observers.values())}
    keys = core.members.latest.keys
    leader.voters = {key.node_id: known.pop(key, Progress(key=key)) for key in keys}
    # A static voter's entry has no directory id and so is no observer's; and this leader is no observer of itself.
    leader.observers = {
        key: each for key, each in known.items() if key.directory_id != ZERO_DIRECTORY_ID and key != core.me
    }
    leader.heard.intersection_update(leader.voters)
    own = leader.voters.get(core.me.node_id)
    if own is not None and core.members.is_voter:
        own.log_end_offset = core.log.flushed_offset
    _arm_for_peers(core, leader)
    follow_voters(core, leader)


def _arm_for_peers(core: Core, leader: Leader) -> None:
    """Arm the check-quorum and BeginQuorumEpoch deadlines, which only a leader with other voters needs."""
    if not core.members.peers:
        leader.check_quorum_deadline_ms = leader.begin_deadline_ms = None
    elif leader.check_quorum_deadline_ms is None:
        leader.check_quorum_deadline_ms = core.now_ms + check_quorum_timeout_ms(core)
        leader.begin_deadline_ms = core.now_ms + begin_interval_ms(core)


def open_epoch(core: Core, leader: Leader, granting: tuple[NodeId, ...]) -> None:
    """Append the records that open this leader's epoch, and send BeginQuorumEpoch."""
    _renew_answer(core, leader)
    opening = opening_batch(
        base_offset=core.log.end_offset,
        epoch=core.epoch,
        timestamp_ms=core.wall_ms,
        leader_id=core.me.node_id,
        history=core.members.history,
        granting=granting,
        updated=core.members.latest.with_voter(core.members.own) if core.members.needs_update else None,
    )
    append(core, leader, opening.end_offset, opening.data)
    if opening.voters_offset is not None:
        take_voters(core, opening.voters_offset, opening.voters)
    send_begin(core, leader)


def take_voters(core: Core, offset: Offset, voters: VoterSet) -> None:
    """Put the voter set of the record at `offset` in force, committed or not (KIP-853)."""
    if core.members.take(core.members.history.append(offset, voters)):
        core.outbox.add(VotersChanged(voters=voters))


def append(core: Core, leader: Leader, end_offset: Offset, data: bytes) -> None:
    """Append one batch of this epoch, and send it to parked Fetches before it is durable here."""
    log = core.log
    base_offset = log.end_offset
    token = core.outbox.append(base_offset, end_offset, core.standing.epoch, data)
    log.append(token, end_offset, (EpochStartsAt(epoch=core.standing.epoch, start_offset=base_offset),))
    answer_appended(core, leader)


def _renew_answer(core: Core, leader: Leader) -> None:
    log = core.log
    leader.answer = FetchResponse(
        leader_id=core.me.node_id,
        leader_epoch=core.epoch,
        leader_endpoints=core.endpoints,
        high_watermark=log.high_watermark if leader.has_committed else UNKNOWN_OFFSET,
        log_start_offset=log.start_offset,
    )


def maybe_advance_high_watermark(core: Core, leader: Leader) -> None:
    """Advance the high watermark to the offset that a majority holds durably, if a record of this epoch is below it.

    A record of an older epoch may be replaced by another leader even if a majority holds it (Raft, 5.4.2).
    """
    offsets = sorted(progress.log_end_offset for progress in leader.voters.values())
    committed = offsets[len(offsets) - core.members.majority]
    if committed <= leader.epoch_start_offset or not core.log.advance_high_watermark(committed):
        return
    leader.has_committed = True
    _renew_answer(core, leader)
    core.outbox.add(HighWatermarkAdvanced(offset=committed))
    if leader.parked:
        announce_high_watermark(core, leader)
    maybe_begin_round(core, leader)


def on_own_flush(core: Core, leader: Leader) -> None:
    """Count the leader's own log as far as it is durable, if the leader is a voter."""
    own = leader.voters.get(core.me.node_id)
    if own is not None and core.members.is_voter:
        own.log_end_offset = core.log.flushed_offset
        maybe_advance_high_watermark(core, leader)


def send_begin(core: Core, leader: Leader) -> None:
    """Send BeginQuorumEpoch to each voter without a recent Fetch and without a request in flight."""
    heard_since = core.now_ms - begin_interval_ms(core)
    asked = set(core.outbox.in_flight.values())
    for voter in core.members.peers:
        if voter.key.node_id in asked or leader.voters[voter.key.node_id].has_fetched_since(heard_since):
            continue
        send_begin_to(core, leader, voter)


def successors(leader: Leader, me: ReplicaKey) -> tuple[ReplicaKey, ...]:
    """Return the other voters, the longest log first: the preferred successors of EndQuorumEpoch."""
    others = [progress for progress in leader.voters.values() if progress.key.node_id != me.node_id]
    others.sort(key=lambda progress: (-progress.log_end_offset, progress.key.node_id))
    return tuple(progress.key for progress in others)
