"""CreateTopics: creates or rejects each topic on its own; the records of all created topics are in one batch.

Sources: KIP-4 (the request), KIP-464 (defaults), KIP-516 (ids), TopicRecord, ConfigRecord, PartitionRecord. The order
of the records is topic, configs, partitions. If partitions keep eligible leader replicas, ClearElr follows a config
`min.insync.replicas`.
"""

from __future__ import annotations

from collections import Counter

from metadata_log.ids import METADATA_TOPIC_NAME, ZERO_TOPIC_ID, TopicId
from metadata_log.image import ResourceType
from metadata_log.records import ClearElrRecord, ConfigRecord, MetadataRecord, TopicRecord
from metadata_log.topic_names import may_collide
from quorum.api.context import CLUSTER, Operation, Resource, authorize
from quorum.api.context import ResourceType as AclResourceType
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopic, CreatableTopicResult, CreateTopics, CreateTopicsResponse, EffectiveConfig
from quorum.controller.configs.effective import MIN_INSYNC_REPLICAS
from quorum.controller.configs.topics import why_invalid
from quorum.controller.handlers.new_topic import RejectedError, partition_records, partitions_of
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.partitions.brokers import NewPartition
from quorum.controller.result import ControllerResult
from quorum.controller.topic_names import why_illegal
from quorum.controller.turn import Turn
from quorum.draws import GAMMA


def handle_create_topics(request: CreateTopics, turn: Turn) -> ControllerResult[CreateTopicsResponse]:
    """Records for the topics that can be created, and what became of each.

    Not transactional over the topics: one refused leaves the others be.
    """
    if not request.topics:
        return ControllerResult(response=CreateTopicsResponse())
    if request.timeout_ms <= 0:
        return _refused(request, Error.REQUEST_TIMED_OUT, f"The timeout of {request.timeout_ms} ms has passed.")
    if _most_partitions(request, turn) > turn.config.max_records_per_batch:
        return _refused(request, Error.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    batch = _Batch(turn, wants_configs=request.wants_configs)
    duplicates = _named_twice(request)
    results: list[CreatableTopicResult] = []
    answered: set[str] = set()
    for topic in request.topics:
        if topic.name in answered:
            continue
        if topic.name in duplicates:
            answered.add(topic.name)
            results.append(_failure(topic.name, Error.INVALID_REQUEST, "Duplicate topic name."))
            continue
        results.append(batch.add(topic, validate_only=request.validate_only))
    if (too_many := refusal_of_too_many(request, len(batch.records), turn)) is not None:
        return too_many
    records = () if request.validate_only else tuple(batch.records)
    response = CreateTopicsResponse(topics=tuple(results), throttle_time_ms=batch.quota.throttle_time_ms)
    return ControllerResult(records=records, response=response)


def _named_twice(request: CreateTopics) -> frozenset[str]:
    names = [topic.name for topic in request.topics]
    if len(set(names)) == len(names):
        return frozenset()
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def _refused(request: CreateTopics, error: Error, message: str) -> ControllerResult[CreateTopicsResponse]:
    return ControllerResult(response=request.rejected(error, message))


def _failure(name: str, error: Error, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error=error, topic_id=ZERO_TOPIC_ID, error_message=message)


def _most_partitions(request: CreateTopics, turn: Turn) -> int:
    """Return the number of requested partitions before any work. A topic without partitions counts as one."""
    default = turn.config.default_num_partitions
    return sum(
        len(topic.assignments) or (default if topic.num_partitions == -1 else max(topic.num_partitions, 1))
        for topic in request.topics
    )


class _Batch:
    """The records and names of the request so far."""

    __slots__ = ("_draw", "_may_create_any", "_taken_ids", "_turn", "_wants_configs", "quota", "records")

    def __init__(self, turn: Turn, *, wants_configs: bool) -> None:
        self._turn = turn
        self._wants_configs = wants_configs
        self._draw = turn.draw
        self._taken_ids: set[TopicId] = set()
        self._may_create_any = authorize(turn.context, Operation.CREATE, CLUSTER, turn.image) is Error.NONE
        self.quota = turn.mutation_quota()
        self.records: list[MetadataRecord] = []

    def add(self, topic: CreatableTopic, *, validate_only: bool) -> CreatableTopicResult:
        """Add the records of one topic, unless it is rejected, and return its result."""
        try:
            self._check_name(topic.name)
            if topic.configs:
                self._check_configs(topic)
            self._draw += GAMMA
            partitions = partitions_of(topic, self._turn, self._draw)
            if not self.quota.take(len(partitions)):
                raise RejectedError(Error.THROTTLING_QUOTA_EXCEEDED, self.quota.why_not)
        except RejectedError as refusal:
            return _failure(topic.name, refusal.error, refusal.message)
        topic_id = ZERO_TOPIC_ID if validate_only else self._turn.new_topic_id(self._taken_ids)
        self._add_records(topic, topic_id, partitions)
        if not self._may_describe_configs(topic.name):
            return CreatableTopicResult(
                name=topic.name, error=Error.NONE, topic_id=topic_id, config_error=Error.TOPIC_AUTHORIZATION_FAILED
            )
        return CreatableTopicResult(
            name=topic.name,
            error=Error.NONE,
            topic_id=topic_id,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            configs=self._effective_configs(topic) if self._wants_configs else (),
        )

    def _may_describe_configs(self, name: str) -> bool:
        turn = self._turn
        if turn.context.authorizer is None:
            return True
        resource = Resource(resource_type=AclResourceType.TOPIC, name=name)
        return authorize(turn.context, Operation.DESCRIBE_CONFIGS, resource, turn.image) is Error.NONE

    def _effective_configs(self, topic: CreatableTopic) -> tuple[EffectiveConfig, ...]:
        own = {config.name: config.value for config in topic.configs if config.value is not None}
        return self._turn.state.topic_configs.of(own, self._turn.image)

    def _check_name(self, name: str) -> None:
        turn = self._turn
        if name == METADATA_TOPIC_NAME:
            raise RejectedError(
                Error.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC_NAME} is prohibited."
            )
        if not self._may_create_any:
            resource = Resource(resource_type=AclResourceType.TOPIC, name=name)
            if authorize(turn.context, Operation.CREATE, resource, turn.image) is not Error.NONE:
                raise RejectedError(Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        if name in turn.image.topics.by_name:
            raise RejectedError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        why = why_illegal(name)
        if why is not None:
            raise RejectedError(Error.INVALID_TOPIC_EXCEPTION, why)
        if may_collide(name):
            other = turn.state.index.colliding_name(name, turn.image)
            if other is not None:
                raise RejectedError(
                    Error.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
                )

    def _check_configs(self, topic: CreatableTopic) -> None:
        why = why_invalid(topic.configs, may_be_remote=self._turn.config.remote_log_storage_system_enable)
        if why is not None:
            raise RejectedError(Error.INVALID_CONFIG, why)

    def _add_records(self, topic: CreatableTopic, topic_id: TopicId, partitions: list[NewPartition]) -> None:
        records = self.records
        records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        if topic.configs:
            records.extend(self._config_records(topic))
        records.extend(partition_records(topic_id, 0, partitions))

    def _config_records(self, topic: CreatableTopic) -> list[MetadataRecord]:
        # The last value of a repeated config counts.
        values = {config.name: config.value for config in topic.configs}
        records: list[MetadataRecord] = [
            ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value)
            for name, value in values.items()
        ]
        if MIN_INSYNC_REPLICAS in values and self._turn.image.features.elr_enabled:
            records.append(ClearElrRecord(topic_name=topic.name))
        return records
