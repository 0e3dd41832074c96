"""CreatePartitions: adds partitions to topics, each on its own, with all records in one batch (KIP-195).

A topic keeps its replication factor. New partitions are placed like those of a new topic, or by the request.
"""

from __future__ import annotations

from collections import Counter

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.records import MetadataRecord, PartitionRecord
from quorum.api.context import Operation, Resource, ResourceType, authorize
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic, GrownTopic
from quorum.controller.handlers.new_topic import RejectedError, added_partitions, partition_records
from quorum.controller.handlers.too_large import TOO_LARGE, refusal_of_too_many
from quorum.controller.mutation_quota import MutationQuota
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn
from quorum.draws import GAMMA


def handle_create_partitions(request: CreatePartitions, turn: Turn) -> ControllerResult[CreatePartitionsResponse]:
    """Return PartitionRecords for the valid topics, and a result for each topic."""
    if (too_many := refusal_of_too_many(request, len(request.topics), turn)) is not None:
        return too_many
    times_named = Counter(topic.name for topic in request.topics)
    records: list[MetadataRecord] = []
    results: list[GrownTopic] = []
    draw, quota = turn.draw, turn.mutation_quota()
    for topic in {topic.name: topic for topic in request.topics}.values():
        draw += GAMMA
        try:
            if times_named[topic.name] > 1:
                raise RejectedError(Error.INVALID_REQUEST, "Duplicate topic name.")
            records += _grown(topic, turn, draw, quota, turn.config.max_records_per_batch - len(records))
        except RejectedError as refusal:
            results.append(GrownTopic(name=topic.name, error=refusal.error, error_message=refusal.message))
        else:
            results.append(GrownTopic(name=topic.name))
    return ControllerResult(
        records=() if request.validate_only else tuple(records),
        response=CreatePartitionsResponse(topics=tuple(results), throttle_time_ms=quota.throttle_time_ms),
    )


def _grown(asked: GrowingTopic, turn: Turn, draw: int, quota: MutationQuota, most: int) -> list[PartitionRecord]:
    resource = Resource(resource_type=ResourceType.TOPIC, name=asked.name)
    if authorize(turn.context, Operation.ALTER, resource, turn.image) is not Error.NONE:
        raise RejectedError(Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
    if asked.name == METADATA_TOPIC_NAME:
        raise RejectedError(Error.INVALID_REQUEST, f"Alteration of internal topic {METADATA_TOPIC_NAME} is prohibited.")
    topic = turn.image.topics.named(asked.name)
    if topic is None:
        raise RejectedError(Error.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    first = len(topic.partitions)
    if asked.count == first:
        raise RejectedError(Error.INVALID_PARTITIONS, f"Topic already has {first} partition(s).")
    if asked.count < first:
        why = f"The topic {asked.name} currently has {first} partition(s); {asked.count} would not be an increase."
        raise RejectedError(Error.INVALID_PARTITIONS, why)
    added = asked.count - first
    if added > most:
        raise RejectedError(Error.POLICY_VIOLATION, TOO_LARGE)
    given = asked.assignments
    if given is not None and len(given) != added:
        why = f"Attempted to add {added} additional partition(s), but only {len(given)} assignment(s) were given."
        raise RejectedError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    if not quota.take(added):
        raise RejectedError(Error.THROTTLING_QUOTA_EXCEEDED, quota.why_not)
    factor = len(topic.partitions[0].replicas)
    partitions = added_partitions(first, added, factor, given, turn, draw)
    return partition_records(topic.topic_id, first, partitions)
