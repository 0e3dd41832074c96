"""Operators of a simulated cluster who add and remove voters and replace disks, as `kraft quorum` allows.

Decides: which changes leave a majority whose directories still exist. Must not know: when they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.voters import VoterSet
from quorum.api.calls import PeerCall, PeerResponse
from quorum.api.raft_messages import Request
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.node.core.ports import PeerRequested
from quorum.raft.states import Leader

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster
    from tests.simulation.node import Node

_OPERATOR = 1 << 50


def leader_of(cluster: Cluster) -> Node | None:
    """Return the leader of the highest epoch, if it can be reached at once."""
    leading = [node for node in cluster.voters if node.is_up and not node.is_frozen and node.executor.machine.is_leader]
    return max(leading, key=lambda node: node.executor.machine.epoch, default=None)


def _ask(cluster: Cluster, leader: Node, request: Request) -> None:
    asked = cluster.asked_by_operators[leader.node_id]
    request_id = _OPERATOR + cluster.world.events
    asked[request_id] = (leader.boot, type(request).__name__)

    def respond(response: PeerResponse) -> None:
        asked.pop(request_id, None)
        cluster.checkers.on_operator_told(leader, request, response)
        cluster.world.tell(leader.node_id, f"answers {type(request).__name__}: {response.error.name}")

    call = PeerCall(request=request, cluster_id=cluster.cluster_id)
    leader.turn((PeerRequested(request_id=request_id, call=call, respond=respond),))


def upgrade(cluster: Cluster, *, of: Node | None = None) -> None:
    """Request kraft.version 1 from the leader or a former leader; harmless if it is 1 already."""
    leader = leader_of(cluster) if of is None else of
    if leader is not None:
        _ask(cluster, leader, UpgradeKRaftVersionRequest(kraft_version=1))


def _has_majority(cluster: Cluster, voters: VoterSet, *, without: ReplicaKey | None = None) -> bool:
    there = {node.key for node in cluster.voters} - {without}
    return sum(1 for key in voters.keys if key in there) >= voters.majority


def add_voter(cluster: Cluster, pick: int) -> None:
    """Add any controller that is no voter."""
    leader = leader_of(cluster)
    if leader is None:
        return
    voters = leader.executor.machine.voters
    spares = [node for node in cluster.voters if not voters.is_voter(node.key)]
    if spares:
        spare = spares[pick % len(spares)]
        _ask(cluster, leader, AddRaftVoterRequest(voter=spare.key, endpoints=spare.endpoints))


def remove_voter(cluster: Cluster, pick: int) -> None:
    """Remove any voter, also one whose directory is gone."""
    leader = leader_of(cluster)
    if leader is not None:
        keys = leader.executor.machine.voters.keys
        _remove(cluster, leader, keys[pick % len(keys)])


def move_voter(cluster: Cluster, pick: int) -> None:
    """Report another port of any voter to the leader, as the voter itself would."""
    leader = leader_of(cluster)
    if leader is None:
        return
    voters, epoch = leader.executor.machine.voters, leader.executor.machine.epoch
    voter = voters.get(voters.keys[pick % len(voters)].node_id)
    if voter is not None and voter.key != leader.key:
        moved = tuple(msgspec.structs.replace(at, port=9093 + pick % 7) for at in voter.endpoints)
        voter = msgspec.structs.replace(voter, endpoints=moved)
        _ask(cluster, leader, UpdateRaftVoterRequest(current_leader_epoch=epoch, voter=voter))


def remove_leader(cluster: Cluster) -> None:
    """Remove the leader itself."""
    leader = leader_of(cluster)
    if leader is not None:
        _remove(cluster, leader, leader.key)


def _remove(cluster: Cluster, leader: Node, key: ReplicaKey) -> None:
    voters = leader.executor.machine.voters
    if len(voters) > 1 and _has_majority(cluster, voters.without(key.node_id)):
        _ask(cluster, leader, RemoveRaftVoterRequest(voter=key))


def replace_disk(cluster: Cluster, pick: int) -> Node | None:
    """Replace the disk of a controller, if the others can go on; return that controller.

    No change may be under way, and the present leader must have committed the voters, so that no other set can return.
    """
    leader = leader_of(cluster)
    if leader is None:
        return None
    node, machine = cluster.voters[pick % len(cluster.voters)], leader.executor.machine
    state = machine._core.state
    is_calm = isinstance(state, Leader) and state.change is None and state.has_committed
    if not is_calm or machine.voters_offset >= machine.high_watermark:
        return None
    if not _has_majority(cluster, machine.voters, without=node.key):
        return None
    if cluster.setup.static_voters and [voter.key.node_id for voter in cluster.first_voters.voters] == [
        node.key.node_id
    ]:
        return None  # by its file it is the only voter, and would elect itself, as in Kafka
    cluster.replace_disk(node)
    return node
