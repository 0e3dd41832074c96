"""DescribeQuorum and DescribeCluster: what `kafka-metadata-quorum --bootstrap-controller` asks.

Decides: nothing but the translation. Sources: KIP-595, KIP-836, KIP-853 (DescribeQuorum v2), KIP-919 (DescribeCluster
of controllers).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.voters import Endpoint
from quorum.errors import Error
from quorum.raft.quorum_description import QuorumDescription, ReplicaDescription
from quorum.server.kafka.exchange import Exchange
from quorum.server.kafka.places import controllers
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers, uuid_to

CONTROLLERS: Final = 2
"""Endpoint type of DescribeCluster; 1 are brokers, who answer that themselves."""
_NO_LEADER: Final = -1
_SURE: Final = ("leader", "follower")
"""Roles of Raft in which the leader that is known is believed to live."""
_NOT_ASKED: Final = -(1 << 31)
_ALL_OF_A_CLUSTER: Final = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
"""Operations that ANONYMOUS may do to the cluster: Create, Alter, Describe, ClusterAction, DescribeConfigs,
AlterConfigs, IdempotentWrite."""


def on_describe_quorum(exchange: Exchange, node: Node) -> None:
    """As the leader sees it; NOT_LEADER_OR_FOLLOWER from everybody else."""
    answers = exchange.answers
    quorum, view = node.describe_quorum(), node.view()
    asked = [(topic.topic_name, [part.partition_index for part in topic.partitions]) for topic in exchange.body.topics]
    if quorum.leader_id != view.node_id:
        why = "this replica does not lead"
        exchange.send(
            lambda: answers.response(error_code=Error.NOT_LEADER_OR_FOLLOWER, error_message=why, topics=(), nodes=())
        )
    elif asked != [(METADATA_TOPIC_NAME, [0])]:
        exchange.send(lambda: _unknown(answers, asked))
    else:
        nodes = [(each.replica.node_id, each.endpoints) for each in quorum.voters]
        exchange.send(lambda: _described(answers, quorum, nodes))


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
                    leader_id=_NO_LEADER,
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
        leader_id=_NO_LEADER if quorum.leader_id is None else quorum.leader_id,
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
            answers.make(
                "Node",
                node_id=node_id,
                listeners=tuple(answers.make("Listener", name=at.name, host=at.host, port=at.port) for at in endpoints),
            )
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
    """Which controllers there are, and who of them is active."""
    body, answers = exchange.body, exchange.answers
    view, asked_type = node.view(), getattr(body, "endpoint_type", 1)
    found = controllers(exchange.caller.listener, node)
    may = _ALL_OF_A_CLUSTER if body.include_cluster_authorized_operations else _NOT_ASKED
    # Who suspects the leader it knows names none: a tool that is sent to a dead one may wait a minute for it.
    is_sure = view.leader_id is not None and view.role in _SURE
    leader_id = view.leader_id if is_sure else _NO_LEADER
    error, why = Error.NONE, None
    if asked_type != CONTROLLERS:
        error = Error.MISMATCHED_ENDPOINT_TYPE if asked_type == 1 else Error.UNSUPPORTED_ENDPOINT_TYPE
        why = f"The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type {asked_type}"
        found = {}
    exchange.send(
        lambda: answers.response(
            error_code=error,
            error_message=why,
            endpoint_type=CONTROLLERS,
            cluster_id=view.cluster_id,
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
