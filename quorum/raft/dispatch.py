"""Dispatch of an input to its handler: tables by the input's type, its message and the present epoch state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.errors import InvariantViolation
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.draws import NO_DRAWS, Draws
from quorum.raft.auto_join import handle_api_versions, on_ask_answered
from quorum.raft.core import Core
from quorum.raft.elections import (
    handle_vote,
    on_elapsed_candidate,
    on_elapsed_prospective,
    on_elapsed_unattached,
    on_own_vote_durable,
    on_vote_failed,
    on_vote_response,
)
from quorum.raft.fetching import maybe_send_fetch
from quorum.raft.follower import handle_begin, handle_end, on_elapsed_follower, on_fetch_failed, on_fetch_response
from quorum.raft.inputs import (
    AskReadBarrier,
    ChunkStored,
    Elapsed,
    Flushed,
    Input,
    LogTrimmed,
    Persisted,
    Propose,
    RequestDropped,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    Shutdown,
    SnapshotChecked,
    SnapshotTaken,
    Start,
)
from quorum.raft.kraft_version import handle_upgrade
from quorum.raft.leader import (
    handle_propose,
    handle_shutdown,
    on_begin_failed,
    on_begin_response,
    on_elapsed_leader,
    on_elapsed_resigned,
    on_end_failed,
    on_end_response,
)
from quorum.raft.leader_fetch import handle_fetch, on_request_dropped
from quorum.raft.read_barrier import handle_read_barrier
from quorum.raft.replication import on_own_flush
from quorum.raft.roles import start
from quorum.raft.snapshots import (
    handle_fetch_snapshot,
    on_chunk_stored,
    on_fetch_snapshot_response,
    on_log_trimmed,
    on_snapshot_checked,
    on_snapshot_taken,
)
from quorum.raft.states import Candidate, EpochState, Follower, Leader, Prospective, Resigned, Unattached
from quorum.raft.transfer import after_input, handle_transfer, on_transfer_dropped
from quorum.raft.voter_changes import (
    handle_add_voter,
    handle_remove_voter,
    handle_update_voter,
    on_api_versions,
    on_api_versions_failed,
    settle_changes,
)

_ON_REQUEST: Final[dict[type[Request], Callable[[Core, int, Any], None]]] = {
    FetchRequest: handle_fetch,
    VoteRequest: handle_vote,
    BeginQuorumEpochRequest: handle_begin,
    EndQuorumEpochRequest: handle_end,
    FetchSnapshotRequest: handle_fetch_snapshot,
    TransferLeadershipRequest: handle_transfer,
    AddRaftVoterRequest: handle_add_voter,
    RemoveRaftVoterRequest: handle_remove_voter,
    UpdateRaftVoterRequest: handle_update_voter,
    UpgradeKRaftVersionRequest: handle_upgrade,
    ApiVersionsRequest: handle_api_versions,
}
_ON_RESPONSE: Final[dict[tuple[type[EpochState], type[Response]], Callable[[Core, int, int, Any], None]]] = {
    (Unattached, FetchResponse): on_fetch_response,
    (Prospective, VoteResponse): on_vote_response,
    (Candidate, VoteResponse): on_vote_response,
    (Follower, FetchResponse): on_fetch_response,
    (Follower, FetchSnapshotResponse): on_fetch_snapshot_response,
    (Leader, BeginQuorumEpochResponse): on_begin_response,
    (Resigned, EndQuorumEpochResponse): on_end_response,
}
"""A pair that is missing was not asked for: a transition drops the requests of the state before.

Responses about the voter set are found by their correlation instead.
"""
_ON_FAILURE: Final[dict[type[EpochState], Callable[[Core, Any, RequestFailed], None]]] = {
    Unattached: on_fetch_failed,
    Prospective: on_vote_failed,
    Candidate: on_vote_failed,
    Follower: on_fetch_failed,
    Leader: on_begin_failed,
    Resigned: on_end_failed,
}
_MAY_APPEND: Final[frozenset[type[Request | Response]]] = frozenset(
    {
        AddRaftVoterRequest,
        RemoveRaftVoterRequest,
        UpdateRaftVoterRequest,
        UpgradeKRaftVersionRequest,
        ApiVersionsResponse,
    }
)
_WITH_DRAW: Final = (RequestReceived, ResponseReceived, Elapsed, RequestFailed, Shutdown, Start)


def dispatch(core: Core, received: Input) -> None:
    """Call the handler of an input, then settle voter changes and a transfer of leadership."""
    core.about = None
    if not core.is_started and type(received) is not Start:
        raise InvariantViolation(f"{type(received).__name__} came before Start")
    core.draws = Draws(received.draw) if isinstance(received, _WITH_DRAW) else NO_DRAWS
    _ON_INPUT[type(received)](core, received)
    state = core.state
    if isinstance(state, Leader) and (state.change is not None or not core.members.is_voter):
        settle_changes(core, state)
    if core.transfer is not None:
        after_input(core, core.transfer)


def may_append(received: Input) -> bool:
    """Return True if the core may append a control batch on this input, so that the caller's log end may move."""
    if type(received) is RequestReceived:
        return type(received.request) in _MAY_APPEND
    return type(received) is ResponseReceived and type(received.response) in _MAY_APPEND


