"""Transitions to each epoch state. No other module changes the state.

Decides: the new state's data and its first effects. Must not know: which message or deadline caused the transition.
"""

from __future__ import annotations

from metadata_log.errors import InvariantViolation
from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.raft_messages import EndQuorumEpochRequest, FetchResponse, VoteRequest
from quorum.raft.core import MAX_EPOCH, Core
from quorum.raft.fetching import maybe_send_fetch
from quorum.raft.inputs import Start
from quorum.raft.membership import destination_of
from quorum.raft.ready import BecameLeader, LeaderChanged, LostLeadership, ShutdownCompleted
from quorum.raft.replication import new_leader_state, open_epoch, successors
from quorum.raft.states import (
    Candidate,
    ElectionState,
    EpochState,
    FetchLoop,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Tally,
    Unattached,
)
from quorum.raft.voter_responses import abandon_change


def _enter(core: Core, state: EpochState, standing: ElectionState, endpoints: tuple[Endpoint, ...] = ()) -> None:
    old, told = core.state, (core.leader_id, core.epoch, core.leader_endpoints)
    core.enter(state, standing, endpoints)
    if type(old) is Leader:
        core.outbox.add(LostLeadership(epoch=told[1]))
        _reject_parked_fetches(core, old)
        abandon_change(core, old)
    if (core.leader_id, core.epoch, core.leader_endpoints) != told:
        core.outbox.add(LeaderChanged(leader_id=core.leader_id, epoch=core.epoch, endpoints=core.leader_endpoints))
    if core.is_shutting_down and type(state) is not Resigned:
        shut(core)


def _reject_parked_fetches(core: Core, leader: Leader) -> None:
    """Answer parked Fetches with NOT_LEADER_OR_FOLLOWER and the new leader, if it is known."""
    leader_id = core.leader_id
    answer = FetchResponse(
        error=Error.NOT_LEADER_OR_FOLLOWER,
        leader_id=NO_LEADER if leader_id is None else leader_id,
        leader_epoch=core.epoch,
        leader_endpoints=core.leader_endpoints,
    )
    for request_id in leader.parked:
        core.outbox.respond(request_id, answer)
    leader.parked = {}


def shut(core: Core) -> None:
    """Complete the clean stop; emit `ShutdownCompleted` once."""
    if not core.is_shut:
        core.is_shut = True
        core.outbox.add(ShutdownCompleted())


def transition_to_unattached(core: Core, epoch: Epoch, *, wait_ms: int | None = None) -> None:
    """Enter `epoch` without a leader to follow. A voter asks for pre-votes in `wait_ms`, by default after a backoff.

    Within the same epoch the known leader and the vote are kept: no other candidate may get a vote in that epoch.
    """
    standing = core.standing if epoch == core.epoch else ElectionState(epoch=epoch)
    state = Unattached(election_deadline_ms=None, fetch=_new_loop(core))
    if core.can_campaign:
        state.election_deadline_ms = core.now_ms + (core.election_backoff_ms() if wait_ms is None else wait_ms)
    _enter(core, state, standing)
    maybe_send_fetch(core)


def transition_to_unattached_voted(core: Core, candidate: ReplicaKey) -> None:
    """Grant `candidate` the vote of the present epoch, and wait for an election timeout."""
    state = Unattached(election_deadline_ms=core.now_ms + core.random_election_timeout_ms(), fetch=_new_loop(core))
    _enter(core, state, ElectionState(epoch=core.epoch, voted=candidate))


def transition_to_follower(core: Core, epoch: Epoch, leader_id: NodeId, endpoints: tuple[Endpoint, ...]) -> None:
    """Follow a leader that is new or has shown that it lives, and end any suspicion."""
    core.trust_leader()
    _follow(core, epoch, leader_id, endpoints, core.config.fetch_timeout_ms, retry_in_ms=0)


def resume_as_suspecting_follower(core: Core) -> None:
    """Follow the known leader again after rejected pre-votes, still suspecting it, for the time of one Fetch."""
    leader_id = core.standing.leader_id
    wait_ms = core.election_backoff_ms()
    if leader_id is None or not core.leader_endpoints:
        transition_to_unattached(core, core.epoch, wait_ms=wait_ms)
    else:
        _follow(
            core,
            core.epoch,
            leader_id,
            core.leader_endpoints,
            wait_ms + core.response_timeout_ms(),
            retry_in_ms=wait_ms,
        )


def _follow(
    core: Core, epoch: Epoch, leader_id: NodeId, endpoints: tuple[Endpoint, ...], timeout_ms: int, *, retry_in_ms: int
) -> None:
    voted = core.standing.voted if epoch == core.epoch else None
    loop = _new_loop(core)
    loop.retry_at_ms = core.now_ms + retry_in_ms
    state = Follower(
        fetch_deadline_ms=core.now_ms + timeout_ms,
        fetch=loop,
        voter_ask_due_ms=core.now_ms + core.config.fetch_timeout_ms,
    )
    _enter(core, state, ElectionState(epoch=epoch, leader_id=leader_id, voted=voted), endpoints)
    maybe_send_fetch(core)


