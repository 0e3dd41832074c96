"""DescribeQuorum and DescribeCluster, the requests of `kafka-metadata-quorum --bootstrap-controller`.

Sources: KIP-595, KIP-836, KIP-853 (DescribeQuorum v2), KIP-919 (DescribeCluster of controllers).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.voters import Endpoint
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.node.core.access import may_describe
from quorum.server.kafka.controller_endpoints import controllers, place_of
from quorum.server.kafka.exchange import Exchange
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers, uuid_to

CONTROLLERS: Final = 2
"""The endpoint type of controllers in DescribeCluster. Type 1 is brokers, which answer that request themselves."""
_SURE: Final = ("leader", "follower")
"""The Raft roles in which a node does not doubt its leader."""
_NOT_ASKED: Final = -(1 << 31)
_OF_A_CLUSTER: Final = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)
"""The operations on a cluster."""


def on_describe_quorum(exchange: Exchange, node: Node) -> None:
    """Serve DescribeQuorum, only on the leader; other controllers respond with NOT_LEADER_OR_FOLLOWER."""
    answers = exchange.answers
    quorum, view = node.describe_quorum(), node.view()
    asked = [(topic.topic_name, [part.partition_index for part in topic.partitions]) for topic in exchange.body.topics]
    if not may_describe(exchange.caller.context(), node.image):
        _refuse(exchange, Error.CLUSTER_AUTHORIZATION_FAILED, f"{exchange.caller.principal} has no right to Describe")
    elif quorum.leader_id != view.node_id:
        _refuse(exchange, Error.NOT_LEADER_OR_FOLLOWER, "this replica does not lead")
    elif asked != [(METADATA_TOPIC_NAME, [0])]:
        exchange.send(lambda: _unknown(answers, asked))
    else:
        listener = exchange.caller.listener
        nodes = [(each.replica.node_id, _named(each, listener, node, quorum)) for each in quorum.voters]
        exchange.send(lambda: _described(answers, quorum, nodes))


def _authorized(exchange: Exchange, node: Node) -> int:
    """Return the operations on the cluster that the client is authorized for, one bit for each."""
    context, image = exchange.caller.context(), node.image
    return sum(1 << each for each in _OF_A_CLUSTER if authorize(context, each, CLUSTER, image) is Error.NONE)


def _refuse(exchange: Exchange, error: Error, why: str) -> None:
    answers = exchange.answers
    exchange.send(lambda: answers.response(error_code=error, error_message=why, topics=(), nodes=()))


def _named(voter: ReplicaDescription, listener: str, node: Node, quorum: QuorumDescription) -> tuple[Endpoint, ...]:
    """Return a voter's listeners.

    The endpoints of static voters (kraft.version 0) have no listener name, at which Kafka's tools fail. The registered
    listener takes their place.
    """
    named = tuple(endpoint for endpoint in voter.endpoints if endpoint.name)
    if named:
        return named
    registered = place_of(voter.replica.node_id, listener, node, quorum)
    return () if registered is None else (registered,)


def _unknown(answers: Answers, asked: list[tuple[str, list[int]]]) -> Any:
    topics = tuple(
        answers.make(
            "TopicData",
            topic_name=name,
            partitions=tuple(
                answers.make(
                    "PartitionData",
                    partition_index=index,
                    error_code=Error.UNKNOWN_TOPIC_OR_PARTITION,
                    error_message=f"only partition 0 of {METADATA_TOPIC_NAME} is described here",
                    leader_id=NO_LEADER,
                    leader_epoch=-1,
                    high_watermark=-1,
                    current_voters=(),
                    observers=(),
                )
                for index in partitions
            ),
        )
        for name, partitions in asked
    )
    return answers.response(error_code=Error.NONE, error_message="", topics=topics, nodes=())


def _described(answers: Answers, quorum: QuorumDescription, nodes: Sequence[tuple[int, tuple[Endpoint, ...]]]) -> Any:
    partition = answers.make(
        "PartitionData",
        partition_index=0,
        error_code=Error.NONE,
        error_message="",
        leader_id=NO_LEADER if quorum.leader_id is None else quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=tuple(_replica(answers, voter) for voter in quorum.voters),
        observers=tuple(_replica(answers, observer) for observer in quorum.observers),
    )
    return answers.response(
        error_code=Error.NONE,
        error_message="",
        topics=(answers.make("TopicData", topic_name=METADATA_TOPIC_NAME, partitions=(partition,)),),
        nodes=tuple(
            answers.make("Node", node_id=node_id, listeners=answers.rows("Listener", endpoints))
            for node_id, endpoints in nodes
        )
        if answers.has("Node")
        else (),
    )


def _replica(answers: Answers, replica: ReplicaDescription) -> Any:
    return answers.make(
        "ReplicaState",
        replica_id=replica.replica.node_id,
        replica_directory_id=uuid_to(replica.replica.directory_id),
        log_end_offset=replica.log_end_offset,
        last_fetch_timestamp=replica.last_fetch_timestamp_ms,
        last_caught_up_timestamp=replica.last_caught_up_timestamp_ms,
    )


def on_describe_cluster(exchange: Exchange, node: Node) -> None:
    """Serve DescribeCluster: the controllers and the active one, for a client with Alter on the cluster."""
    body, answers = exchange.body, exchange.answers
    view, asked_type = node.view(), getattr(body, "endpoint_type", 1)
    found = controllers(exchange.caller.listener, node)
    may = _authorized(exchange, node) if body.include_cluster_authorized_operations else _NOT_ASKED
    # A node that knows no leader, or suspects it, names itself. A tool then gets NOT_LEADER_OR_FOLLOWER from it and
    # retries at once. With a dead leader or none, Kafka's Admin waits until its call times out: a minute.
    is_sure = view.leader_id is not None and view.role in _SURE
    leader_id = view.leader_id if is_sure else view.node_id
    error, why = Error.NONE, None
    if asked_type != CONTROLLERS:
        error = Error.MISMATCHED_ENDPOINT_TYPE if asked_type == 1 else Error.UNSUPPORTED_ENDPOINT_TYPE
        why = f"The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type {asked_type}"
        found = {}
    cluster_id = view.cluster_id
    if authorize(exchange.caller.context(), Operation.ALTER, CLUSTER, node.image) is not Error.NONE:
        error, why = Error.CLUSTER_AUTHORIZATION_FAILED, f"{exchange.caller.principal} has no right to Alter"
        found, cluster_id, leader_id, may = {}, "", NO_LEADER, _NOT_ASKED
    exchange.send(
        lambda: answers.response(
            error_code=error,
            error_message=why,
            endpoint_type=CONTROLLERS,
            cluster_id=cluster_id,
            controller_id=leader_id,
            brokers=tuple(
                answers.make(
                    "DescribeClusterBroker", broker_id=node_id, host=at.host, port=at.port, rack=None, is_fenced=False
                )
                for node_id, at in found.items()
            ),
            cluster_authorized_operations=may,
        )
    )
