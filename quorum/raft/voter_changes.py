"""The leader's side of KIP-853: adding, removing and updating voters, one uncommitted change at a time.

Decides: whether a change is allowed now, the next voter set, and when a removed leader resigns. Must not know: how the
set is replicated or counted (`replication`).

The checks are in the order of Kafka 4.3's AddVoterHandler, RemoveVoterHandler and UpdateVoterHandler. Two are stricter.
A new voter must be caught up and fetching now, not within the last hour. At its own endpoints it must report that
replica key and the controller role.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey, id_text
from metadata_log.offsets import Offset
from metadata_log.voters import LARGEST_PORT, Endpoint, Voter, VoterSet, majority_of
from quorum.api.error_codes import Error
from quorum.api.voter_messages import (
    NOTHING_APPENDED,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from quorum.raft.control_batches import voters_batch
from quorum.raft.core import Core
from quorum.raft.ready import Destination
from quorum.raft.replication import append, check_quorum_timeout_ms, follow_membership, take_voters
from quorum.raft.roles import transition_to_resigned
from quorum.raft.states import Leader, PendingChange
from quorum.raft.voter_responses import Verdict, answer, end_change, expire_change

_LONGEST_NAME: Final = 255
"""The longest host (RFC 1035) or listener name in bytes; a string of a record has at most 32,767."""
_LARGEST_VERSION: Final = 32_767
_NOT_THE_LEADER: Verdict = (Error.NOT_LEADER_OR_FOLLOWER, "this replica is not the leader")


def validate_change(core: Core, leader: Leader) -> Verdict | None:
    """Return why no change is allowed now, or None: another is in progress, or no record of this epoch is committed."""
    expire_change(core, leader)
    if leader.change is not None:
        return Error.REQUEST_TIMED_OUT, "another change of the voters is under way: ask again"
    if not leader.has_committed:
        return Error.REQUEST_TIMED_OUT, f"no record of epoch {core.epoch} is committed yet: ask again"
    return None


def validate_dynamic(core: Core) -> Verdict | None:
    """Return why the voters cannot change in the log, or None: kraft.version 0, or the latest set is uncommitted."""
    members, high_watermark = core.members, core.log.high_watermark
    if members.kraft_version < 1:
        return Error.UNSUPPORTED_VERSION, (
            "at kraft.version 0 the voters are in the configuration, controller.quorum.voters: upgrade it to 1 first"
        )
    if members.history.latest_offset >= high_watermark:
        return Error.REQUEST_TIMED_OUT, (
            f"the latest voters, at offset {members.history.latest_offset}, are not committed yet: ask again"
        )
    return None


# --- add


def handle_add_voter(core: Core, request_id: int, request: AddRaftVoterRequest) -> None:
    """Validate the request, then send the new voter ApiVersions; its response decides (`on_api_versions`)."""
    state = core.state
    if type(state) is not Leader:
        answer(core, request_id, AddRaftVoterResponse, *_NOT_THE_LEADER)
        return
    refusal = _validate_add(core, state, request)
    if refusal is not None:
        answer(core, request_id, AddRaftVoterResponse, *refusal)
        return
    timeout_ms = core.config.request_timeout_ms
    destination = Destination(node_id=request.voter.node_id, endpoints=request.endpoints)
    state.change = PendingChange(
        request_id=request_id,
        answer=AddRaftVoterResponse,
        deadline_ms=core.now_ms + timeout_ms,
        joining=Voter(key=request.voter, endpoints=request.endpoints),
        correlation=core.outbox.send(destination, ApiVersionsRequest(), timeout_ms),
        ack_when_committed=request.ack_when_committed,
        validate_only=request.validate_only,
    )


def _validate_add(core: Core, leader: Leader, request: AddRaftVoterRequest) -> Verdict | None:
    malformed = _validate_key(request.voter) or _validate_endpoints(core, request.endpoints)
    if malformed is not None:
        return malformed
    refusal = validate_change(core, leader) or validate_dynamic(core)
    if refusal is not None:
        return refusal
    known = core.members.latest.get(request.voter.node_id)
    if known is not None:
        return Error.DUPLICATE_VOTER, (
            f"node {known.key.node_id} is a voter already, with directory {id_text(known.key.directory_id)}"
        )
    return None


def _validate_key(key: ReplicaKey) -> Verdict | None:
    if key.node_id < 0 or key.directory_id == ZERO_DIRECTORY_ID:
        return Error.INVALID_REQUEST, "a voter is named by its node id and its directory id"
    return None


def _validate_endpoints(core: Core, endpoints: tuple[Endpoint, ...]) -> Verdict | None:
    own = {endpoint.name for endpoint in core.endpoints}
    names = [endpoint.name for endpoint in endpoints]
    if len(set(names)) != len(names):
        return Error.INVALID_REQUEST, f"a listener is named twice: {', '.join(names)}"
    odd = [at for at in endpoints if max(len(at.name), len(at.host)) > _LONGEST_NAME or not 0 < at.port <= LARGEST_PORT]
    if odd:
        at = odd[0]
        return Error.INVALID_REQUEST, f"{at.name[:20]}://{at.host[:20]}...:{at.port} is no listener's address"
    if own.isdisjoint(names):
        return Error.INVALID_REQUEST, (
            f"none of its listeners ({', '.join(names) or 'none'}) is one that the leader has: {', '.join(sorted(own))}"
        )
    return None


def on_api_versions(core: Core, leader: Leader, response: ApiVersionsResponse) -> None:
    """Add the new voter if its response has the requested key, supports kraft.version, and it is caught up."""
    change = leader.change
    if change is None or change.joining is None:
        return
    change.correlation = None
    voter = Voter(
        key=change.joining.key,
        endpoints=change.joining.endpoints,
        min_kraft_version=response.min_kraft_version,
        max_kraft_version=response.max_kraft_version,
    )
    refusal = _validate_joining(core, leader, voter, response)
    if refusal is not None:
        end_change(core, leader, *refusal)
    elif change.validate_only:
        end_change(core, leader)
    else:
        change.joining = None
        _append_for(core, leader, core.members.latest.with_voter(voter))


def _validate_joining(core: Core, leader: Leader, voter: Voter, response: ApiVersionsResponse) -> Verdict | None:
    key, version = voter.key, core.members.kraft_version
    if response.error is not Error.NONE:
        return Error.REQUEST_TIMED_OUT, f"node {key.node_id} answers {response.error.name} at its endpoints"
    if response.replica not in (None, key):
        return Error.INVALID_REQUEST, f"at these endpoints is {response.replica}, not {key}"
    if not response.can_vote:
        return Error.INVALID_REQUEST, f"node {key.node_id} is no controller: only a controller can vote"
    if not voter.supports(version):
        return Error.INVALID_REQUEST, (
            f"node {key.node_id} supports kraft.version {voter.min_kraft_version} to {voter.max_kraft_version}, "
            f"which is {version} here"
        )
    if not is_caught_up(core, leader, key):
        return Error.REQUEST_TIMED_OUT, f"{key} does not fetch, or is not at the end of the log yet: ask again"
    return None


def is_caught_up(core: Core, leader: Leader, key: ReplicaKey) -> bool:
    """Return True if this observer reached the log's end within the check-quorum timeout."""
    progress = leader.observers.get(key)
    if progress is None or progress.caught_up_at_ms is None:
        return False
    return progress.caught_up_at_ms > core.now_ms - check_quorum_timeout_ms(core)


