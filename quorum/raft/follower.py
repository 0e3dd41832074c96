"""Followers and observers: Fetch responses and failures, BeginQuorumEpoch, EndQuorumEpoch, the fetch timeout.

Decides: what of a response is appended, truncated or rejected, and when the leader is suspected. Must not know: how an
election proceeds.
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.voters import InvalidVoterError
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchResponse,
)
from quorum.raft.auto_join import maybe_ask
from quorum.raft.control_batches import Fetched, check_fetched
from quorum.raft.core import Core
from quorum.raft.elections import is_addressed
from quorum.raft.fetching import fetch_loop_of, maybe_send_fetch, retry_failed_fetch, retry_fetch
from quorum.raft.inputs import RequestFailed
from quorum.raft.leader_discovery import (
    EpochUpdate,
    adopt_leader,
    known_leader,
    match_response,
    validate_leader_request,
)
from quorum.raft.ready import HighWatermarkAdvanced, LogTruncated, VotersChanged
from quorum.raft.replication import take_voters
from quorum.raft.roles import transition_to_follower, transition_to_prospective
from quorum.raft.snapshots import note_snapshot
from quorum.raft.states import Follower, Unattached
from quorum.raft.transitions import Role


def on_fetch_response(core: Core, node_id: int, correlation: int, response: FetchResponse) -> None:
    """Apply a Fetch response of the leader; after any other, look for the leader elsewhere."""
    found = match_response(core, node_id, correlation, response)
    if found is None:
        return
    loop, news = found
    state = core.state
    if news is EpochUpdate.STALE or type(state) is not Follower or node_id != core.leader_id:
        if type(state) is Follower and news is EpochUpdate.CURRENT and response.leader_id == core.leader_id:
            # The sender knows no newer leader; it may be the leader itself, reached as a bootstrap server.
            state.is_leader_out_of_reach = False
        retry_failed_fetch(core, loop)
    elif response.error is Error.NONE:
        _take(core, state, response)
    elif response.error is Error.NOT_LEADER_OR_FOLLOWER:
        _on_leader_resigned(core, state)
    else:
        core.refuse(node_id, f"it answers Fetch with {response.error.name} in epoch {core.epoch}")
        retry_failed_fetch(core, loop)


def _take(core: Core, state: Follower, response: FetchResponse) -> None:
    """Truncate, fetch a snapshot, or append. An invalid response changes nothing."""
    wait_ms = 0
    if response.diverging is not None:
        is_sound = _truncate(core, response.diverging)
    elif response.snapshot_id is not None:
        is_sound = note_snapshot(core, response.snapshot_id)
        receiving = core.current_receiving
        wait_ms = core.config.fetch_max_wait_ms if receiving is not None and receiving.is_busy else 0
    else:
        is_sound = (not response.records or _append(core, response.records)) and _note_committed(core, response)
    if not is_sound:
        retry_failed_fetch(core, state.fetch)
        return
    state.note_served(core.now_ms + core.config.fetch_timeout_ms)
    core.trust_leader()
    retry_fetch(core, state.fetch, wait_ms)


def _note_committed(core: Core, response: FetchResponse) -> bool:
    """Advance the high watermark; return True.

    Only after a valid position: otherwise the records below the leader's high watermark may differ from this log's.
    """
    if core.log.advance_high_watermark(min(response.high_watermark, core.log.end_offset)):
        core.outbox.add(HighWatermarkAdvanced(offset=core.log.high_watermark))
    return True


def _append(core: Core, records: bytes) -> bool:
    log = core.log
    try:
        fetched = check_fetched(records, base_offset=log.end_offset, last_epoch=log.last_epoch, leader_epoch=core.epoch)
    except (MetadataLogError, InvalidVoterError) as error:
        core.refuse(core.leader_id or 0, f"its records cannot be appended: {error}")
        return False
    _write(core, fetched)
    return True


def _write(core: Core, fetched: Fetched) -> None:
    log = core.log
    token = core.outbox.append(log.end_offset, fetched.end_offset, fetched.starts[-1].epoch, fetched.data)
    log.append(token, fetched.end_offset, fetched.starts)
    for offset, voters in fetched.voters:
        take_voters(core, offset, voters)


def _truncate(core: Core, leader_end: OffsetAndEpoch) -> bool:
    """Truncate the log to the leader's (KIP-595); return False if its response is invalid.

    Committed records are never removed: a leader that asks for it has lost its log.
    """
    log = core.log
    target = log.truncation_for(leader_end)
    if leader_end.offset < 0 or leader_end.epoch < 0 or target >= log.end_offset:
        core.refuse(
            core.leader_id or 0, f"it says that our log, which ends at {log.end}, leaves its own at {leader_end}"
        )
        return False
    if target < log.high_watermark:
        core.refuse(
            core.leader_id or 0, f"it would have us truncate to {target}, below the committed {log.high_watermark}"
        )
        return False
    token = core.outbox.truncate(target, log.epoch_before(target))
    log.truncate(token, target)
    core.outbox.add(LogTruncated(end_offset=target))
    if core.members.take(core.members.history.truncate_to(target)):
        core.outbox.add(VotersChanged(voters=core.members.latest))
    return True


def on_fetch_failed(core: Core, state: Unattached | Follower, failed: RequestFailed) -> None:
    """Handle a Fetch without a response. Only a refused or reset connection means a dead leader (DESIGN 1.2)."""
    loop = fetch_loop_of(core)
    if loop is None or loop.correlation != failed.correlation:
        return
    loop.correlation = None
    if type(state) is Follower and failed.destination_id == core.leader_id:
        if failed.disconnected and core.can_campaign and not core.is_shutting_down and not state.leaves_it_to_others:
            transition_to_prospective(core)
            return
        state.is_leader_out_of_reach = not core.can_campaign
        if failed.disconnected:
            _suspect(core)
    retry_failed_fetch(core, loop)


def _suspect(core: Core) -> None:
    """Grant pre-votes from now on.

    So does a controller that is no voter: a voter set that it has not received yet may need its vote.
    """
    if core.can_vote:
        core.suspicion.is_active = True


def _on_leader_resigned(core: Core, state: Follower) -> None:
    """Handle NOT_LEADER_OR_FOLLOWER from the leader itself: it has resigned.

    Its EndQuorumEpoch names the successors and uses another connection, so it may come later: wait for it. If this
    replica suspected the leader before, campaign at once.
    """
    if not core.can_campaign:
        state.is_leader_out_of_reach = True
        _suspect(core)
        retry_failed_fetch(core, state.fetch)
    elif core.suspicion.is_active and not state.leaves_it_to_others and not core.is_shutting_down:
        transition_to_prospective(core)
    else:
        if not core.suspicion.is_active:
            core.suspicion.is_active = True
            state.leaves_it_to_others = state.awaits_end = True
            state.fetch_deadline_ms = core.now_ms + core.response_timeout_ms()
        retry_fetch(core, state.fetch, core.election_backoff_ms())


def handle_begin(core: Core, request_id: int, request: BeginQuorumEpochRequest) -> None:
    """Respond to BeginQuorumEpoch. It proves to a prospective replica that the suspected leader lives."""
    error = validate_leader_request(core, request.leader_id, request.leader_epoch)
    if error is Error.NONE and not is_addressed(core, request.voter.node_id, request.voter.directory_id):
        error = Error.INVALID_VOTER_KEY
    if error is Error.NONE:
        core.warn_of_leap(request.leader_id, request.leader_epoch)
    if error is Error.NONE and not adopt_leader(
        core, request.leader_id, request.leader_epoch, request.leader_endpoints
    ):
        _on_living_leader(core)
    leader_id, endpoints = known_leader(core)
    core.outbox.respond(
        request_id,
        BeginQuorumEpochResponse(error=error, leader_id=leader_id, leader_epoch=core.epoch, leader_endpoints=endpoints),
    )


def _on_living_leader(core: Core) -> None:
    leader_id = core.leader_id
    if core.role is Role.PROSPECTIVE and leader_id is not None and core.leader_endpoints:
        transition_to_follower(core, core.epoch, leader_id, core.leader_endpoints)


def handle_end(core: Core, request_id: int, request: EndQuorumEpochRequest) -> None:
    """Respond to EndQuorumEpoch: the first preferred successor asks for pre-votes at once, the others later."""
    error = validate_leader_request(core, request.leader_id, request.leader_epoch)
    if error is Error.NONE:
        adopt_leader(core, request.leader_id, request.leader_epoch, request.leader_endpoints)
        state = core.state
        if type(state) is Follower and core.leader_id == request.leader_id and core.can_campaign:
            _succeed(core, state, request)
    leader_id, endpoints = known_leader(core)
    core.outbox.respond(
        request_id,
        EndQuorumEpochResponse(error=error, leader_id=leader_id, leader_epoch=core.epoch, leader_endpoints=endpoints),
    )


def _succeed(core: Core, state: Follower, request: EndQuorumEpochRequest) -> None:
    core.suspicion.is_active = True
    if core.is_shutting_down:
        return
    named = [key.node_id for key in request.preferred_candidates]
    if named and core.me.node_id not in named:
        # A transfer names one successor. If this replica campaigned, it could win before a slow successor begins.
        _leave_it_to_others(core, state, core.random_election_timeout_ms())
        return
    # A rejected successor has lost its round, which it began before this replica knew of the resignation.
    successors = [node_id for node_id in named if node_id not in state.refused]
    place = successors.index(core.me.node_id) if successors else 0
    if place == 0:
        transition_to_prospective(core)
    else:
        _leave_it_to_others(core, state, core.successor_delay_ms(place))


def _leave_it_to_others(core: Core, state: Follower, wait_ms: int) -> None:
    """Wait for `wait_ms` while a successor campaigns, whatever becomes of the Fetches to the resigned leader.

    A repeated EndQuorumEpoch never extends the wait; neither does its absence.
    """
    latest_ms = core.now_ms + core.config.fetch_timeout_ms if state.awaits_end else state.fetch_deadline_ms
    state.leaves_it_to_others, state.awaits_end = True, False
    state.fetch_deadline_ms = min(latest_ms, core.now_ms + wait_ms)


def on_elapsed_follower(core: Core, state: Follower) -> None:
    """Handle the fetch timeout: a voter asks for pre-votes, an observer looks for the leader elsewhere."""
    if state.fetch_deadline_ms > core.now_ms:
        maybe_ask(core, state)
        maybe_send_fetch(core)
    elif core.can_campaign and not core.is_shutting_down:
        transition_to_prospective(core)
    else:
        state.is_leader_out_of_reach = True
        _suspect(core)
        state.fetch_deadline_ms = core.now_ms + core.config.fetch_timeout_ms
        maybe_ask(core, state)
        retry_fetch(core, state.fetch, 0)
