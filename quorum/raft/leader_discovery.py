"""Leader hints: the sender's epoch and known leader in every message (KIP-595).

Decides: whether a hint changes this replica's state, and which hints are invalid. Must not know: the rest of the
message.
"""

from __future__ import annotations

import enum

from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER, LeaderHint
from quorum.api.raft_messages import FetchResponse, FetchSnapshotResponse, VoteResponse
from quorum.raft.core import MAX_EPOCH, Core
from quorum.raft.fetching import fetch_loop_of
from quorum.raft.roles import transition_to_follower, transition_to_unattached
from quorum.raft.states import FetchLoop
from quorum.raft.transitions import Role

STRANGERS = frozenset(
    {
        Error.INCONSISTENT_CLUSTER_ID,
        Error.UNKNOWN_TOPIC_ID,
        Error.INCONSISTENT_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.CLUSTER_AUTHORIZATION_FAILED,
    }
)
"""Errors that a peer returns before its core sees the request: their epoch may be that of another quorum."""


class EpochUpdate(enum.Enum):
    """The effect of a response's epoch and leader on this replica."""

    CHANGED = enum.auto()
    """This replica is in another state now; the rest of the response no longer matters."""
    STALE = enum.auto()
    """The response is of an older epoch, or invalid; nothing has changed."""
    CURRENT = enum.auto()
    """The response is of the present epoch, and agrees with the known leader."""


def known_leader(core: Core) -> tuple[NodeId, tuple[Endpoint, ...]]:
    """Return the leader id (-1 if unknown) and endpoints for a response."""
    leader_id = core.leader_id
    return (NO_LEADER, ()) if leader_id is None else (leader_id, core.leader_endpoints)


def validate_leader_request(core: Core, leader_id: NodeId, epoch: Epoch) -> Error:
    """Return NONE if a request from the leader of `epoch` is valid, otherwise the error."""
    if leader_id < 0 or leader_id == core.me.node_id or not 0 <= epoch <= MAX_EPOCH:
        return Error.INVALID_REQUEST
    if epoch < core.epoch:
        return Error.FENCED_LEADER_EPOCH
    known = core.standing.leader_id
    if epoch == core.epoch and known is not None and known != leader_id:
        core.refuse(leader_id, f"it says that it leads epoch {epoch}, which {known} does")
        return Error.INVALID_REQUEST
    return Error.NONE


def adopt_leader(core: Core, leader_id: NodeId, epoch: Epoch, endpoints: tuple[Endpoint, ...]) -> bool:
    """Follow `leader_id` in `epoch`, which is not below this replica's; return True if that changed the state."""
    where = _all_places(endpoints, core.members.endpoints_of(leader_id))
    if epoch > core.epoch:
        if where:
            transition_to_follower(core, epoch, leader_id, where)
        else:
            transition_to_unattached(core, epoch)
        return True
    if where and _is_news(core, where):
        transition_to_follower(core, epoch, leader_id, where)
        return True
    return False


def _all_places(told: tuple[Endpoint, ...], known: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """Return the voter set's endpoints of the leader if they include the advertised ones, otherwise the latter.

    Responses in Kafka's protocol have one listener; clients of this replica may need the leader's others.
    """
    return known if set(told) <= set(known) else told


def _is_news(core: Core, where: tuple[Endpoint, ...]) -> bool:
    """Return True if the leader or its endpoints are new: quorum-state keeps a leader's id, but no endpoints."""
    if core.standing.leader_id is None:
        return True
    if core.role is Role.FOLLOWER:
        return len(where) > len(core.leader_endpoints)
    return core.role in (Role.UNATTACHED, Role.PROSPECTIVE) and not core.leader_endpoints


def apply_leader_hint(core: Core, destination_id: int, hint: LeaderHint, error: Error) -> EpochUpdate:
    """Apply the leader hint of a response, which has `error`, and return the effect."""
    epoch = hint.leader_epoch
    if error in STRANGERS or not 0 <= epoch <= MAX_EPOCH:
        core.refuse(destination_id, f"it answers {error.name} in epoch {epoch}")
        return EpochUpdate.STALE
    if epoch < core.epoch:
        return EpochUpdate.STALE
    leader_id = hint.leader_id
    if leader_id < 0 or (leader_id == core.me.node_id and (epoch > core.epoch or core.role is not Role.LEADER)):
        # A response that names this replica as leader predates its resignation or restart; ignore the hint.
        if leader_id == core.me.node_id:
            _tell_of_namesake(core, destination_id, hint)
        return _adopt_epoch(core, epoch)
    known = core.standing.leader_id
    if epoch == core.epoch and known is not None and known != leader_id:
        core.refuse(destination_id, f"it says that {leader_id} leads epoch {epoch}, which {known} does")
        return EpochUpdate.STALE
    if adopt_leader(core, leader_id, epoch, hint.leader_endpoints):
        return EpochUpdate.CHANGED
    return _adopt_live_leader(core, destination_id, hint)


def _tell_of_namesake(core: Core, destination_id: int, hint: LeaderHint) -> None:
    """Report a leader with this node's id at other endpoints: a second process has the same node.id.

    The exception is this replica's own epoch from before a restart.
    """
    where, epoch = hint.leader_endpoints, hint.leader_epoch
    has_led = epoch == core.epoch and core.standing.leader_id == core.me.node_id
    own = {(at.host, at.port) for at in core.endpoints}
    if where and not has_led and own.isdisjoint((at.host, at.port) for at in where):
        loop = fetch_loop_of(core)
        if loop is not None:
            loop.is_id_taken = True
        core.refuse(
            destination_id,
            f"it says that {core.me.node_id} leads epoch {epoch} at {', '.join(map(str, where))}, which is another "
            "process: two processes have that node.id. Stop the wrong one, or give it another node.id",
        )


def _adopt_epoch(core: Core, epoch: Epoch) -> EpochUpdate:
    if epoch == core.epoch:
        return EpochUpdate.CURRENT
    transition_to_unattached(core, epoch)
    return EpochUpdate.CHANGED


def _adopt_live_leader(core: Core, destination_id: int, hint: LeaderHint) -> EpochUpdate:
    """Follow the leader again if it rejects this replica's pre-vote itself, which proves that it lives.

    A leader that grants a pre-vote has resigned; Kafka's still names itself as leader then.
    """
    is_granted = isinstance(hint, VoteResponse) and hint.vote_granted
    if core.role is not Role.PROSPECTIVE or destination_id != hint.leader_id or is_granted:
        return EpochUpdate.CURRENT
    transition_to_follower(core, core.epoch, hint.leader_id, core.leader_endpoints)
    return EpochUpdate.CHANGED


def match_response(
    core: Core, node_id: int, correlation: int, response: FetchResponse | FetchSnapshotResponse
) -> tuple[FetchLoop, EpochUpdate] | None:
    """Return the fetch loop that awaits this response and the hint's effect, or None if the response is void.

    It is void if the loop awaits another response, or its leader hint changed this replica's state.
    """
    loop = fetch_loop_of(core)
    if loop is None or loop.correlation != correlation:
        return None
    loop.correlation = None
    news = apply_leader_hint(core, node_id, response, response.error)
    return None if news is EpochUpdate.CHANGED else (loop, news)
