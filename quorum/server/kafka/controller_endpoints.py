"""The controllers' endpoints for Kafka clients: those with the name of the listener that received the request.

Decides: which source of a node's endpoints counts. The leader's endpoints in a response and the VotersRecord come
first, the registration next. A leader without such an endpoint must not be named to a broker: a broker that cannot
reach the leader shuts itself down.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.voters import Endpoint
from quorum.api.leader_hint import NO_LEADER, LeaderHint
from quorum.api.quorum_description import QuorumDescription
from quorum.server.node import Node


def place_in(endpoints: tuple[Endpoint, ...], listener: str) -> Endpoint | None:
    """Return the endpoint of that name, or None."""
    return next((endpoint for endpoint in endpoints if endpoint.name == listener), None)


def place_of(node_id: int, listener: str, node: Node, quorum: QuorumDescription | None = None) -> Endpoint | None:
    """Return the endpoint of a controller's listener of that name, or None if it is unknown."""
    for voter in (quorum or node.describe_quorum()).voters:
        if voter.replica.node_id == node_id and (found := place_in(voter.endpoints, listener)) is not None:
            return found
    registered = node.image.cluster.controllers.get(NodeId(node_id))
    for at in () if registered is None else registered.listeners:
        if at.name == listener:
            return Endpoint(name=at.name, host=at.host, port=at.port)
    return None


def place_of_leader(hint: LeaderHint, listener: str, node: Node) -> Endpoint | None:
    """Return the endpoint of the leader that a response names, or None if it names none or has no such listener."""
    if hint.leader_id == NO_LEADER:
        return None
    at = place_in(hint.leader_endpoints, listener)
    return at if at is not None else place_of(hint.leader_id, listener, node)


def controllers(listener: str, node: Node) -> dict[int, Endpoint]:
    """Return every controller with a listener of that name: voters and registered ones, in the order of their ids."""
    quorum = node.describe_quorum()
    ids = {int(voter.replica.node_id) for voter in quorum.voters} | {
        int(each) for each in node.image.cluster.controllers
    }
    found = ((node_id, place_of(node_id, listener, node, quorum)) for node_id in sorted(ids))
    return {node_id: at for node_id, at in found if at is not None}
