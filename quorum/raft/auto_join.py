"""A follower's requests about its own vote (KIP-853), and the response to ApiVersions.

Decides: when a voter sends its endpoints (its entry in the log differs; at kraft.version 0, to each new leader). Also
when an observer with `auto_join` asks to be added, after the removal of its former directory. Must not know: how the
leader handles the requests. One request is in flight at a time; two are at least a fetch timeout apart.

A removed voter does not ask again, even if its log no longer shows the removal (`membership`): an operator removed it
on purpose. Kafka 4.3 adds it again, unless the process was stopped first.
"""

from __future__ import annotations

from metadata_log.offsets import NO_EPOCH
from metadata_log.voters import Voter
from quorum.api.error_codes import Error
from quorum.api.raft_messages import Response
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from quorum.raft.core import Core
from quorum.raft.leader_discovery import EpochUpdate, apply_leader_hint, known_leader
from quorum.raft.ready import Destination
from quorum.raft.states import Follower

_ANSWERS = (UpdateRaftVoterResponse, AddRaftVoterResponse, RemoveRaftVoterResponse)
_TRY_LATER = (Error.NONE, Error.REQUEST_TIMED_OUT, Error.NOT_LEADER_OR_FOLLOWER)


def ask_due_ms(core: Core, state: Follower) -> int | None:
    """Return when the next request is due (monotonic ms), or None if no request is wanted or one is in flight."""
    is_wanted = state.voter_ask is None and not core.is_shutting_down and _wants(core, state)
    return state.voter_ask_due_ms if is_wanted else None


def _wants(core: Core, state: Follower) -> bool:
    members = core.members
    if not members.is_voter:
        return core.auto_join and core.can_vote and members.kraft_version > 0 and not members.was_removed
    if members.kraft_version > 0:
        return members.needs_update
    return not state.has_updated_leader and bool(core.endpoints)


def maybe_ask(core: Core, state: Follower) -> None:
    """Send the next request if it is due and the leader has served a Fetch."""
    due_ms, leader_id = ask_due_ms(core, state), core.leader_id
    if due_ms is None or due_ms > core.now_ms or leader_id is None or not state.has_fetched:
        if due_ms is not None and due_ms <= core.now_ms:
            _put_off(core, state)
        return
    _put_off(core, state)
    destination = Destination(node_id=leader_id, endpoints=core.leader_endpoints)
    state.voter_ask = core.outbox.send(destination, _request(core), core.config.request_timeout_ms)


def _put_off(core: Core, state: Follower) -> None:
    state.voter_ask_due_ms = core.now_ms + core.config.fetch_timeout_ms


def _request(core: Core) -> UpdateRaftVoterRequest | RemoveRaftVoterRequest | AddRaftVoterRequest:
    members = core.members
    if members.is_voter:
        return UpdateRaftVoterRequest(current_leader_epoch=core.epoch, voter=members.own)
    former: Voter | None = members.latest.get(core.me.node_id)
    if former is not None:
        return RemoveRaftVoterRequest(voter=former.key, only_if_unreachable=True)
    return AddRaftVoterRequest(voter=core.me, endpoints=core.endpoints, ack_when_committed=False)


def on_ask_answered(core: Core, state: Follower, node_id: int, response: Response) -> None:
    """Handle the leader's response. An accepted change arrives as a record of the log."""
    state.voter_ask = None
    if not isinstance(response, _ANSWERS):
        core.refuse(node_id, f"it answers with {type(response).__name__}, which was not asked for")
        return
    # In Kafka's protocol, responses to AddRaftVoter and RemoveRaftVoter have no leader and no epoch.
    tells_epoch = response.leader_epoch != NO_EPOCH
    if (
        tells_epoch and apply_leader_hint(core, node_id, response, response.error) is not EpochUpdate.CURRENT
    ) or core.state is not state:
        return
    if isinstance(response, UpdateRaftVoterResponse) and response.error in (Error.NONE, Error.UNSUPPORTED_VERSION):
        # A leader that does not support the request never will in this epoch: like Kafka, do not send it again.
        state.has_updated_leader = True
    elif response.error not in _TRY_LATER:
        why = f": {response.error_message}" if response.error_message else ""
        core.refuse(node_id, f"asked about our vote, it answers {response.error.name}{why}")


def handle_api_versions(core: Core, request_id: int, _: ApiVersionsRequest) -> None:
    """Respond with this replica's key and its supported kraft.version range."""
    leader_id, endpoints = known_leader(core)
    own = core.members.own
    core.outbox.respond(
        request_id,
        ApiVersionsResponse(
            leader_id=leader_id,
            leader_epoch=core.epoch,
            leader_endpoints=endpoints,
            replica=core.me,
            can_vote=core.can_vote,
            min_kraft_version=own.min_kraft_version,
            max_kraft_version=own.max_kraft_version,
        ),
    )
