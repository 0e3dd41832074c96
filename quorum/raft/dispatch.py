"""Dispatch of an input to its handler, by the input's type, its message and the present epoch state."""

from __future__ import annotations

from typing import Final

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
    Response,
    VoteRequest,
    VoteResponse,
)
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    VoterRequest,
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
    on_begin_response,
    on_elapsed_leader,
    on_elapsed_resigned,
    on_end_failed,
    on_end_response,
)
from quorum.raft.leader_fetch import handle_fetch, on_request_dropped
from quorum.raft.read_barrier import handle_read_barrier, on_begin_answered
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
from quorum.raft.states import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from quorum.raft.transfer import after_input, handle_transfer, on_transfer_dropped
from quorum.raft.voter_changes import (
    handle_add_voter,
    handle_remove_voter,
    handle_update_voter,
    on_api_versions,
    on_api_versions_failed,
    settle_changes,
)

_WITHOUT_DRAW: Final = (Flushed, Propose, Persisted, RequestDropped, AskReadBarrier)
_OF_SNAPSHOTS: Final = (ChunkStored, SnapshotChecked, SnapshotTaken, LogTrimmed)


def dispatch(core: Core, received: Input) -> None:
    """Call the handler of an input, then settle voter changes and a transfer of leadership.

    The branches test frequent inputs first.
    """
    core.about = None
    if not core.is_started and type(received) is not Start:
        raise InvariantViolation(f"{type(received).__name__} came before Start")
    if isinstance(received, _WITHOUT_DRAW):
        core.draws = NO_DRAWS
        _dispatch_without_draw(core, received)
    elif isinstance(received, _OF_SNAPSHOTS):
        core.draws = NO_DRAWS
        _dispatch_of_snapshots(core, received)
    else:
        core.draws = Draws(received.draw)
        _dispatch_with_draw(core, received)
    state = core.state
    if isinstance(state, Leader) and (state.change is not None or not core.members.is_voter):
        settle_changes(core, state)
    if core.transfer is not None:
        after_input(core, core.transfer)


def _dispatch_with_draw(
    core: Core, received: RequestReceived | ResponseReceived | RequestFailed | Elapsed | Shutdown | Start
) -> None:
    if isinstance(received, RequestReceived):
        _on_request(core, received)
    elif isinstance(received, ResponseReceived):
        _on_response(core, received)
    elif isinstance(received, RequestFailed):
        _on_failure(core, received)
    elif isinstance(received, Elapsed):
        _on_elapsed(core)
    elif isinstance(received, Shutdown):
        handle_shutdown(core)
    else:
        start(core)


def _dispatch_without_draw(
    core: Core, received: Flushed | Propose | Persisted | RequestDropped | AskReadBarrier
) -> None:
    if isinstance(received, Flushed):
        _on_flushed(core, received)
    elif isinstance(received, Propose):
        handle_propose(core, received)
    elif isinstance(received, Persisted):
        core.outbox.complete_persist(received.token)
        if not core.outbox.is_gated:
            on_own_vote_durable(core)
    elif isinstance(received, AskReadBarrier):
        handle_read_barrier(core, received)
    else:
        on_request_dropped(core, received.request_id)
        on_transfer_dropped(core, received.request_id)


def _dispatch_of_snapshots(core: Core, received: ChunkStored | SnapshotChecked | SnapshotTaken | LogTrimmed) -> None:
    if isinstance(received, ChunkStored):
        on_chunk_stored(core, received.serial)
    elif isinstance(received, SnapshotChecked):
        on_snapshot_checked(core, received.serial, received.fault, received.voters)
    elif isinstance(received, SnapshotTaken):
        on_snapshot_taken(core, received.snapshot)
    else:
        on_log_trimmed(core, received.start)


def _on_flushed(core: Core, received: Flushed) -> None:
    grew = core.log.complete(received.token, received.epoch, received.end_offset)
    state = core.state
    if type(state) is not Leader:
        maybe_send_fetch(core)
    elif grew:
        on_own_flush(core, state)


def _on_request(core: Core, received: RequestReceived) -> None:
    request = received.request
    core.about = type(request)
    if isinstance(request, FetchRequest):
        handle_fetch(core, received.request_id, request)
    elif isinstance(request, VoteRequest):
        handle_vote(core, received.request_id, request)
    elif isinstance(request, BeginQuorumEpochRequest):
        handle_begin(core, received.request_id, request)
    elif isinstance(request, FetchSnapshotRequest):
        handle_fetch_snapshot(core, received.request_id, request)
    elif isinstance(request, TransferLeadershipRequest):
        handle_transfer(core, received.request_id, request)
    elif isinstance(request, EndQuorumEpochRequest):
        handle_end(core, received.request_id, request)
    else:
        handle_about_voters(core, received.request_id, request)


