"""Elections: both sides of the Vote RPC, and the deadlines of unattached, prospective and candidate replicas.

Decides: which votes are granted, and the outcome of a round of votes. Must not know: the log beyond its end; Fetch.
"""

from __future__ import annotations

from metadata_log.ids import ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import VoteRequest, VoteResponse
from quorum.raft.core import MAX_EPOCH, Core
from quorum.raft.inputs import RequestFailed
from quorum.raft.leader_discovery import EpochUpdate, apply_leader_hint, known_leader
from quorum.raft.majority_loss import note_round
from quorum.raft.roles import (
    resume_as_suspecting_follower,
    transition_to_candidate,
    transition_to_leader,
    transition_to_prospective,
    transition_to_unattached,
    transition_to_unattached_voted,
)
from quorum.raft.states import Candidate, Follower, Prospective, Unattached
from quorum.raft.transitions import Role


def handle_vote(core: Core, request_id: int, request: VoteRequest) -> None:
    """Respond to a Vote or pre-vote. A granted vote leaves only after it is durable."""
    error = _validate(core, request)
    if error is not Error.NONE:
        _answer(core, request_id, error, granted=False)
        return
    if request.candidate_epoch > core.epoch:
        core.warn_of_leap(request.candidate.node_id, request.candidate_epoch)
        transition_to_unattached(core, request.candidate_epoch)
    end = OffsetAndEpoch(offset=request.last_epoch_end_offset, epoch=request.last_epoch)
    granted = may_grant(core, request.candidate, end, pre_vote=request.pre_vote)
    if granted and not request.pre_vote and core.standing.voted is None:
        transition_to_unattached_voted(core, request.candidate)
    state = core.state
    if granted and type(state) is Prospective and goes_first(core, request.candidate, end):
        state.defer_until_ms = core.now_ms + core.election_backoff_ms()
    _answer(core, request_id, Error.NONE, granted=granted)
    if request.pre_vote and not granted:
        _on_refused(core, request.candidate.node_id, end)


def _on_refused(core: Core, candidate_id: NodeId, candidate_end: OffsetAndEpoch) -> None:
    """Campaign at once if the rejected candidate is a preferred successor with a shorter log than this replica's.

    The resigned leader did not know of the shorter log, and that successor cannot win. If EndQuorumEpoch has not
    arrived yet, remember the rejected candidate for it.
    """
    state = core.state
    if type(state) is not Follower or not core.can_campaign or core.is_shutting_down:
        return
    if not state.leaves_it_to_others:
        is_peer = any(voter.key.node_id == candidate_id for voter in core.members.peers)
        if is_peer and core.log.end.is_at_least(candidate_end):
            state.refused.add(candidate_id)
    elif not candidate_end.is_at_least(core.log.end):
        transition_to_prospective(core)


def _validate(core: Core, request: VoteRequest) -> Error:
    epoch = request.candidate_epoch
    is_ahead_of_itself = request.last_epoch > epoch if request.pre_vote else request.last_epoch >= epoch
    if request.last_epoch < 0 or request.last_epoch_end_offset < 0 or is_ahead_of_itself or epoch > MAX_EPOCH:
        return Error.INVALID_REQUEST
    if request.candidate.node_id < 0 or request.candidate.node_id == core.me.node_id or not core.can_vote:
        return Error.INVALID_REQUEST
    if epoch < core.epoch:
        return Error.FENCED_LEADER_EPOCH
    return Error.NONE if is_addressed(core, request.voter.node_id, request.voter.directory_id) else _WRONG_VOTER


def is_addressed(core: Core, node_id: int, directory_id: bytes) -> bool:
    """Return True if a request's voter key means this replica. Older peers leave out node id (-1) or directory id."""
    is_directory = directory_id in (core.me.directory_id, _NO_DIRECTORY)
    return node_id < 0 or (node_id == core.me.node_id and is_directory)


_WRONG_VOTER = Error.INVALID_VOTER_KEY
_NO_DIRECTORY = bytes(16)


def _answer(core: Core, request_id: int, error: Error, *, granted: bool) -> None:
    leader_id, endpoints = known_leader(core)
    response = VoteResponse(
        error=error,
        leader_id=leader_id,
        leader_epoch=core.epoch,
        vote_granted=granted,
        leader_endpoints=endpoints,
    )
    core.outbox.respond(request_id, response)


def on_vote_response(core: Core, node_id: int, _correlation: int, response: VoteResponse) -> None:
    """Count one response, unless its epoch or leader ends the election."""
    news = apply_leader_hint(core, node_id, response, response.error)
    state = core.state
    if news is EpochUpdate.CHANGED or not isinstance(state, Prospective | Candidate):
        return
    if news is EpochUpdate.STALE or response.error is not Error.NONE:
        state.tally.unreachable.add(NodeId(node_id))
    elif response.vote_granted:
        state.tally.grant(NodeId(node_id))
    else:
        state.tally.rejected.add(NodeId(node_id))
    maybe_decide(core)


