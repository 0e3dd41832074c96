"""The leader's side of Fetch (KIP-595): which requests are answered at once, parked or rejected.

Decides: whether a replica's position is valid, and what its Fetch proves. Must not know: how bytes are read or sent.
"""

from __future__ import annotations

from metadata_log.ids import ReplicaKey, id_text
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest, FetchResponse
from quorum.raft.core import MAX_EPOCH, Core
from quorum.raft.fetch_purgatory import answer_fetch, must_wait, park
from quorum.raft.leader_discovery import known_leader
from quorum.raft.log_state import BeforeStart, Diverging
from quorum.raft.replication import check_quorum_timeout_ms, maybe_advance_high_watermark
from quorum.raft.states import Leader, Progress
from quorum.raft.voter_responses import drop_asker

OBSERVER_SESSION_MS = 300_000
"""An observer that has not fetched for five minutes is dropped, as in Kafka."""


def handle_fetch(core: Core, request_id: int, request: FetchRequest) -> None:
    """Answer, park or reject a Fetch."""
    error = _validate(core, request)
    state = core.state
    if type(state) is Leader and request.replica.node_id == core.me.node_id:
        _tell_of_namesake(core, request)
    if error is not Error.NONE or type(state) is not Leader:
        _refuse(core, request_id, error if error is not Error.NONE else Error.NOT_LEADER_OR_FOLLOWER)
        return
    fault = core.log.validate_position(request.fetch_offset, request.last_fetched_epoch)
    if fault is not None:
        _reject_position(core, state, request_id, fault)
        return
    is_catching_up = _was_cut_short(state, request)
    _note_progress(core, state, request)
    is_at_end = request.fetch_offset >= core.log.end_offset
    waits = is_at_end or (not is_catching_up and must_wait(core, state, request))
    if waits and not _has_nothing_to_wait_for(core, state, request):
        park(core, state, request_id, request)
    else:
        answer_fetch(core, state, request_id, request)


def _was_cut_short(leader: Leader, request: FetchRequest) -> bool:
    """Return True if the last response did not reach the log's end of that time, because its size is limited.

    Such a replica is catching up: if its Fetch were parked, it would get only one response for each wait.
    """
    progress = leader.voters.get(request.replica.node_id) or leader.observers.get(request.replica)
    return progress is not None and request.fetch_offset < progress.leader_end_at_last_fetch


def _validate(core: Core, request: FetchRequest) -> Error:
    epoch = request.current_leader_epoch
    if request.max_wait_ms < 0 or request.fetch_offset < 0 or not 0 <= request.last_fetched_epoch <= epoch <= MAX_EPOCH:
        return Error.INVALID_REQUEST
    if request.replica.node_id == core.me.node_id:
        return Error.INVALID_REQUEST
    if epoch < core.epoch:
        return Error.FENCED_LEADER_EPOCH
    return Error.UNKNOWN_LEADER_EPOCH if epoch > core.epoch else Error.NONE


def _tell_of_namesake(core: Core, request: FetchRequest) -> None:
    """Report a Fetch with this leader's node id: another process has the same node.id.

    The exception is this replica's own Fetch to itself as a bootstrap server, which may arrive after its election; it
    has an older epoch.
    """
    key = request.replica
    if key != core.me or request.current_leader_epoch >= core.epoch:
        core.refuse(
            key.node_id,
            f"a process with directory {id_text(key.directory_id)} asks as node {key.node_id}, which is this leader: "
            "two processes have that node.id. Stop the wrong one, or give it another node.id",
        )


def _has_nothing_to_wait_for(core: Core, leader: Leader, request: FetchRequest) -> bool:
    """Return True if the Fetch has no maximum wait, or no more Fetches may be parked."""
    return request.max_wait_ms == 0 or len(leader.parked) >= core.config.max_parked_fetches


def _refuse(core: Core, request_id: int, error: Error) -> None:
    leader_id, endpoints = known_leader(core)
    answer = FetchResponse(
        error=error,
        leader_id=leader_id,
        leader_epoch=core.epoch,
        leader_endpoints=endpoints,
        log_start_offset=core.log.start_offset,
    )
    core.outbox.respond(request_id, answer)