def on_api_versions_failed(core: Core, leader: Leader) -> None:
    """End the change because the new voter does not respond at its endpoints."""
    if leader.change is not None and leader.change.joining is not None:
        key = leader.change.joining.key
        end_change(core, leader, Error.REQUEST_TIMED_OUT, f"{key} does not answer at its endpoints")


# --- remove


def handle_remove_voter(core: Core, request_id: int, request: RemoveRaftVoterRequest) -> None:
    """Validate, and append the set without the voter. A leader that removes itself leads until that is committed."""
    state = core.state
    if type(state) is not Leader:
        answer(core, request_id, RemoveRaftVoterResponse, *_NOT_THE_LEADER)
        return
    refusal = (
        _validate_key(request.voter)
        or validate_change(core, state)
        or validate_dynamic(core)
        or _validate_removal(core.members.latest, request.voter)
        or validate_guards(core, state, request)
    )
    if refusal is not None or request.validate_only:
        answer(core, request_id, RemoveRaftVoterResponse, *(refusal or (Error.NONE, None)))
        return
    state.change = PendingChange(
        request_id=request_id,
        answer=RemoveRaftVoterResponse,
        deadline_ms=core.now_ms + core.config.request_timeout_ms,
    )
    _append_for(core, state, core.members.latest.without(request.voter.node_id))


def _validate_removal(voters: VoterSet, key: ReplicaKey) -> Verdict | None:
    known = voters.get(key.node_id)
    if known is None:
        return Error.VOTER_NOT_FOUND, f"node {key.node_id} is no voter"
    if known.key != key:
        return Error.VOTER_NOT_FOUND, (
            f"node {key.node_id} votes with directory {id_text(known.key.directory_id)}, "
            f"not {id_text(key.directory_id)}"
        )
    if len(voters) == 1:
        return Error.VOTER_NOT_FOUND, f"node {key.node_id} is the only voter: a quorum has at least one"
    return None


# --- update


def handle_update_voter(core: Core, request_id: int, request: UpdateRaftVoterRequest) -> None:
    """Store a voter's reported endpoints in the log, or at kraft.version 0 in this leader's memory."""
    state = core.state
    refusal = _validate_sender(core, request)
    if refusal is None and type(state) is Leader:
        refusal = _validate_update(core, state, request.voter)
        if refusal is None:
            _update(core, state, request.voter)
    answer(core, request_id, UpdateRaftVoterResponse, *(refusal or (Error.NONE, None)))


def _validate_sender(core: Core, request: UpdateRaftVoterRequest) -> Verdict | None:
    if request.current_leader_epoch < core.epoch:
        return Error.FENCED_LEADER_EPOCH, f"the epoch is {core.epoch}"
    if request.current_leader_epoch > core.epoch:
        return Error.UNKNOWN_LEADER_EPOCH, f"the epoch is {core.epoch}"
    return None if type(core.state) is Leader else _NOT_THE_LEADER


