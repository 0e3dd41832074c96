"""The partitions of a new or growing topic: placed by the request or the placer, with Kafka's errors.

Decides: replicas, ISR, leader and directories of each partition. Must not know: names, configs, ids (`create_topics`).
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.ids import NodeId, TopicId
from metadata_log.records import PartitionRecord
from metadata_log.records.levels import DIRECTORIES_LEVEL
from quorum.api.error_codes import Error
from quorum.api.topics import CreatableReplicaAssignment, CreatableTopic
from quorum.controller.metadata_levels import level_of
from quorum.controller.partitions.brokers import NewPartition
from quorum.controller.partitions.placement import PlacementError, place
from quorum.controller.turn import Turn


class RejectedError(Exception):
    """One item of a request is rejected, with error and message. Never leaves the handlers."""

    def __init__(self, error: Error, message: str) -> None:
        self.error = error
        self.message = message
        super().__init__(message)


def partitions_of(topic: CreatableTopic, turn: Turn, draw: int) -> list[NewPartition]:
    """Return the partitions of a new topic, in the order of their ids.

    Raises:
        RejectedError: the partitions cannot be placed as requested.
    """
    if topic.assignments:
        return _assigned(topic, turn)
    return _placed(topic, turn, draw)


def added_partitions(
    first: int, count: int, factor: int, assignments: tuple[tuple[int, ...], ...] | None, turn: Turn, draw: int
) -> list[NewPartition]:
    """Return the partitions to add to a topic, from `first` on, with its replication factor.

    `assignments`, if given, has `count` entries.

    Raises:
        RejectedError: the partitions cannot be placed as requested.
    """
    if assignments is None:
        return _by_the_placer(count, factor, turn, draw)
    like = CreatableReplicaAssignment(partition_index=0, broker_ids=tuple(range(factor)))
    given = [
        CreatableReplicaAssignment(partition_index=first + index, broker_ids=replicas)
        for index, replicas in enumerate(assignments)
    ]
    return _build([_checked_replicas(assignment, like, turn) for assignment in given], turn)


def partition_records(topic_id: TopicId, first: int, partitions: Sequence[NewPartition]) -> list[PartitionRecord]:
    """Return the records that create the partitions, with ids from `first` on."""
    return [
        PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=partition.replicas,
            isr=partition.isr,
            removing_replicas=(),
            adding_replicas=(),
            leader=partition.isr[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=partition.directories,
        )
        for index, partition in enumerate(partitions, first)
    ]


def _placed(topic: CreatableTopic, turn: Turn, draw: int) -> list[NewPartition]:
    config, factor, partitions = turn.config, topic.replication_factor, topic.num_partitions
    if factor < -1 or factor == 0:
        raise RejectedError(
            Error.INVALID_REPLICATION_FACTOR,
            f"Replication factor must be larger than 0, or -1 to use the default value, but is {factor}.",
        )
    if partitions < -1 or partitions == 0:
        raise RejectedError(
            Error.INVALID_PARTITIONS,
            f"Number of partitions must be larger than 0, or -1 to use the default value, but is {partitions}.",
        )
    if factor == -1:
        factor = config.default_replication_factor
    if partitions == -1:
        partitions = config.default_num_partitions
    return _by_the_placer(partitions, factor, turn, draw)


def _by_the_placer(count: int, factor: int, turn: Turn, draw: int) -> list[NewPartition]:
    try:
        placements = place(turn.brokers, count, factor, draw)
    except PlacementError as error:
        why = f"Unable to replicate the partition {factor} time(s): {error}."
        raise RejectedError(Error.INVALID_REPLICATION_FACTOR, why) from error
    # The first replica is unfenced and usable, so it is active: the ISR is never empty.
    return _build(placements, turn)


def _assigned(topic: CreatableTopic, turn: Turn) -> list[NewPartition]:
    if topic.replication_factor != -1:
        raise RejectedError(
            Error.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if topic.num_partitions != -1:
        raise RejectedError(
            Error.INVALID_REQUEST, "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    by_index: dict[int, tuple[NodeId, ...]] = {}
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in by_index:
            raise RejectedError(
                Error.INVALID_REPLICA_ASSIGNMENT, f"Found multiple manual partition assignments for partition {index}"
            )
        by_index[index] = _checked_replicas(assignment, topic.assignments[0], turn)
    if any(index not in by_index for index in range(len(by_index))):
        raise RejectedError(
            Error.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return _build([by_index[index] for index in range(len(by_index))], turn)


def _checked_replicas(
    assignment: CreatableReplicaAssignment, first: CreatableReplicaAssignment, turn: Turn
) -> tuple[NodeId, ...]:
    index = assignment.partition_index
    replicas = checked_brokers(index, assignment.broker_ids, turn)
    why: str | None = None
    if len(replicas) != len(first.broker_ids):
        why = (
            f"The manual assignment of partition {index} has {len(replicas)} replica(s), but that of partition"
            f" {first.partition_index} has {len(first.broker_ids)}."
        )
    elif turn.brokers.active.isdisjoint(replicas):
        why = f"All brokers specified for partition {index} are fenced or in controlled shutdown."
    if why is not None:
        raise RejectedError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    return replicas


def checked_brokers(index: int, brokers: tuple[int, ...], turn: Turn) -> tuple[NodeId, ...]:
    """Check the requested replicas of partition `index`: registered brokers, each once.

    Raises:
        RejectedError: with INVALID_REPLICA_ASSIGNMENT, if a replica is invalid.
    """
    why: str | None = None
    if not brokers:
        why = f"The manual assignment of partition {index} includes an empty replica list."
    elif unknown := sorted(broker for broker in brokers if NodeId(broker) not in turn.image.cluster.brokers):
        why = f"The manual assignment of partition {index} includes broker {unknown[0]}, which is not registered."
    elif len(set(brokers)) != len(brokers):
        why = f"The manual assignment of partition {index} includes a broker more than once."
    if why is not None:
        raise RejectedError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    return tuple(NodeId(broker) for broker in brokers)


def _build(placements: Sequence[tuple[NodeId, ...]], turn: Turn) -> list[NewPartition]:
    has_directories = level_of(turn.image) >= DIRECTORIES_LEVEL
    new_partition = turn.new_partitions.on
    return [new_partition(replicas, has_directories=has_directories) for replicas in placements]