_ANSWERS: dict[type, tuple[type, ...]] = {
    Unattached: (FetchResponse,),
    Prospective: (VoteResponse,),
    Candidate: (VoteResponse,),
    Follower: (FetchResponse, FetchSnapshotResponse),
    Leader: (BeginQuorumEpochResponse,),
    Resigned: (EndQuorumEpochResponse,),
}
"""The responses that each state expects. A transition drops the requests of the state before."""


def _on_response(core: Core, received: ResponseReceived) -> None:
    destination = core.outbox.in_flight.pop(received.correlation, None)
    if destination is None or destination != received.destination_id:
        return
    response = received.response
    core.about = type(response)
    if is_about_voters(core, received.correlation):
        on_about_voters(core, destination, response)
    elif not isinstance(response, _ANSWERS[type(core.state)]):
        core.refuse(destination, f"it answers with {type(response).__name__}, which a {core.role} did not ask for")
        _on_failure_of(core, destination, received.correlation, disconnected=False)
    elif isinstance(response, FetchResponse):
        on_fetch_response(core, destination, received.correlation, response)
    elif isinstance(response, FetchSnapshotResponse):
        on_fetch_snapshot_response(core, destination, received.correlation, response)
    elif isinstance(response, VoteResponse):
        on_vote_response(core, destination, response)
    elif isinstance(response, BeginQuorumEpochResponse):
        on_begin_response(core, destination, received.correlation, response)
    elif isinstance(response, EndQuorumEpochResponse):
        on_end_response(core, destination, response)


def _on_failure(core: Core, received: RequestFailed) -> None:
    destination = core.outbox.in_flight.pop(received.correlation, None)
    if destination is not None and destination == received.destination_id:
        _on_failure_of(core, destination, received.correlation, disconnected=received.disconnected)


def _on_failure_of(core: Core, destination: int, correlation: int, *, disconnected: bool) -> None:
    """Handle a failed request. A leader repeats BeginQuorumEpoch at its own interval."""
    state = core.state
    if is_about_voters(core, correlation):
        on_about_voters(core, destination, None)
    elif isinstance(state, Leader):
        on_begin_answered(core, state, correlation, acknowledged=False)
    elif isinstance(state, Prospective | Candidate):
        on_vote_failed(core, destination)
    elif isinstance(state, Resigned):
        on_end_failed(core, destination)
    elif isinstance(state, Follower | Unattached):
        on_fetch_failed(core, destination, correlation, disconnected=disconnected)


def _on_elapsed(core: Core) -> None:
    state = core.state
    if isinstance(state, Leader):
        on_elapsed_leader(core, state)
    elif isinstance(state, Follower):
        on_elapsed_follower(core, state)
    elif isinstance(state, Prospective):
        on_elapsed_prospective(core, state)
    elif isinstance(state, Candidate):
        on_elapsed_candidate(core, state)
    elif isinstance(state, Resigned):
        on_elapsed_resigned(core, state)
    elif core.can_campaign:
        on_elapsed_unattached(core, state)
    else:
        maybe_send_fetch(core)


_MAY_APPEND: Final = (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    ApiVersionsResponse,
)


def may_append(received: Input) -> bool:
    """Return True if the core may append a control batch on this input, so that the caller's log end may move."""
    if type(received) is RequestReceived:
        return isinstance(received.request, _MAY_APPEND)
    return type(received) is ResponseReceived and isinstance(received.response, _MAY_APPEND)


def handle_about_voters(core: Core, request_id: int, request: VoterRequest) -> None:
    """Handle a request about the voter set."""
    if isinstance(request, AddRaftVoterRequest):
        handle_add_voter(core, request_id, request)
    elif isinstance(request, RemoveRaftVoterRequest):
        handle_remove_voter(core, request_id, request)
    elif isinstance(request, UpdateRaftVoterRequest):
        handle_update_voter(core, request_id, request)
    elif isinstance(request, UpgradeKRaftVersionRequest):
        handle_upgrade(core, request_id, request)
    else:
        handle_api_versions(core, request_id)


def is_about_voters(core: Core, correlation: int) -> bool:
    """Return True if this replica's request `correlation` was about the voter set."""
    state = core.state
    if isinstance(state, Follower):
        return state.voter_ask == correlation
    return isinstance(state, Leader) and state.change is not None and state.change.correlation == correlation


def on_about_voters(core: Core, node_id: int, response: Response | None) -> None:
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