def _validate_update(core: Core, leader: Leader, voter: Voter) -> Verdict | None:
    version = core.members.kraft_version
    refusal = _validate_key(voter.key) or _validate_endpoints(core, voter.endpoints) or validate_change(core, leader)
    if refusal is None and version > 0:
        refusal = validate_dynamic(core)
    if refusal is not None:
        return refusal
    is_odd = voter.min_kraft_version < 0 or voter.max_kraft_version > _LARGEST_VERSION
    if voter.key.node_id == core.me.node_id or is_odd or not voter.supports(version):
        return Error.INVALID_REQUEST, f"it names the leader itself, or does not support kraft.version {version}"
    known = core.members.latest.get(voter.key.node_id)
    if known is None or known.key.directory_id not in (ZERO_DIRECTORY_ID, voter.key.directory_id):
        return Error.VOTER_NOT_FOUND, f"{voter.key} is no voter"
    return None


def _update(core: Core, leader: Leader, voter: Voter) -> None:
    if leader.reported_voters is not None:
        leader.reported_voters = leader.reported_voters.with_voter(voter)
        return
    known = core.members.latest.get(voter.key.node_id)
    if known is not None and not known.says_the_same(voter):
        append_voters(core, leader, core.members.latest.with_voter(voter))


# --- what is common


def _append_for(core: Core, leader: Leader, voters: VoterSet) -> None:
    """Append the set for the change in progress.

    With `ack_when_committed` False the response leaves at once: the client may be the replica whose Fetch commits it.
    """
    offset = append_voters(core, leader, voters)
    change = leader.change
    if change is None:
        return
    change.offset = offset
    if not change.ack_when_committed and change.request_id is not None:
        answer(core, change.request_id, change.answer, offset=offset)
        change.request_id = None


def append_voters(core: Core, leader: Leader, voters: VoterSet, *, kraft_version: int | None = None) -> Offset:
    """Append a VotersRecord, put it in force and return its offset. `kraft_version`: a new level, written before it."""
    batch = voters_batch(
        base_offset=core.log.end_offset,
        epoch=core.epoch,
        timestamp_ms=core.wall_ms,
        voters=voters,
        kraft_version=kraft_version,
    )
    append(core, leader, batch.end_offset, batch.data)
    take_voters(core, batch.voters_offset, voters)
    follow_membership(core, leader)
    return batch.voters_offset


def settle_changes(core: Core, leader: Leader) -> None:
    """Answer a change that is committed by now, and resign if the removal of this leader is committed."""
    change, committed = leader.change, core.log.high_watermark
    if change is not None and NOTHING_APPENDED < change.offset < committed:
        end_change(core, leader)
    if not core.members.is_voter and core.members.history.latest_offset < committed:
        transition_to_resigned(core, leader)


def validate_guards(core: Core, leader: Leader, request: RemoveRaftVoterRequest) -> Verdict | None:
    """Return why the guards that the request asks for forbid the removal, or None."""
    refusal = _validate_unreachable(core, leader, request.voter) if request.only_if_unreachable else None
    if refusal is None and request.keeps_majority:
        refusal = _validate_majority(core, leader, request.voter.node_id)
    return refusal


def _validate_unreachable(core: Core, leader: Leader, key: ReplicaKey) -> Verdict | None:
    if _lives(core, leader, key.node_id):
        return Error.INVALID_REQUEST, (
            f"node {key.node_id} votes with directory {id_text(key.directory_id)}, which lives: two processes have "
            "that node.id. Stop the wrong one, or give it another node.id. A directory whose process has stopped "
            f"is removed after {check_quorum_timeout_ms(core)} ms of silence"
        )
    return _not_known_yet(core, leader)


def _validate_majority(core: Core, leader: Leader, leaving: NodeId) -> Verdict | None:
    left = [node_id for node_id in core.members.latest.node_ids if node_id != leaving]
    live = [node_id for node_id in left if _lives(core, leader, node_id)]
    if len(live) >= majority_of(len(left)):
        return None
    return _not_known_yet(core, leader) or (
        Error.INVALID_REQUEST,
        f"of the {len(left)} voters left, {majority_of(len(left))} decide, and only {len(live)} "
        f"({', '.join(map(str, live)) or 'none'}) fetched within {check_quorum_timeout_ms(core)} ms: nothing could be "
        "committed any more",
    )


def _lives(core: Core, leader: Leader, node_id: NodeId) -> bool:
    since = core.now_ms - check_quorum_timeout_ms(core)
    return node_id == core.me.node_id or leader.voters[node_id].has_fetched_since(since)


def _not_known_yet(core: Core, leader: Leader) -> Verdict | None:
    """Return a retryable error if this leader is so new that live voters may not have fetched yet, or None."""
    if leader.began_at_ms <= core.now_ms - check_quorum_timeout_ms(core):
        return None
    return Error.REQUEST_TIMED_OUT, "this leader was elected too recently to know which voters are gone: ask again"