def _new_loop(core: Core) -> FetchLoop:
    """Return a fetch loop that begins at a random peer, so that not all observers ask the same voter first."""
    return FetchLoop(retry_at_ms=core.now_ms, turn=core.draws.between(0, 1 << 16))


def transition_to_prospective(core: Core) -> None:
    """Ask for pre-votes. From now on this replica suspects the leader."""
    core.suspicion.is_active = True
    core.suspicion.attempts += 1
    tally = Tally.of(core.members.latest)
    if core.members.is_voter:
        tally.grant(core.me.node_id)
    deadline_ms = core.now_ms + core.response_timeout_ms()
    _enter(core, Prospective(tally=tally, election_deadline_ms=deadline_ms), core.standing, core.leader_endpoints)
    if tally.is_won:
        transition_to_candidate(core)
    else:
        ask_for_votes(core, pre_vote=True)


def transition_to_candidate(core: Core) -> None:
    """Campaign for the next epoch, unless the present one is the last. The own vote counts once it is durable."""
    if core.epoch >= MAX_EPOCH:
        core.refuse(core.me.node_id, f"epoch {core.epoch} is the last possible one: no replica can be elected any more")
        return
    state = Candidate(
        tally=Tally.of(core.members.latest), election_deadline_ms=core.now_ms + core.random_election_timeout_ms()
    )
    _enter(core, state, ElectionState(epoch=Epoch(core.epoch + 1), voted=core.me))
    ask_for_votes(core, pre_vote=False)


def transition_to_leader(core: Core, granting: tuple[NodeId, ...]) -> None:
    """Lead the present epoch, for which the majority `granting` has voted, and open it."""
    core.trust_leader()
    state = new_leader_state(core)
    standing = ElectionState(epoch=core.epoch, leader_id=core.me.node_id, voted=core.standing.voted)
    _enter(core, state, standing, core.endpoints)
    core.outbox.add(BecameLeader(epoch=core.epoch, epoch_start_offset=state.epoch_start_offset))
    open_epoch(core, state, granting)


def transition_to_resigned(core: Core, leader: Leader, *, to: ReplicaKey | None = None) -> None:
    """Resign, and send EndQuorumEpoch with the successors, the best first. `to`: the only successor of a transfer."""
    best = successors(leader, core.me) if to is None else (to,)
    enter_resigned(core, best, core.random_election_timeout_ms())


def enter_resigned(core: Core, preferred: tuple[ReplicaKey, ...], wait_ms: int) -> None:
    """Wait `wait_ms` for a successor to win. `preferred` is empty after a restart, when no follower's log is known."""
    state = Resigned(
        unacknowledged={voter.key.node_id for voter in core.members.peers},
        preferred_successors=preferred,
        election_deadline_ms=core.now_ms + wait_ms,
    )
    _enter(core, state, core.standing)
    send_end(core, state)


def send_end(core: Core, state: Resigned) -> None:
    """Send EndQuorumEpoch to each voter that has not acknowledged it and has no request in flight."""
    state.retry_at_ms = None
    asked = set(core.outbox.in_flight.values())
    for voter in core.members.peers:
        if voter.key.node_id not in state.unacknowledged or voter.key.node_id in asked:
            continue
        request = EndQuorumEpochRequest(
            leader_id=core.me.node_id,
            leader_epoch=core.epoch,
            preferred_candidates=state.preferred_successors,
            leader_endpoints=core.endpoints,
        )
        core.outbox.send(destination_of(voter), request, core.config.request_timeout_ms)


def start(core: Core, _: Start) -> None:
    """Enter the first state after a start.

    A voter without a known leader asks for pre-votes at once (DESIGN 1.2). A voter that led its epoch has resigned from
    it.

    Raises:
        InvariantViolation: the replica has started already.
    """
    if core.is_started:
        raise InvariantViolation("a second Start")
    core.is_started = True
    leader_id = core.standing.leader_id
    can_campaign = core.can_campaign
    if core.members.is_only_voter:
        transition_to_prospective(core)
    elif leader_id == core.me.node_id and can_campaign:
        enter_resigned(core, (), core.election_backoff_ms())
    elif leader_id is not None and leader_id != core.me.node_id and core.members.endpoints_of(leader_id):
        transition_to_follower(core, core.epoch, leader_id, core.members.endpoints_of(leader_id))
    elif can_campaign:
        transition_to_prospective(core)
    else:
        maybe_send_fetch(core)


def ask_for_votes(core: Core, *, pre_vote: bool) -> None:
    """Send Vote, or a pre-vote, to every other voter."""
    end = core.log.end
    for voter in core.members.peers:
        request = VoteRequest(
            candidate=core.me,
            voter=voter.key,
            candidate_epoch=core.epoch,
            last_epoch=end.epoch,
            last_epoch_end_offset=end.offset,
            pre_vote=pre_vote,
        )
        core.outbox.send(destination_of(voter), request, core.config.request_timeout_ms)
