"""The APIs of topics: CreateTopics, DeleteTopics, CreatePartitions.

Sources: KIP-4, KIP-464, KIP-516, KIP-525; KIP-195.
"""

from __future__ import annotations

from typing import Any, Final

from metadata_log.ids import TopicId
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopics,
    CreateTopicsResponse,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from quorum.server.kafka.exchange import Exchange, ask_controller, ask_for_frame
from quorum.server.node import Node
from quorum.transport.kafka.create_topics_frame import FIRST_WITH_CONFIGS, create_topics_frame
from quorum.transport.kafka.wire import Answers, bytes_of, duration_to, milliseconds, uuid_to

_KNOWS_DELETION_DISABLED: Final = 3


def on_create_topics(exchange: Exchange, node: Node) -> None:
    """Serve CreateTopics."""
    body, header = exchange.body, exchange.header
    request = body if isinstance(body, CreateTopics) else create_topics_from(body, header.version)
    if header.version < FIRST_WITH_CONFIGS:
        ask_controller(exchange, node, request, _created_entity)
    else:
        correlation_id, version = header.correlation_id, header.version
        ask_for_frame(exchange, node, request, lambda said: create_topics_frame(correlation_id, version, said))


def create_topics_from(body: Any, version: int) -> CreateTopics:
    """Return the request to the controller from kio's entity."""
    return CreateTopics(
        topics=tuple(
            CreatableTopic(
                name=topic.name,
                num_partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
                assignments=tuple(
                    CreatableReplicaAssignment(partition_index=each.partition_index, broker_ids=tuple(each.broker_ids))
                    for each in topic.assignments
                ),
                configs=tuple(CreatableConfig(name=each.name, value=each.value) for each in topic.configs),
            )
            for topic in body.topics
        ),
        timeout_ms=milliseconds(body.timeout),
        validate_only=body.validate_only,
        wants_configs=version >= FIRST_WITH_CONFIGS,
    )


def _created_entity(answers: Answers, said: CreateTopicsResponse) -> Any:
    topics = answers.rows("CreatableTopicResult", said.topics)
    return answers.response(throttle_time=duration_to(said.throttle_time_ms), topics=topics)


def on_delete_topics(exchange: Exchange, node: Node) -> None:
    """Serve DeleteTopics, by name or, from version 6, by id."""
    body = exchange.body
    version = exchange.header.version
    if version < 6:
        states = tuple(DeleteTopicState(name=name) for name in body.topic_names)
    else:
        states = tuple(
            DeleteTopicState(name=topic.name, topic_id=TopicId(bytes_of(topic.topic_id))) for topic in body.topics
        )
    request = DeleteTopics(topics=states, timeout_ms=milliseconds(body.timeout))
    ask_controller(exchange, node, request, lambda answers, said: _deleted_entity(answers, said, version))


def _deleted_entity(answers: Answers, said: DeleteTopicsResponse, version: int) -> Any:
    responses = answers.rows(
        "DeletableTopicResult",
        said.topics,
        topic_id=lambda topic: uuid_to(topic.topic_id),
        error_code=lambda topic: _as_old_clients_know_it(topic.error, version),
    )
    return answers.response(throttle_time=duration_to(said.throttle_time_ms), responses=responses)


def _as_old_clients_know_it(error: Error, version: int) -> Error:
    """Return the error for that version: before version 3, TOPIC_DELETION_DISABLED becomes INVALID_REQUEST."""
    is_unknown = error is Error.TOPIC_DELETION_DISABLED and version < _KNOWS_DELETION_DISABLED
    return Error.INVALID_REQUEST if is_unknown else error


def on_create_partitions(exchange: Exchange, node: Node) -> None:
    """Serve CreatePartitions."""
    body = exchange.body
    request = CreatePartitions(
        topics=tuple(
            GrowingTopic(
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


def _grown_entity(answers: Answers, said: CreatePartitionsResponse) -> Any:
    results = answers.rows("CreatePartitionsTopicResult", said.topics)
    return answers.response(throttle_time=duration_to(said.throttle_time_ms), results=results)
