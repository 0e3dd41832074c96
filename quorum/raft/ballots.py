"""Vote requests, and which votes this replica may give.

Decides: to whom a vote or pre-vote may be granted in the present state (KIP-595, KIP-996, DESIGN 5). Must not know:
what follows from a vote.
"""

from __future__ import annotations

from metadata_log.ids import ZERO_DIRECTORY_ID, ReplicaKey
from metadata_log.offsets import OffsetAndEpoch
from quorum.raft.core import Core
from quorum.raft.membership import destination_of
from quorum.raft.messages import VoteRequest
from quorum.raft.states import Follower
from quorum.raft.transitions import Role


def ask_for_votes(core: Core, *, pre_vote: bool) -> None:
    """Ask every other voter."""
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


def may_grant(core: Core, candidate: ReplicaKey, candidate_end: OffsetAndEpoch, *, pre_vote: bool) -> bool:
    """Whether `candidate`, in our epoch, gets our vote or the promise of one."""
    is_up_to_date = candidate_end.is_at_least(core.log.end)
    if pre_vote:
        return is_up_to_date and _has_no_live_leader(core)
    if core.standing.voted is not None:
        return _is_same(core.standing.voted, candidate) and core.role is not Role.FOLLOWER
    return is_up_to_date and core.standing.leader_id is None


def _has_no_live_leader(core: Core) -> bool:
    """A leader, and a follower that hears it, refuse pre-votes: so a replica that was cut off deposes nobody."""
    state = core.state
    if type(state) is Follower:
        return not state.has_fetched or core.suspicion.is_active
    return state.role is not Role.LEADER


def _is_same(voted: ReplicaKey, candidate: ReplicaKey) -> bool:
    if voted.node_id != candidate.node_id:
        return False
    return ZERO_DIRECTORY_ID in (voted.directory_id, candidate.directory_id) or voted == candidate


def goes_first(core: Core, candidate: ReplicaKey, candidate_end: OffsetAndEpoch) -> bool:
    """Whether, of two that ask at once, `candidate` goes before this replica: the longer log, then the lower id.

    Without it, two followers that see the leader die in the same moment split the vote.
    """
    own = core.log.end
    if candidate_end == own:
        return candidate.node_id < core.me.node_id
    return candidate_end.is_at_least(own)
