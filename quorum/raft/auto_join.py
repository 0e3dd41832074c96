"""What a follower asks of its leader about its own vote (KIP-853), and what any replica says of itself.

Decides: when a voter tells where it listens (its own entry in the log differs; at kraft.version 0 each new leader is
told), and when an observer with `auto_join` asks to be added, its former directory removed first. Must not know: what
the leader does with it. One such request is under way at a time, at least a fetch timeout apart.

An observer whose vote was taken from it does not ask again, also when its log shows that no more (`membership`):
whoever removed it meant it. Kafka 4.3 adds it anew, unless it was stopped first.
"""

from __future__ import annotations

from metadata_log.offsets import NO_EPOCH
from metadata_log.voters import Voter
from quorum.api.error_codes import Error
from quorum.api.raft_messages import Response
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
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
    """When the next request about the own vote leaves; None when none is wanted, or one is under way."""
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
    """Ask if it is time."""
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
        return RemoveRaftVoterRequest(voter=former.key, only_if_silent=True)
    return AddRaftVoterRequest(voter=core.me, endpoints=core.endpoints, ack_when_committed=False)


def on_ask_answered(core: Core, state: Follower, node_id: int, response: Response) -> None:
    """The leader has done it, or says why not; what it did comes with the log."""
    state.voter_ask = None
    if not isinstance(response, _ANSWERS):
        core.refuse(node_id, f"it answers with {type(response).__name__}, which was not asked for")
        return
    # By Kafka's protocol, AddRaftVoter and RemoveRaftVoter are answered without leader and epoch.
    tells_epoch = response.leader_epoch != NO_EPOCH
    if (
        tells_epoch and apply_leader_hint(core, node_id, response) is not EpochUpdate.CURRENT
    ) or core.state is not state:
        return
    if isinstance(response, UpdateRaftVoterResponse) and response.error in (Error.NONE, Error.UNSUPPORTED_VERSION):
        # A leader that does not know the request will not learn it in this epoch: it is not asked again, as by Kafka's.
        state.has_updated_leader = True
    elif response.error not in _TRY_LATER:
        why = f": {response.error_message}" if response.error_message else ""
        core.refuse(node_id, f"asked about our vote, it answers {response.error.name}{why}")


def handle_api_versions(core: Core, request_id: int) -> None:
    """Say who this is and what it supports."""
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
