"""Where the controllers are reached by Kafka's protocol: under the name of the listener that was asked.

Decides: which of the things that are known of a node tells its place. Its own word in the leader's endpoints or the
voters' record comes first, its registration next. A leader without such a place must not be named to a broker: one that
was told of a leader it cannot reach ends itself.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.voters import Endpoint
from quorum.api.leader_hint import NO_LEADER, LeaderHint
from quorum.api.quorum_description import QuorumDescription
from quorum.server.node import Node


def place_in(endpoints: tuple[Endpoint, ...], listener: str) -> Endpoint | None:
    """The endpoint of that name."""
    return next((endpoint for endpoint in endpoints if endpoint.name == listener), None)


def place_of(node_id: int, listener: str, node: Node, quorum: QuorumDescription | None = None) -> Endpoint | None:
    """Where a controller listens under that name; None when nobody has said so."""
    for voter in (quorum or node.describe_quorum()).voters:
        if voter.replica.node_id == node_id and (found := place_in(voter.endpoints, listener)) is not None:
            return found
    registered = node.image.cluster.controllers.get(NodeId(node_id))
    for at in () if registered is None else registered.listeners:
        if at.name == listener:
            return Endpoint(name=at.name, host=at.host, port=at.port)
    return None


def place_of_leader(hint: LeaderHint, listener: str, node: Node) -> Endpoint | None:
    """Where the leader that it names is reached; None for who has no listener of that name."""
    if hint.leader_id == NO_LEADER:
        return None
    at = place_in(hint.leader_endpoints, listener)
    return at if at is not None else place_of(hint.leader_id, listener, node)


def controllers(listener: str, node: Node) -> dict[int, Endpoint]:
    """Every controller that listens under that name: voters and registered ones, in the order of their ids."""
    quorum = node.describe_quorum()
    ids = {int(voter.replica.node_id) for voter in quorum.voters} | {
        int(each) for each in node.image.cluster.controllers
    }
    found = ((node_id, place_of(node_id, listener, node, quorum)) for node_id in sorted(ids))
    return {node_id: at for node_id, at in found if at is not None}
