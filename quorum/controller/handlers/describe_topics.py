"""DescribeTopics: the image's topics, by name, by id, or all (KIP-516).

An unknown id gets its error before any authorization. A known topic that the client may not describe does not reveal
its name. The metadata topic, which has no partitions, is described on request and never listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from metadata_log.ids import METADATA_TOPIC_NAME, ZERO_TOPIC_ID, TopicId
from metadata_log.image import PartitionImage, TopicImage
from quorum.api.context import Operation, Resource, ResourceType, authorize
from quorum.api.error_codes import Error
from quorum.api.topics import DescribedPartition, DescribedTopic, DescribeTopics, DescribeTopicsResponse
from quorum.controller.result import ControllerResult
from quorum.controller.topic_names import INTERNAL_TOPICS
from quorum.controller.turn import Turn

Key = TypeVar("Key", str, TopicId)
_MOST_PARTITIONS: Final = 100_000
"""The most partitions of all topics that a request names: describing so many takes half a second."""


def handle_describe_topics(request: DescribeTopics, turn: Turn) -> ControllerResult[DescribeTopicsResponse]:
    """Return the response from the given image, without records.

    A repeated topic is described again, and counts again. Topics beyond the limit of partitions are rejected, unless
    the request is for all topics.
    """
    if sum((bool(request.names), bool(request.topic_ids), request.all_topics)) > 1:
        why = "Ask by names, by ids or for all topics: only one of them."
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
    if request.all_topics:
        topics = _all(turn)
    elif request.topic_ids:
        topics = _bounded(request.topic_ids, lambda topic_id: _by_id(topic_id, turn))
    else:
        topics = _bounded(request.names, lambda name: _by_name(name, turn))
    return ControllerResult(response=DescribeTopicsResponse(topics=topics))


def _bounded(keys: tuple[Key, ...], describe: Callable[[Key], DescribedTopic]) -> tuple[DescribedTopic, ...]:
    known: dict[Key, DescribedTopic] = {}
    told: list[DescribedTopic] = []
    left = _MOST_PARTITIONS
    for key in keys:
        topic = known.get(key)
        if topic is None:
            topic = known[key] = describe(key)
        if len(topic.partitions) > left:
            topic = known[key] = _too_many(topic)
        left -= len(topic.partitions)
        told.append(topic)
    return tuple(told)


def _too_many(topic: DescribedTopic) -> DescribedTopic:
    why = f"The topics asked for have more than {_MOST_PARTITIONS} partitions: ask for fewer at once."
    return DescribedTopic(error=Error.POLICY_VIOLATION, name=topic.name, topic_id=topic.topic_id, error_message=why)


def _may_describe(name: str, turn: Turn) -> bool:
    resource = Resource(resource_type=ResourceType.TOPIC, name=name)
    return authorize(turn.context, Operation.DESCRIBE, resource, turn.image) is Error.NONE


def _all(turn: Turn) -> tuple[DescribedTopic, ...]:
    topics = turn.image.topics
    names = [name for name in topics.by_name if name != METADATA_TOPIC_NAME and _may_describe(name, turn)]
    return tuple(_describe(topics.by_id[topics.by_name[name]], turn) for name in sorted(names))


def _by_id(topic_id: TopicId, turn: Turn) -> DescribedTopic:
    topic = turn.image.topics.topic(topic_id)
    if topic is None:
        why = "There is no topic with this id."
        return DescribedTopic(error=Error.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, error_message=why)
    if not _may_describe(topic.name, turn):
        why = "Authorization failed."
        return DescribedTopic(error=Error.TOPIC_AUTHORIZATION_FAILED, name=None, topic_id=topic_id, error_message=why)
    return _describe(topic, turn)


def _by_name(name: str, turn: Turn) -> DescribedTopic:
    error, why = Error.NONE, None
    topic = turn.image.topics.named(name)
    if not _may_describe(name, turn):
        error, why = Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed."
    elif topic is None:
        error, why = Error.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic named '{name}'."
    if topic is None or error is not Error.NONE:
        return DescribedTopic(error=error, name=name, topic_id=ZERO_TOPIC_ID, error_message=why)
    return _describe(topic, turn)


def _describe(topic: TopicImage, turn: Turn) -> DescribedTopic:
    return DescribedTopic(
        error=Error.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(_describe_partition(partition, turn) for partition in topic.partitions),
    )


def _describe_partition(partition: PartitionImage, turn: Turn) -> DescribedPartition:
    brokers = turn.image.cluster.brokers
    offline = tuple(
        replica for replica in partition.replicas if (broker := brokers.get(replica)) is None or broker.fenced
    )
    return DescribedPartition(
        partition_index=partition.partition_id,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        replicas=partition.replicas,
        isr=partition.isr,
        eligible_leader_replicas=partition.elr,
        last_known_elr=partition.last_known_elr,
        offline_replicas=offline,
        adding_replicas=partition.adding,
        removing_replicas=partition.removing,
    )