def _on_flushed(core: Core, flushed: Flushed) -> None:
    grew = core.log.complete(flushed.token, flushed.epoch, flushed.end_offset)
    state = core.state
    if type(state) is not Leader:
        maybe_send_fetch(core)
    elif grew:
        on_own_flush(core, state)


def _on_persisted(core: Core, persisted: Persisted) -> None:
    core.outbox.complete_persist(persisted.token)
    if not core.outbox.is_gated:
        on_own_vote_durable(core)


def _on_request(core: Core, received: RequestReceived) -> None:
    request = received.request
    core.about = type(request)
    _ON_REQUEST[type(request)](core, received.request_id, request)


def _on_request_dropped(core: Core, dropped: RequestDropped) -> None:
    on_request_dropped(core, dropped.request_id)
    on_transfer_dropped(core, dropped.request_id)


def _on_response(core: Core, received: ResponseReceived) -> None:
    destination = core.outbox.in_flight.pop(received.correlation, None)
    if destination is None or destination != received.destination_id:
        return
    response = received.response
    core.about = type(response)
    if _is_about_voters(core, received.correlation):
        _on_about_voters(core, destination, response)
        return
    handler = _ON_RESPONSE.get((type(core.state), type(response)))
    if handler is None:
        core.refuse(destination, f"it answers with {type(response).__name__}, which a {core.role} did not ask for")
        failed = RequestFailed(
            destination_id=destination, correlation=received.correlation, disconnected=False, draw=received.draw
        )
        _ON_FAILURE[type(core.state)](core, core.state, failed)
    else:
        handler(core, destination, received.correlation, response)


def _on_failed(core: Core, failed: RequestFailed) -> None:
    destination = core.outbox.in_flight.pop(failed.correlation, None)
    if destination is None or destination != failed.destination_id:
        return
    if _is_about_voters(core, failed.correlation):
        _on_about_voters(core, destination, None)
    else:
        _ON_FAILURE[type(core.state)](core, core.state, failed)


def _is_about_voters(core: Core, correlation: int) -> bool:
    """Return True if this replica's request `correlation` was about the voter set."""
    state = core.state
    if isinstance(state, Follower):
        return state.voter_ask == correlation
    return isinstance(state, Leader) and state.change is not None and state.change.correlation == correlation


def _on_about_voters(core: Core, node_id: int, response: Response | None) -> None:
    """Handle the response to such a request; None if no response came."""
    state = core.state
    if isinstance(state, Follower):
        if response is None:
            state.voter_ask = None
        else:
            on_ask_answered(core, state, node_id, response)
    elif isinstance(state, Leader):
        # A replica that is not a voter yet cannot change this leader's epoch: its leader hint is not applied.
        if isinstance(response, ApiVersionsResponse):
            on_api_versions(core, state, response)
        else:
            on_api_versions_failed(core, state)


def _on_elapsed(core: Core, _: Elapsed) -> None:
    _ON_ELAPSED[type(core.state)](core, core.state)


def _on_elapsed_unattached(core: Core, state: Unattached) -> None:
    if core.can_campaign:
        on_elapsed_unattached(core, state)
    else:
        maybe_send_fetch(core)


_ON_ELAPSED: Final[dict[type[EpochState], Callable[[Core, Any], None]]] = {
    Unattached: _on_elapsed_unattached,
    Prospective: on_elapsed_prospective,
    Candidate: on_elapsed_candidate,
    Follower: on_elapsed_follower,
    Leader: on_elapsed_leader,
    Resigned: on_elapsed_resigned,
}
_ON_INPUT: Final[dict[type[Input], Callable[[Core, Any], None]]] = {
    Start: start,
    Elapsed: _on_elapsed,
    RequestReceived: _on_request,
    RequestDropped: _on_request_dropped,
    ResponseReceived: _on_response,
    RequestFailed: _on_failed,
    Propose: handle_propose,
    AskReadBarrier: handle_read_barrier,
    Flushed: _on_flushed,
    Persisted: _on_persisted,
    ChunkStored: on_chunk_stored,
    SnapshotChecked: on_snapshot_checked,
    SnapshotTaken: on_snapshot_taken,
    LogTrimmed: on_log_trimmed,
    Shutdown: handle_shutdown,
}
