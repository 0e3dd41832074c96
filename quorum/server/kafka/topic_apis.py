"""What clients ask about topics, themselves or through a broker: CreateTopics, DeleteTopics, CreatePartitions,
ListPartitionReassignments, IncrementalAlterConfigs.

Decides: nothing but the translation. Sources: KIP-4, KIP-464, KIP-516, KIP-525; KIP-195; KIP-455; KIP-339.
"""

from __future__ import annotations

from typing import Any

from metadata_log.ids import TopicId
from quorum.controller import requests as r
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers, bytes_of, milliseconds, uuid_to


def on_create_topics(exchange: Exchange, node: Node) -> None:
    """New topics."""
    body = exchange.body
    request = r.CreateTopics(
        topics=tuple(
            r.CreatableTopic(
                name=topic.name,
                num_partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
                assignments=tuple(
                    r.CreatableReplicaAssignment(
                        partition_index=each.partition_index, broker_ids=tuple(each.broker_ids)
                    )
                    for each in topic.assignments
                ),
                configs=tuple(r.CreatableConfig(name=each.name, value=each.value) for each in topic.configs),
            )
            for topic in body.topics
        ),
        timeout_ms=milliseconds(body.timeout),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _created_entity)


def _created_entity(answers: Answers, said: r.CreateTopicsResponse) -> Any:
    return answers.response(
        topics=tuple(
            answers.make(
                "CreatableTopicResult",
                name=topic.name,
                topic_id=uuid_to(topic.topic_id),
                error_code=topic.error,
                error_message=topic.error_message,
                num_partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
                configs=(),
            )
            for topic in said.topics
        )
    )


def on_delete_topics(exchange: Exchange, node: Node) -> None:
    """Topics to be gone, by name or, from version 6, by id."""
    body = exchange.body
    if exchange.header.version < 6:
        states = tuple(r.DeleteTopicState(name=name) for name in body.topic_names)
    else:
        states = tuple(
            r.DeleteTopicState(name=topic.name, topic_id=TopicId(bytes_of(topic.topic_id))) for topic in body.topics
        )
    request = r.DeleteTopics(topics=states, timeout_ms=milliseconds(body.timeout))
    ask_controller(exchange, node, request, _deleted_entity)


def _deleted_entity(answers: Answers, said: r.DeleteTopicsResponse) -> Any:
    return answers.response(
        responses=tuple(
            answers.make(
                "DeletableTopicResult",
                name=topic.name,
                topic_id=uuid_to(topic.topic_id),
                error_code=topic.error,
                error_message=topic.error_message,
            )
            for topic in said.topics
        )
    )


def on_create_partitions(exchange: Exchange, node: Node) -> None:
    """More partitions."""
    body = exchange.body
    request = r.CreatePartitions(
        topics=tuple(
            r.GrowingTopic(
                name=topic.name,
                count=topic.count,
                assignments=None
                if topic.assignments is None
                else tuple(tuple(each.broker_ids) for each in topic.assignments),
            )
            for topic in body.topics
        ),
        timeout_ms=milliseconds(body.timeout),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _grown_entity)


def _grown_entity(answers: Answers, said: r.CreatePartitionsResponse) -> Any:
    return answers.response(
        results=tuple(
            answers.make(
                "CreatePartitionsTopicResult",
                name=topic.name,
                error_code=topic.error,
                error_message=topic.error_message,
            )
            for topic in said.topics
        )
    )


def on_list_partition_reassignments(exchange: Exchange, node: Node) -> None:
    """Which partitions are being moved."""
    body = exchange.body
    named = None
    if body.topics is not None:
        named = tuple((topic.name, tuple(topic.partition_indexes)) for topic in body.topics)
    request = r.ListPartitionReassignments(topics=named, timeout_ms=milliseconds(body.timeout))
    ask_controller(exchange, node, request, _ongoing_entity)


def _ongoing_entity(answers: Answers, said: r.ListPartitionReassignmentsResponse) -> Any:
    return answers.response(
        error_code=said.error,
        error_message=said.error_message,
        topics=tuple(
            answers.make(
                "OngoingTopicReassignment",
                name=topic.name,
                partitions=tuple(
                    answers.make(
                        "OngoingPartitionReassignment",
                        partition_index=part.partition_index,
                        replicas=part.replicas,
                        adding_replicas=part.adding,
                        removing_replicas=part.removing,
                    )
                    for part in topic.partitions
                ),
            )
            for topic in said.topics
        ),
    )


def on_incremental_alter_configs(exchange: Exchange, node: Node) -> None:
    """Configs of topics and brokers."""
    body = exchange.body
    request = r.IncrementalAlterConfigs(
        resources=tuple(
            r.AlterableResource(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                configs=tuple(
                    r.AlterableConfig(name=each.name, operation=each.config_operation, value=each.value)
                    for each in resource.configs
                ),
            )
            for resource in body.resources
        ),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _altered_entity)


def _altered_entity(answers: Answers, said: r.IncrementalAlterConfigsResponse) -> Any:
    return answers.response(
        responses=tuple(
            answers.make(
                "AlterConfigsResourceResponse",
                error_code=resource.error,
                error_message=resource.error_message,
                resource_type=resource.resource_type,
                resource_name=resource.name,
            )
            for resource in said.resources
        )
    )
