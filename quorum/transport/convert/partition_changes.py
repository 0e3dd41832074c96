"""AlterPartition on the wire (KIP-497, KIP-704, KIP-903)."""

from __future__ import annotations

from typing import Final

from kraft.v1 import controller_pb2 as pb
from quorum.controller.requests import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.transport.convert.common import error_from, topic_id_from

UNSET: Final = -1
"""A broker epoch that is not compared."""


def alter_partition_to(request: AlterPartition) -> pb.AlterPartitionRequest:
    """The request on the wire."""
    return pb.AlterPartitionRequest(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        topics=[
            pb.AlterPartitionRequest.Topic(
                topic_id=topic.topic_id, partitions=[_alteration_to(partition) for partition in topic.partitions]
            )
            for topic in request.topics
        ],
    )


def _alteration_to(partition: PartitionAlteration) -> pb.AlterPartitionRequest.Partition:
    return pb.AlterPartitionRequest.Partition(
        partition_index=partition.partition_index,
        leader_epoch=partition.leader_epoch,
        new_isr=[
            pb.AlterPartitionRequest.BrokerState(broker_id=state.broker_id, broker_epoch=state.broker_epoch)
            for state in partition.new_isr
        ],
        partition_epoch=partition.partition_epoch,
        leader_recovery_state=partition.leader_recovery_state,
    )


def alter_partition_from(message: pb.AlterPartitionRequest) -> AlterPartition:
    """What `message` asks."""
    return AlterPartition(
        broker_id=message.broker_id,
        broker_epoch=message.broker_epoch,
        topics=tuple(
            TopicAlteration(
                topic_id=topic_id_from(topic.topic_id),
                partitions=tuple(_alteration_from(partition) for partition in topic.partitions),
            )
            for topic in message.topics
        ),
    )


def _alteration_from(message: pb.AlterPartitionRequest.Partition) -> PartitionAlteration:
    return PartitionAlteration(
        partition_index=message.partition_index,
        leader_epoch=message.leader_epoch,
        new_isr=tuple(
            BrokerState(
                broker_id=state.broker_id,
                broker_epoch=state.broker_epoch if state.HasField("broker_epoch") else UNSET,
            )
            for state in message.new_isr
        ),
        partition_epoch=message.partition_epoch,
        leader_recovery_state=message.leader_recovery_state,
    )


def alter_partition_response_to(response: AlterPartitionResponse) -> pb.AlterPartitionResponse:
    """The answer on the wire."""
    return pb.AlterPartitionResponse(
        error_code=response.error,
        error_message=response.error_message,
        topics=[
            pb.AlterPartitionResponse.Topic(
                topic_id=topic.topic_id, partitions=[_altered_to(partition) for partition in topic.partitions]
            )
            for topic in response.topics
        ],
    )


def _altered_to(partition: AlteredPartition) -> pb.AlterPartitionResponse.Partition:
    return pb.AlterPartitionResponse.Partition(
        partition_index=partition.partition_index,
        error_code=partition.error,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def alter_partition_response_from(message: pb.AlterPartitionResponse) -> AlterPartitionResponse:
    """What `message` answers."""
    return AlterPartitionResponse(
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
        topics=tuple(
            AlteredTopic(
                topic_id=topic_id_from(topic.topic_id),
                partitions=tuple(_altered_from(partition) for partition in topic.partitions),
            )
            for topic in message.topics
        ),
    )


def _altered_from(message: pb.AlterPartitionResponse.Partition) -> AlteredPartition:
    return AlteredPartition(
        partition_index=message.partition_index,
        error=error_from(message.error_code),
        leader_id=message.leader_id,
        leader_epoch=message.leader_epoch,
        isr=tuple(message.isr),
        leader_recovery_state=message.leader_recovery_state,
        partition_epoch=message.partition_epoch,
    )
