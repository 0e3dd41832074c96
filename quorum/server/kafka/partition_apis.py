"""The APIs of replica placement and partition leaders.

These are AlterPartitionReassignments, ListPartitionReassignments and ElectLeaders. Sources: KIP-455, KIP-860; KIP-183,
KIP-460.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from quorum.api.elections import ElectedTopic, ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignments,
    ListPartitionReassignmentsResponse,
    OngoingTopic,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers, milliseconds


def on_alter_partition_reassignments(exchange: Exchange, node: Node) -> None:
    """Serve AlterPartitionReassignments, which starts or cancels reassignments."""
    body = exchange.body
    request = AlterPartitionReassignments(
        topics=tuple(
            ReassignableTopic(
                name=topic.name,
                partitions=tuple(
                    ReassignablePartition(
                        partition_index=part.partition_index,
                        replicas=None if part.replicas is None else tuple(part.replicas),
                    )
                    for part in topic.partitions
                ),
            )
            for topic in body.topics
        ),
        timeout_ms=milliseconds(body.timeout),
        allow_replication_factor_change=getattr(body, "allow_replication_factor_change", True),
    )
    ask_controller(exchange, node, request, _reassigned_entity)


def _reassigned_entity(answers: Answers, said: AlterPartitionReassignmentsResponse) -> Any:
    return answers.response(
        allow_replication_factor_change=said.allow_replication_factor_change,
        error_code=said.error,
        error_message=said.error_message,
        responses=answers.rows(
            "ReassignableTopicResponse",
            said.topics,
            partitions=lambda topic: answers.rows("ReassignablePartitionResponse", topic.partitions),
        ),
    )


def on_list_partition_reassignments(exchange: Exchange, node: Node) -> None:
    """Serve ListPartitionReassignments."""
    body = exchange.body
    named = None
    if body.topics is not None:
        named = tuple(
            TopicPartitions(topic=topic.name, partitions=tuple(topic.partition_indexes)) for topic in body.topics
        )
    request = ListPartitionReassignments(topics=named, timeout_ms=milliseconds(body.timeout))
    ask_controller(exchange, node, request, _ongoing_entity)


def _ongoing_entity(answers: Answers, said: ListPartitionReassignmentsResponse) -> Any:
    def partitions(topic: OngoingTopic) -> Any:
        adding, removing = attrgetter("adding"), attrgetter("removing")
        return answers.rows(
            "OngoingPartitionReassignment", topic.partitions, adding_replicas=adding, removing_replicas=removing
        )

    return answers.response(
        error_code=said.error,
        error_message=said.error_message,
        topics=answers.rows("OngoingTopicReassignment", said.topics, partitions=partitions),
    )


def on_elect_leaders(exchange: Exchange, node: Node) -> None:
    """Serve ElectLeaders."""
    body = exchange.body
    named = None
    if body.topic_partitions is not None:
        named = tuple(
            TopicPartitions(topic=each.topic, partitions=tuple(each.partitions)) for each in body.topic_partitions
        )
    request = ElectLeaders(
        election_type=getattr(body, "election_type", ElectionType.PREFERRED),
        partitions=named,
        timeout_ms=milliseconds(body.timeout),
    )
    ask_controller(exchange, node, request, _elected_entity)


def _elected_entity(answers: Answers, said: ElectLeadersResponse) -> Any:
    def partitions(topic: ElectedTopic) -> Any:
        return answers.rows("PartitionResult", topic.partitions, partition_id=attrgetter("partition_index"))

    return answers.response(
        error_code=said.error,
        replica_election_results=answers.rows("ReplicaElectionResult", said.topics, partition_result=partitions),
    )