def on_vote_failed(core: Core, state: Prospective | Candidate, failed: RequestFailed) -> None:
    """Count a voter that did not respond as unreachable in this round."""
    state.tally.unreachable.add(NodeId(failed.destination_id))
    maybe_decide(core)


def on_own_vote_durable(core: Core) -> None:
    """Count a candidate's own vote, which is durable now."""
    state = core.state
    if type(state) is Candidate:
        if core.members.is_voter:
            state.tally.grant(core.me.node_id)
        if state.tally.is_won:
            transition_to_leader(core, tuple(state.tally.granted))


def maybe_decide(core: Core) -> None:
    """Advance if the round is won, and start over after a backoff if it is lost."""
    state = core.state
    if type(state) is Candidate:
        if state.tally.is_won:
            transition_to_leader(core, tuple(state.tally.granted))
        elif state.tally.is_lost:
            _try_again_in(core, state, core.election_backoff_ms())
        elif state.tally.rejected:
            _try_again_in(core, state, core.response_timeout_ms())
    elif type(state) is Prospective:
        if state.tally.is_won:
            if state.defer_until_ms is None or state.defer_until_ms <= core.now_ms:
                _stand(core)
        elif state.tally.is_lost:
            note_round(core, state)
            resume_as_suspecting_follower(core)


def _try_again_in(core: Core, state: Candidate, wait_ms: int) -> None:
    """Schedule the next round. After a rejected vote, a silent voter must not delay it."""
    at_ms = core.now_ms + wait_ms
    state.retry_at_ms = at_ms if state.retry_at_ms is None else min(state.retry_at_ms, at_ms)


def _stand(core: Core) -> None:
    if not core.is_shutting_down:
        transition_to_candidate(core)


def on_elapsed_unattached(core: Core, state: Unattached) -> None:
    """Ask for pre-votes if no replica has won the election in time."""
    deadline_ms = state.election_deadline_ms
    if deadline_ms is None or core.is_shutting_down:
        state.election_deadline_ms = None
    elif deadline_ms <= core.now_ms:
        transition_to_prospective(core)


def on_elapsed_prospective(core: Core, state: Prospective) -> None:
    """End the deferral to another prospective, or the round, if its time is over."""
    if state.defer_until_ms is not None and state.defer_until_ms <= core.now_ms:
        state.defer_until_ms = None
        maybe_decide(core)
    if core.state is state and state.election_deadline_ms <= core.now_ms:
        note_round(core, state)
        resume_as_suspecting_follower(core)


def on_elapsed_candidate(core: Core, state: Candidate) -> None:
    """Start over if the round is lost or its time is over."""
    is_due = state.retry_at_ms is not None and state.retry_at_ms <= core.now_ms
    if is_due or state.election_deadline_ms <= core.now_ms:
        note_round(core, state)
        transition_to_prospective(core)


def may_grant(core: Core, candidate: ReplicaKey, candidate_end: OffsetAndEpoch, *, pre_vote: bool) -> bool:
    """Return True if this replica grants `candidate` its vote or pre-vote in the present epoch."""
    is_up_to_date = candidate_end.is_at_least(core.log.end)
    if pre_vote:
        return is_up_to_date and _has_no_live_leader(core)
    if core.standing.voted is not None:
        return _is_same(core.standing.voted, candidate) and core.role is not Role.FOLLOWER
    return is_up_to_date and core.standing.leader_id is None


def _has_no_live_leader(core: Core) -> bool:
    """Return True if no leader is known to live.

    A leader, and a follower that it serves, reject pre-votes: a replica behind a partition cannot depose the leader.
    """
    state = core.state
    if type(state) is Follower:
        return not state.has_fetched or core.suspicion.is_active
    return state.role is not Role.LEADER


def _is_same(voted: ReplicaKey, candidate: ReplicaKey) -> bool:
    if voted.node_id != candidate.node_id:
        return False
    return ZERO_DIRECTORY_ID in (voted.directory_id, candidate.directory_id) or voted == candidate


def goes_first(core: Core, candidate: ReplicaKey, candidate_end: OffsetAndEpoch) -> bool:
    """Return True if `candidate` goes before this replica, which asks at the same time: longer log, then lower id.

    Without this order, two followers that see the leader die at the same moment would split the vote.
    """
    own = core.log.end
    if candidate_end == own:
        return candidate.node_id < core.me.node_id
    return candidate_end.is_at_least(own)
