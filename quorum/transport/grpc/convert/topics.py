"""CreateTopics, DeleteTopics and DescribeTopics on the wire.

Responses are made without their `outcome`, which `calls` adds.
"""

from __future__ import annotations

from typing import Final

from kraft.v1 import controller_pb2 as pb
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
    DescribedPartition,
    DescribedTopic,
    DescribeTopics,
    DescribeTopicsResponse,
)
from quorum.transport.grpc.convert.common import error_from, topic_id_from

DEFAULT_TIMEOUT_MS: Final = 60_000
UNSET: Final = -1
"""Requests the controller's default for the number of partitions or replicas."""


# --- CreateTopics


def _creatable_to(topic: CreatableTopic) -> pb.CreatableTopic:
    return pb.CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            pb.CreatableReplicaAssignment(partition_index=entry.partition_index, broker_ids=entry.broker_ids)
            for entry in topic.assignments
        ],
        configs=[pb.CreatableConfig(name=config.name, value=config.value) for config in topic.configs],
    )


def _creatable_from(message: pb.CreatableTopic) -> CreatableTopic:
    assignments, configs = message.assignments, message.configs
    return CreatableTopic(
        name=message.name,
        num_partitions=message.num_partitions if message.HasField("num_partitions") else UNSET,
        replication_factor=message.replication_factor if message.HasField("replication_factor") else UNSET,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=entry.partition_index, broker_ids=tuple(entry.broker_ids))
            for entry in assignments
        )
        if assignments
        else (),
        configs=tuple(
            CreatableConfig(name=config.name, value=config.value if config.HasField("value") else None)
            for config in configs
        )
        if configs
        else (),
    )


def create_topics_to(request: CreateTopics) -> pb.CreateTopicsRequest:
    """Return the request's message."""
    return pb.CreateTopicsRequest(
        topics=[_creatable_to(topic) for topic in request.topics],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )


def create_topics_from(message: pb.CreateTopicsRequest) -> CreateTopics:
    """Return the request in `message`."""
    return CreateTopics(
        topics=tuple([_creatable_from(topic) for topic in message.topics]),
        timeout_ms=message.timeout_ms if message.HasField("timeout_ms") else DEFAULT_TIMEOUT_MS,
        validate_only=message.validate_only,
    )


def create_topics_response_to(response: CreateTopicsResponse) -> pb.CreateTopicsResponse:
    """Return the response's message."""
    return pb.CreateTopicsResponse(
        topics=[
            pb.CreatableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=topic.error,
                error_message=topic.error_message,
                num_partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
            )
            for topic in response.topics
        ],
        error_code=response.error,
        error_message=response.error_message,
        throttle_time_ms=response.throttle_time_ms,
    )


def create_topics_response_from(message: pb.CreateTopicsResponse) -> CreateTopicsResponse:
    """Return the response in `message`."""
    return CreateTopicsResponse(
        topics=tuple(
            [
                CreatableTopicResult(
                    name=topic.name,
                    topic_id=topic_id_from(topic.topic_id),
                    error=error_from(topic.error_code),
                    error_message=topic.error_message if topic.HasField("error_message") else None,
                    num_partitions=topic.num_partitions,
                    replication_factor=topic.replication_factor,
                )
                for topic in message.topics
            ]
        ),
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
        throttle_time_ms=message.throttle_time_ms,
    )


# --- DeleteTopics


def delete_topics_to(request: DeleteTopics) -> pb.DeleteTopicsRequest:
    """Return the request's message."""
    return pb.DeleteTopicsRequest(
        topics=[pb.DeleteTopicState(name=topic.name, topic_id=topic.topic_id) for topic in request.topics],
        timeout_ms=request.timeout_ms,
    )


def delete_topics_from(message: pb.DeleteTopicsRequest) -> DeleteTopics:
    """Return the request in `message`."""
    return DeleteTopics(
        topics=tuple(
            DeleteTopicState(
                name=topic.name if topic.HasField("name") else None,
                topic_id=topic_id_from(topic.topic_id) if topic.HasField("topic_id") else None,
            )
            for topic in message.topics
        ),
        timeout_ms=message.timeout_ms if message.HasField("timeout_ms") else DEFAULT_TIMEOUT_MS,
    )


