"""DescribeQuorum: the node's view of the quorum, as a message of KIP-595.

Decides: which topic ids a request may name.
"""

from __future__ import annotations

from kraft.v1 import common_pb2, quorum_pb2
from metadata_log.ids import METADATA_TOPIC_ID
from metadata_log.image import ControllerRegistration
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.node.core.access import may_describe
from quorum.node.core.peer_failures import UnreachedPeer
from quorum.node.process.failure_words import line_of
from quorum.server.node import Node
from quorum.transport.grpc.convert.common import BadMessage, endpoints_to
from quorum.transport.grpc.convert.partitions import only_partition

_NO_LEADER = -1


def describe(
    request: quorum_pb2.DescribeQuorumRequest, node: Node, context: RequestContext
) -> quorum_pb2.DescribeQuorumResponse:
    """Return the response.

    Errors: CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST, UNKNOWN_TOPIC_ID. A replica that does not lead adds
    NOT_LEADER_OR_FOLLOWER to the description that it can give.
    """
    if not may_describe(context, node.image):
        return quorum_pb2.DescribeQuorumResponse(
            error_code=Error.CLUSTER_AUTHORIZATION_FAILED,
            error_message=f"{context.principal} has no right to Describe on the cluster",
        )
    own_id = node.image.topics.own_id
    try:
        if request.topics:
            _check_topic(request, (METADATA_TOPIC_ID, own_id))
    except BadMessage as bad:
        return quorum_pb2.DescribeQuorumResponse(error_code=bad.error, error_message=bad.why)
    view, quorum = node.view(), node.describe_quorum()
    is_leader = quorum.leader_id == view.node_id
    partition = _partition(quorum, Error.NONE if is_leader else Error.NOT_LEADER_OR_FOLLOWER)
    return quorum_pb2.DescribeQuorumResponse(
        topics=[quorum_pb2.DescribeQuorumResponse.Topic(topic_id=own_id or METADATA_TOPIC_ID, partitions=[partition])],
        nodes=[
            quorum_pb2.DescribeQuorumResponse.Node(node_id=voter.replica.node_id, listeners=_listeners(voter, node))
            for voter in quorum.voters
        ]
        + _registered(quorum, node),
        cluster_id=view.cluster_id,
        node_id=view.node_id,
        heard_age_ms=view.heard_age_ms,
        unreached=[_unreached(peer) for peer in view.unreached],
    )


def _unreached(peer: UnreachedPeer) -> quorum_pb2.DescribeQuorumResponse.Unreached:
    failure = peer.failure
    return quorum_pb2.DescribeQuorumResponse.Unreached(
        node_id=peer.node_id,
        address=peer.address,
        reason="" if failure is None else failure.kind,
        what=line_of(peer),
    )


def _registered(quorum: QuorumDescription, node: Node) -> list[quorum_pb2.DescribeQuorumResponse.Node]:
    """Return the controllers among the observers, with the listeners that they registered (RegisterController)."""
    observers = dict.fromkeys(each.replica.node_id for each in quorum.observers)
    voters = {each.replica.node_id for each in quorum.voters}
    controllers = node.image.cluster.controllers
    return [
        quorum_pb2.DescribeQuorumResponse.Node(node_id=node_id, listeners=_of_registration(controllers[node_id]))
        for node_id in observers
        if node_id in controllers and node_id not in voters
    ]


def _listeners(voter: ReplicaDescription, node: Node) -> list[common_pb2.Endpoint]:
    """Return a voter's listeners, from its VotersRecord if that names them, otherwise from its registration.

    The configuration of a static voter (kraft.version 0) has one address, and not the protocol of that listener.
    """
    registered = node.image.cluster.controllers.get(voter.replica.node_id)
    if registered is None or any(at.name for at in voter.endpoints):
        return endpoints_to(voter.endpoints)
    return _of_registration(registered)


def _of_registration(controller: ControllerRegistration) -> list[common_pb2.Endpoint]:
    return [common_pb2.Endpoint(name=at.name, host=at.host, port=at.port) for at in controller.listeners]


def _check_topic(request: quorum_pb2.DescribeQuorumRequest, accepted: tuple[bytes | None, ...]) -> None:
    topic_id, partition = only_partition(request.topics)
    if topic_id not in accepted:
        raise BadMessage(Error.UNKNOWN_TOPIC_ID, "the topic id is neither the metadata topic's own nor the sentinel")
    if partition.partition_index != 0:
        raise BadMessage(
            Error.UNKNOWN_TOPIC_OR_PARTITION, f"the metadata topic has no partition {partition.partition_index}, only 0"
        )


def _partition(quorum: QuorumDescription, error: Error) -> quorum_pb2.DescribeQuorumResponse.Partition:
    return quorum_pb2.DescribeQuorumResponse.Partition(
        partition_index=0,
        error_code=error,
        leader_id=_NO_LEADER if quorum.leader_id is None else quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[_replica(voter) for voter in quorum.voters],
        observers=[_replica(observer) for observer in quorum.observers],
    )


def _replica(replica: ReplicaDescription) -> quorum_pb2.DescribeQuorumResponse.Replica:
    return quorum_pb2.DescribeQuorumResponse.Replica(
        replica_id=replica.replica.node_id,
        replica_directory_id=replica.replica.directory_id,
        log_end_offset=replica.log_end_offset,
        last_fetch_timestamp_ms=replica.last_fetch_timestamp_ms,
        last_caught_up_timestamp_ms=replica.last_caught_up_timestamp_ms,
    )
