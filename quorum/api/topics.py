"""CreateTopics, DeleteTopics and DescribeTopics with their responses (KIP-4, KIP-516).

Results are in the order of the request. A topic that was named twice has one result, at its first place. If `error` of
the whole response is set, each topic's result repeats it.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class CreatableReplicaAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The manual placement of one partition: the first broker is the preferred leader."""

    partition_index: int
    broker_ids: tuple[int, ...]


class CreatableConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A config of the new topic. A null value is rejected with INVALID_CONFIG."""

    name: str
    value: str | None


class CreatableTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic to create. It has either `assignments` or the two numbers, of which -1 means the controller's default."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    configs: tuple[CreatableConfig, ...] = ()


class CreateTopics(Request["CreateTopicsResponse"], frozen=True, kw_only=True, gc=False):
    """Create a batch of topics, each on its own. A rejected topic does not affect the others.

    With `validate_only` the response is the same, but nothing is written and `topic_id` is zero.
    """

    topics: tuple[CreatableTopic, ...]
    timeout_ms: int = 60_000
    validate_only: bool = False
    wants_configs: bool = False
    """True if the response shall contain all configs of a new topic (KIP-525), as in Kafka's protocol."""

    def rejected(self, error: Error, message: str | None = None) -> CreateTopicsResponse:
        """Return the response that rejects each topic for the same reason."""
        names = dict.fromkeys(topic.name for topic in self.topics)
        topics = tuple(
            CreatableTopicResult(name=name, error=error, topic_id=ZERO_TOPIC_ID, error_message=message)
            for name in names
        )
        return CreateTopicsResponse(topics=topics, error=error, error_message=message)


class ConfigSource(IntEnum):
    """The origin of a config's value (KIP-226); the codes are Kafka's."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class EffectiveConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The value of a config in force, and its origin."""

    name: str
    value: str
    source: ConfigSource


class CreatableTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one topic. Unless `error` is `NONE`, the id is zero and the numbers are -1.

    A client that may not describe the topic's configs gets a `config_error` in place of numbers and configs.
    """

    name: str
    error: Error
    topic_id: TopicId
    error_message: str | None = None
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[EffectiveConfig, ...] = ()
    config_error: Error = Error.NONE


class CreateTopicsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to CreateTopics."""

    topics: tuple[CreatableTopicResult, ...] = ()
    throttle_time_ms: int = 0
    """How long the client should pause its requests, because it has used up its quota."""
    error: Error = Error.NONE
    error_message: str | None = None


class DeleteTopicState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic to delete, by name or by id: exactly one of them is set."""

    name: str | None = None
    topic_id: TopicId | None = None


class DeleteTopics(Request["DeleteTopicsResponse"], frozen=True, kw_only=True, gc=False):
    """Delete topics. A topic is deleted once the record commits, whether or not a broker responds."""

    topics: tuple[DeleteTopicState, ...]
    timeout_ms: int = 60_000

    def rejected(self, error: Error, message: str | None = None) -> DeleteTopicsResponse:
        """Return the response that rejects each topic for the same reason."""
        topics = tuple(
            DeletableTopicResult(
                error=error, name=topic.name, topic_id=topic.topic_id or ZERO_TOPIC_ID, error_message=message
            )
            for topic in self.topics
        )
        return DeleteTopicsResponse(topics=topics, error=error, error_message=message)


class DeletableTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one topic: name and id, if both are known."""

    error: Error
    name: str | None
    topic_id: TopicId
    error_message: str | None = None


class DeleteTopicsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to DeleteTopics."""

    topics: tuple[DeletableTopicResult, ...] = ()
    throttle_time_ms: int = 0
    """How long the client should pause its requests, because it has used up its quota."""
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeTopics(Read["DescribeTopicsResponse"], frozen=True, kw_only=True, gc=False):
    """Describe topics by id, by name, or all of them. The client sets exactly one of the three fields."""

    names: tuple[str, ...] = ()
    topic_ids: tuple[TopicId, ...] = ()
    all_topics: bool = False

    def rejected(self, error: Error, message: str | None = None) -> DescribeTopicsResponse:
        """Return the response that rejects the whole request."""
        return DescribeTopicsResponse(error=error, error_message=message)


class DescribedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A partition as in the image; `leader_id` is -1 if it has no leader."""

    partition_index: int
    leader_id: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    """Replicas on brokers that are fenced or not registered."""
    adding_replicas: tuple[int, ...] = ()
    """Replicas that a reassignment adds (KIP-455); they are among `replicas`."""
    removing_replicas: tuple[int, ...] = ()


class DescribedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One topic. For an unknown id, `name` is `None` and `error` is UNKNOWN_TOPIC_ID."""

    error: Error
    name: str | None
    topic_id: TopicId
    is_internal: bool = False
    partitions: tuple[DescribedPartition, ...] = ()
    error_message: str | None = None


class DescribeTopicsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to DescribeTopics. If all topics were requested, they are sorted by name."""

    topics: tuple[DescribedTopic, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
