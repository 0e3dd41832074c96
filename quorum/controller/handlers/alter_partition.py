"""AlterPartition: a leader changes the ISR of its partitions, if the controller accepts (KIP-497, KIP-903).

Epochs are checked first. A leader with a newer epoch gets NOT_CONTROLLER, because another controller must be active;
one with an older epoch is fenced. A member that is fenced, stopping or another incarnation cannot be in sync.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import NodeId
from metadata_log.image import RECOVERED, RECOVERING, PartitionImage, TopicImage
from metadata_log.records import MetadataRecord, PartitionChangeRecord
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.controller.leader_changes import election_rules
from quorum.controller.partitions.brokers import is_active
from quorum.controller.partitions.partition_change import LEADER_UNCHANGED, ElectionRules, change_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_alter_partition(request: AlterPartition, turn: Turn) -> ControllerResult[AlterPartitionResponse]:
    """Return a PartitionChangeRecord for each valid change, and each partition's new state; not atomic."""
    error = authorize(turn.context, Operation.CLUSTER_ACTION, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    broker = turn.image.cluster.brokers.get(NodeId(request.broker_id))
    if broker is None or broker.epoch != request.broker_epoch:
        registered = "not registered" if broker is None else f"registered with broker epoch {broker.epoch}"
        why = f"Broker {request.broker_id} is {registered}; the request is of broker epoch {request.broker_epoch}"
        return ControllerResult(response=request.rejected(Error.STALE_BROKER_EPOCH, why))
    records: list[MetadataRecord] = []
    topics = tuple(_alter_topic(request, asked, turn, records) for asked in request.topics)
    return ControllerResult(records=tuple(records), response=AlterPartitionResponse(topics=topics), is_atomic=False)


def _alter_topic(
    request: AlterPartition, asked: TopicAlteration, turn: Turn, records: list[MetadataRecord]
) -> AlteredTopic:
    topic = turn.image.topics.topic(asked.topic_id)
    rules = None if topic is None else election_rules(turn, topic)
    seen: set[int] = set()
    altered: list[AlteredPartition] = []
    for alteration in asked.partitions:
        if topic is None or rules is None:
            altered.append(_failure(alteration, Error.UNKNOWN_TOPIC_ID))
        elif alteration.partition_index in seen:
            # Reject a repeated partition: the first entry has already changed the state.
            altered.append(_failure(alteration, Error.INVALID_REQUEST))
        else:
            seen.add(alteration.partition_index)
            altered.append(_alter_partition(request, topic, alteration, rules, turn, records))
    return AlteredTopic(topic_id=asked.topic_id, partitions=tuple(altered))


def _alter_partition(
    request: AlterPartition,
    topic: TopicImage,
    alteration: PartitionAlteration,
    rules: ElectionRules,
    turn: Turn,
    records: list[MetadataRecord],
) -> AlteredPartition:
    partition = topic.partition(alteration.partition_index)
    if partition is None:
        return _failure(alteration, Error.UNKNOWN_TOPIC_OR_PARTITION)
    error = _validate(request.broker_id, partition, alteration, turn)
    if error is not Error.NONE:
        return _failure(alteration, error)
    change = change_of(
        topic.topic_id,
        partition,
        rules,
        isr=tuple(NodeId(member.broker_id) for member in alteration.new_isr),
        recovery=alteration.leader_recovery_state,
    )
    if change is None:
        return _state(partition)
    records.append(change)
    if change.leader not in (LEADER_UNCHANGED, request.broker_id):
        # The change completed a reassignment that removed this leader; the log informs it.
        return _failure(alteration, Error.NEW_LEADER_ELECTED)
    return _state(_after(partition, change))


def _validate(broker_id: int, partition: PartitionImage, alteration: PartitionAlteration, turn: Turn) -> Error:
    if alteration.leader_epoch > partition.leader_epoch or alteration.partition_epoch > partition.partition_epoch:
        return Error.NOT_CONTROLLER
    if alteration.leader_epoch < partition.leader_epoch:
        return Error.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return Error.INVALID_REQUEST
    if alteration.partition_epoch < partition.partition_epoch:
        return Error.INVALID_UPDATE_VERSION
    if not _is_sound(partition, alteration):
        return Error.INVALID_REQUEST
    return Error.NONE if _are_eligible(alteration, turn) else Error.INELIGIBLE_REPLICA


def _is_sound(partition: PartitionImage, alteration: PartitionAlteration) -> bool:
    """Return True if the wanted ISR has only replicas, each once, with the leader, which is alone during recovery."""
    isr = [member.broker_id for member in alteration.new_isr]
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return False
    if alteration.leader_recovery_state not in (RECOVERED, RECOVERING):
        return False
    if alteration.leader_recovery_state == RECOVERED:
        return True
    return len(isr) == 1 and partition.leader_recovery_state == RECOVERING


def _are_eligible(alteration: PartitionAlteration, turn: Turn) -> bool:
    brokers = turn.image.cluster.brokers
    for member in alteration.new_isr:
        broker = brokers.get(NodeId(member.broker_id))
        if broker is None or not is_active(broker) or member.broker_epoch not in (-1, broker.epoch):
            return False
    return True


def _after(partition: PartitionImage, change: PartitionChangeRecord) -> PartitionImage:
    """Return the partition after replay, for the response; every change raises the partition epoch."""
    has_leader = change.leader != LEADER_UNCHANGED
    return msgspec.structs.replace(
        partition,
        isr=partition.isr if change.isr is None else change.isr,
        leader=change.leader if has_leader else partition.leader,
        leader_epoch=partition.leader_epoch + has_leader,
        leader_recovery_state=(
            partition.leader_recovery_state if change.leader_recovery_state < 0 else change.leader_recovery_state
        ),
        partition_epoch=partition.partition_epoch + 1,
    )


def _state(partition: PartitionImage) -> AlteredPartition:
    return AlteredPartition(
        partition_index=partition.partition_id,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _failure(alteration: PartitionAlteration, error: Error) -> AlteredPartition:
    return AlteredPartition(partition_index=alteration.partition_index, error=error)
