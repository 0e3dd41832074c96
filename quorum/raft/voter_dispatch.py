"""Which handler a message about the voters goes to (KIP-853); `dispatch` leaves these to this module.

Decides: nothing else. Must not know: what a handler does.
"""

from __future__ import annotations

from typing import Final

from quorum.raft.core import Core
from quorum.raft.inputs import Input, RequestReceived, ResponseReceived
from quorum.raft.kraft_version import handle_upgrade
from quorum.raft.messages import Response
from quorum.raft.states import Follower, Leader
from quorum.raft.voter_asks import handle_api_versions, on_ask_answered
from quorum.raft.voter_changes import (
    handle_add_voter,
    handle_remove_voter,
    handle_update_voter,
    on_api_versions,
    on_api_versions_failed,
)
from quorum.raft.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    VoterRequest,
)

_MAY_APPEND: Final = (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    ApiVersionsResponse,
)


def may_append(received: Input) -> bool:
    """Whether a leader may append a control batch of its own on this input: whoever keeps the log's end must know."""
    if type(received) is RequestReceived:
        return isinstance(received.request, _MAY_APPEND)
    return type(received) is ResponseReceived and isinstance(received.response, _MAY_APPEND)


def handle_about_voters(core: Core, request_id: int, request: VoterRequest) -> None:
    """A request about who votes."""
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
    """Whether our request `correlation` was about who votes."""
    state = core.state
    if isinstance(state, Follower):
        return state.voter_ask == correlation
    return isinstance(state, Leader) and state.change is not None and state.change.correlation == correlation


def on_about_voters(core: Core, node_id: int, response: Response | None) -> None:
    """Its answer, or None where none came."""
    state = core.state
    if isinstance(state, Follower):
        if response is None:
            state.voter_ask = None
        else:
            on_ask_answered(core, state, node_id, response)
    elif isinstance(state, Leader):
        # Who is no voter yet is not believed in matters of epochs.
        if isinstance(response, ApiVersionsResponse):
            on_api_versions(core, state, response)
        else:
            on_api_versions_failed(core, state)
