"""A replica's state as stable text for transcripts and logs, and as the data of DescribeQuorum. It only reads."""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.ids import NodeId
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.api.raft_messages import UNKNOWN_OFFSET
from quorum.raft.core import Core
from quorum.raft.leader_fetch import OBSERVER_SESSION_MS
from quorum.raft.states import Candidate, Follower, Leader, Progress, Prospective, Resigned, Tally


def describe(core: Core) -> str:
    """Return one line: role, election state, log, then the data of the epoch state."""
    log, standing = core.log, core.standing
    voted = "-" if standing.voted is None else str(standing.voted.node_id)
    leader = "-" if standing.leader_id is None else str(standing.leader_id)
    head = f"{core.role} epoch={core.epoch} leader={leader} voted={voted}"
    position = f"log={log.start_offset}..{log.end} flushed={log.flushed_offset} hw={log.high_watermark}"
    flags = " suspects" if core.suspicion.is_active else ""
    flags += "" if core.members.is_voter else " observer"
    flags += " shut" if core.is_shut else ""
    if core.transfer is not None:
        to = "any" if core.transfer.to is None else core.transfer.to
        flags += f" hands-over-to={to}" + ("" if core.transfer.closing_deadline_ms is None else ",closing")
    return f"{head} {position}{flags}{_describe_state(core)}"


def _describe_state(core: Core) -> str:
    state = core.state
    if isinstance(state, Prospective | Candidate):
        return _describe_tally(state.tally)
    if isinstance(state, Follower):
        return f" fetched={'yes' if state.has_fetched else 'no'}{_describe_receiving(core)}"
    if isinstance(state, Leader):
        ends = ",".join(f"{node_id}:{progress.log_end_offset}" for node_id, progress in sorted(state.voters.items()))
        barrier = state.barrier
        proving = "" if barrier.proving is None else f" proving={barrier.proving}"
        proving += "" if barrier.waiting is None else f" waiting={barrier.waiting}"
        return f" start={state.epoch_start_offset} voters={ends} parked={len(state.parked)}{proving}"
    if isinstance(state, Resigned):
        return f" untold={_ids(state.unacknowledged)}"
    return ""


def _describe_receiving(core: Core) -> str:
    receiving = core.current_receiving
    if receiving is None:
        return ""
    size = "?" if receiving.size is None else receiving.size
    return f" snapshot={receiving.snapshot_id} has={receiving.position}/{size}{' busy' if receiving.is_busy else ''}"


def _describe_tally(tally: Tally) -> str:
    granted = ",".join(str(node_id) for node_id in tally.granted) or "-"
    return f" granted={granted} rejected={_ids(tally.rejected)} unreachable={_ids(tally.unreachable)}"


def _ids(node_ids: Iterable[NodeId]) -> str:
    return ",".join(str(node_id) for node_id in sorted(node_ids)) or "-"


def describe_quorum(core: Core) -> QuorumDescription:
    """Return the voters and observers. Only a leader knows their progress."""
    state = core.state
    if not isinstance(state, Leader):
        unknown = (_replica(core, Progress(key=key)) for key in core.members.latest.keys)
        return QuorumDescription(
            leader_id=core.leader_id,
            leader_epoch=core.epoch,
            high_watermark=core.log.high_watermark,
            voters=tuple(unknown),
            observers=(),
        )
    since = core.now_ms - OBSERVER_SESSION_MS
    observers = (progress for progress in state.observers.values() if progress.has_fetched_since(since))
    return QuorumDescription(
        leader_id=core.leader_id,
        leader_epoch=core.epoch,
        high_watermark=core.log.high_watermark if state.has_committed else UNKNOWN_OFFSET,
        voters=tuple(_replica(core, progress) for progress in state.voters.values()),
        observers=tuple(_replica(core, progress) for progress in observers),
    )


def _replica(core: Core, progress: Progress) -> ReplicaDescription:
    is_self = progress.key.node_id == core.me.node_id and isinstance(core.state, Leader)
    return ReplicaDescription(
        replica=progress.key,
        log_end_offset=core.log.end_offset if is_self else progress.log_end_offset,
        last_fetch_timestamp_ms=core.wall_ms if is_self else progress.last_fetch_timestamp_ms,
        last_caught_up_timestamp_ms=core.wall_ms if is_self else progress.last_caught_up_timestamp_ms,
        endpoints=core.members.endpoints_of(progress.key.node_id),
    )
