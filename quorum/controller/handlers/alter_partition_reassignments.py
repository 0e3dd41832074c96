"""AlterPartitionReassignments: partitions start or cancel a move to other brokers (KIP-455, KIP-860).

A move takes two records. Here the new replicas are added to the old ones. Once all of them are in sync (AlterPartition,
or a broker leaves), `partition_change` removes the old ones. If no replica has to catch up, one record does both.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import NodeId
from metadata_log.image import PartitionImage, TopicImage
from metadata_log.records import PartitionChangeRecord
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignedPartition,
    ReassignedTopic,
)
from quorum.controller.handlers.new_topic import RejectedError, checked_brokers
from quorum.controller.handlers.too_large import TOO_LARGE
from quorum.controller.leader_changes import election_rules
from quorum.controller.partitions.partition_change import Reassignment, change_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_alter_partition_reassignments(
    request: AlterPartitionReassignments, turn: Turn
) -> ControllerResult[AlterPartitionReassignmentsResponse]:
    """Return a PartitionChangeRecord for each changed partition. A rejected partition does not affect the others."""
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    records: list[PartitionChangeRecord] = []
    begun: dict[tuple[str, int], tuple[int, ...] | None] = {}
    topics: list[ReassignedTopic] = []
    for asked in request.topics:
        topic = turn.image.topics.named(asked.name)
        answered: list[ReassignedPartition] = []
        for wish in asked.partitions:
            index = wish.partition_index
            key = asked.name, index
            try:
                if begun.get(key, wish.replicas) != wish.replicas:
                    # Reject a repeated partition: the first entry has already changed the state.
                    raise RejectedError(Error.INVALID_REQUEST, f"Partition {asked.name}:{index} is to go two ways.")
                if key not in begun and len(records) >= turn.config.max_records_per_batch:
                    raise RejectedError(Error.POLICY_VIOLATION, TOO_LARGE)
                record = None if key in begun else _change(request, topic, asked.name, wish, turn)
            except RejectedError as refusal:
                answered.append(
                    ReassignedPartition(partition_index=index, error=refusal.error, error_message=refusal.message)
                )
                continue
            answered.append(ReassignedPartition(partition_index=index))
            begun[key] = wish.replicas
            if record is not None:
                records.append(record)
        topics.append(ReassignedTopic(name=asked.name, partitions=tuple(answered)))
    response = AlterPartitionReassignmentsResponse(
        topics=tuple(topics), allow_replication_factor_change=request.allow_replication_factor_change
    )
    return ControllerResult(records=tuple(records), response=response)


def _change(
    request: AlterPartitionReassignments, topic: TopicImage | None, name: str, wish: ReassignablePartition, turn: Turn
) -> PartitionChangeRecord | None:
    if topic is None:
        raise RejectedError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = topic.partition(wish.partition_index)
    if partition is None:
        raise RejectedError(
            Error.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{wish.partition_index}."
        )
    if wish.replicas is None:
        return _given_up(topic, partition, turn)
    wanted = checked_brokers(wish.partition_index, wish.replicas, turn)
    if not request.allow_replication_factor_change:
        _check_factor(partition, wanted)
    rules = msgspec.structs.replace(election_rules(turn, topic), allows_unclean=False)
    return change_of(topic.topic_id, partition, rules, isr=partition.isr, reassignment=_move(partition, wanted))


def _check_factor(partition: PartitionImage, wanted: tuple[NodeId, ...]) -> None:
    factor = len(set(partition.replicas).difference(partition.removing))
    if factor != len(wanted):
        why = f"The replication factor is changed from {factor} to {len(wanted)}"
        raise RejectedError(Error.INVALID_REPLICATION_FACTOR, why)


def _move(partition: PartitionImage, wanted: tuple[NodeId, ...]) -> Reassignment:
    """Return the reassignment from the present replicas to the wanted ones.

    The present replicas, including those of a move in progress, stay behind the wanted ones until these are in sync. If
    a second move removes a replica that the first one adds, Kafka still counts it as added, and that move can only be
    cancelled. Kafka also goes on removing a replica that is wanted again. Here only the last wish counts.
    """
    removing = sorted(set(partition.replicas).difference(wanted))
    adding = sorted(set(wanted).difference(partition.replicas)) or [
        replica for replica in partition.adding if replica in wanted
    ]
    return Reassignment(replicas=(*wanted, *removing), adding=tuple(adding), removing=tuple(removing))


def _given_up(topic: TopicImage, partition: PartitionImage, turn: Turn) -> PartitionChangeRecord | None:
    """Return the record that cancels a move, or raise RejectedError.

    If only added replicas are in sync, the first former one becomes leader and may lose acknowledged records. So this
    requires that the topic allows unclean elections.
    """
    if not partition.adding and not partition.removing:
        raise RejectedError(Error.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    isr = tuple(replica for replica in partition.isr if replica not in partition.adding)
    if not replicas:
        raise RejectedError(
            Error.INVALID_REPLICA_ASSIGNMENT, "Every replica is being added: no former replica is left."
        )
    rules = election_rules(turn, topic)
    if not isr and not rules.allows_unclean:
        why = (
            f"Unable to revert partition assignment for {topic.name}:{partition.partition_id} because it would require"
            " an unclean leader election."
        )
        raise RejectedError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    back = Reassignment(replicas=replicas)
    return change_of(topic.topic_id, partition, rules, isr=isr or replicas[:1], reassignment=back)