def delete_topics_response_to(response: DeleteTopicsResponse) -> pb.DeleteTopicsResponse:
    """Return the response's message."""
    return pb.DeleteTopicsResponse(
        topics=[
            pb.DeletableTopicResult(
                name=topic.name, topic_id=topic.topic_id, error_code=topic.error, error_message=topic.error_message
            )
            for topic in response.topics
        ],
        error_code=response.error,
        error_message=response.error_message,
        throttle_time_ms=response.throttle_time_ms,
    )


def delete_topics_response_from(message: pb.DeleteTopicsResponse) -> DeleteTopicsResponse:
    """Return the response in `message`."""
    return DeleteTopicsResponse(
        topics=tuple(
            DeletableTopicResult(
                name=topic.name if topic.HasField("name") else None,
                topic_id=topic_id_from(topic.topic_id),
                error=error_from(topic.error_code),
                error_message=topic.error_message if topic.HasField("error_message") else None,
            )
            for topic in message.topics
        ),
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
        throttle_time_ms=message.throttle_time_ms,
    )


# --- DescribeTopics


def describe_topics_to(request: DescribeTopics) -> pb.DescribeTopicsRequest:
    """Return the request's message, without its consistency."""
    return pb.DescribeTopicsRequest(
        names=request.names,
        topic_ids=request.topic_ids,
        all_topics=request.all_topics,
    )


def describe_topics_from(message: pb.DescribeTopicsRequest) -> DescribeTopics:
    """Return the request in `message`, without its consistency."""
    return DescribeTopics(
        names=tuple(message.names),
        topic_ids=tuple(topic_id_from(value) for value in message.topic_ids),
        all_topics=message.all_topics,
    )


def _described_partition_to(partition: DescribedPartition) -> pb.DescribedPartition:
    return pb.DescribedPartition(
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        replicas=partition.replicas,
        isr=partition.isr,
        eligible_leader_replicas=partition.eligible_leader_replicas,
        last_known_elr=partition.last_known_elr,
        offline_replicas=partition.offline_replicas,
        adding_replicas=partition.adding_replicas,
        removing_replicas=partition.removing_replicas,
    )


def _described_partition_from(message: pb.DescribedPartition) -> DescribedPartition:
    return DescribedPartition(
        partition_index=message.partition_index,
        leader_id=message.leader_id,
        leader_epoch=message.leader_epoch,
        partition_epoch=message.partition_epoch,
        replicas=tuple(message.replicas),
        isr=tuple(message.isr),
        eligible_leader_replicas=tuple(message.eligible_leader_replicas),
        last_known_elr=tuple(message.last_known_elr),
        offline_replicas=tuple(message.offline_replicas),
        adding_replicas=tuple(message.adding_replicas),
        removing_replicas=tuple(message.removing_replicas),
    )


def describe_topics_response_to(response: DescribeTopicsResponse) -> pb.DescribeTopicsResponse:
    """Return the response's message."""
    return pb.DescribeTopicsResponse(
        topics=[
            pb.DescribedTopic(
                error_code=topic.error,
                error_message=topic.error_message,
                name=topic.name,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                partitions=[_described_partition_to(partition) for partition in topic.partitions],
            )
            for topic in response.topics
        ],
        error_code=response.error,
        error_message=response.error_message,
    )


def describe_topics_response_from(message: pb.DescribeTopicsResponse) -> DescribeTopicsResponse:
    """Return the response in `message`."""
    return DescribeTopicsResponse(
        topics=tuple(
            DescribedTopic(
                error=error_from(topic.error_code),
                error_message=topic.error_message if topic.HasField("error_message") else None,
                name=topic.name if topic.HasField("name") else None,
                topic_id=topic_id_from(topic.topic_id),
                is_internal=topic.is_internal,
                partitions=tuple(_described_partition_from(partition) for partition in topic.partitions),
            )
            for topic in message.topics
        ),
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
    )