def _reject_position(core: Core, leader: Leader, request_id: int, fault: Diverging | BeforeStart) -> None:
    """Respond with the diverging epoch or the snapshot: the replica must truncate or install before it can go on."""
    answer = leader.answer
    snapshot_id = fault.snapshot_id if isinstance(fault, BeforeStart) else None
    is_lost = isinstance(fault, BeforeStart) and snapshot_id is None
    core.outbox.respond(
        request_id,
        FetchResponse(
            error=Error.SNAPSHOT_NOT_FOUND if is_lost else Error.NONE,
            leader_id=answer.leader_id,
            leader_epoch=answer.leader_epoch,
            leader_endpoints=answer.leader_endpoints,
            high_watermark=answer.high_watermark,
            log_start_offset=answer.log_start_offset,
            diverging=fault.end if isinstance(fault, Diverging) else None,
            snapshot_id=snapshot_id,
        ),
    )


def redirect_to_snapshot(core: Core, leader: Leader) -> None:
    """Answer parked Fetches whose position is now before the log's start: their replicas must install a snapshot."""
    for request_id, fetch in list(leader.parked.items()):
        fault = core.log.validate_position(fetch.request.fetch_offset, fetch.request.last_fetched_epoch)
        if fault is not None:
            del leader.parked[request_id]
            _reject_position(core, leader, request_id, fault)


def _note_progress(core: Core, leader: Leader, request: FetchRequest) -> None:
    """Update the replica's progress: a valid position proves that it holds the log before it durably."""
    key = request.replica
    node_id = key.node_id
    progress = leader.voters.get(node_id)
    is_voter = progress is not None and core.members.latest.is_voter(key)
    if progress is None or not is_voter:
        progress = _observer(core, leader, key)
        if progress is None:
            return
    _note_fetch(core, progress, request)
    if not is_voter:
        return
    _note_voter(core, leader, key)
    if progress.log_end_offset > core.log.high_watermark:
        maybe_advance_high_watermark(core, leader)


def note_heard(core: Core, leader: Leader, key: ReplicaKey) -> None:
    """Note a sign of life: the replica sent a request that only a follower of this leader sends."""
    progress = leader.voters.get(key.node_id)
    if progress is not None and core.members.latest.is_voter(key):
        progress.fetched_at_ms = core.now_ms
        _note_voter(core, leader, key)


def _note_voter(core: Core, leader: Leader, key: ReplicaKey) -> None:
    leader.heard.add(key.node_id)
    if core.transfer is not None:
        core.transfer.heard.add(key.node_id)
    if len(leader.heard) + core.members.is_voter >= core.members.majority:
        leader.heard.clear()
        leader.check_quorum_deadline_ms = core.now_ms + check_quorum_timeout_ms(core)


def _note_fetch(core: Core, progress: Progress, request: FetchRequest) -> None:
    leader_end = core.log.end_offset
    if request.fetch_offset >= leader_end:
        progress.last_caught_up_timestamp_ms, progress.caught_up_at_ms = core.wall_ms, core.now_ms
    elif 0 < progress.leader_end_at_last_fetch <= request.fetch_offset:
        progress.last_caught_up_timestamp_ms = progress.last_fetch_timestamp_ms
        progress.caught_up_at_ms = progress.fetched_at_ms
    progress.leader_end_at_last_fetch = leader_end
    progress.log_end_offset = request.fetch_offset
    progress.fetched_at_ms = core.now_ms
    progress.last_fetch_timestamp_ms = core.wall_ms


def _observer(core: Core, leader: Leader, key: ReplicaKey) -> Progress | None:
    """Return the observer's progress, or None if there are too many observers or the replica has no node id."""
    progress = leader.observers.get(key)
    if progress is not None or key.node_id < 0:
        return progress
    if len(leader.observers) >= core.config.max_observers:
        forget_silent_observers(core, leader)
        if len(leader.observers) >= core.config.max_observers:
            return None
    leader.observers[key] = progress = Progress(key=key)
    return progress


def forget_silent_observers(core: Core, leader: Leader) -> None:
    """Drop observers that have not fetched within the session."""
    since = core.now_ms - OBSERVER_SESSION_MS
    leader.observers = {
        key: progress for key, progress in leader.observers.items() if progress.has_fetched_since(since)
    }


def on_request_dropped(core: Core, request_id: int) -> None:
    """Drop a parked Fetch or a change's request whose sender no longer awaits the response."""
    if type(core.state) is Leader:
        core.state.parked.pop(request_id, None)
        drop_asker(core.state, request_id)
