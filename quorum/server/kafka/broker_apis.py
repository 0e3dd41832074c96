"""The APIs of brokers.

These are BrokerRegistration, BrokerHeartbeat, AlterPartition, AllocateProducerIds and AssignReplicasToDirs.
Sources: KIP-631, KIP-858, KIP-966, KIP-1066; KIP-497, KIP-903; KIP-730.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from metadata_log.ids import DirectoryId, TopicId, Uuid
from quorum.api.brokers import BrokerHeartbeat, BrokerHeartbeatResponse, RegisterBroker
from quorum.api.directories import (
    AssignedDirectory,
    AssignedTopic,
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.partitions import (
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.api.producer_ids import AllocateProducerIds
from quorum.server.kafka.exchange import Exchange, ask_controller, ask_for_frame
from quorum.server.node import Node
from quorum.transport.kafka.producer_ids_frame import producer_ids_frame
from quorum.transport.kafka.voters import features_from, listeners_from
from quorum.transport.kafka.wire import Answers, bytes_of, uuid_to


def on_broker_registration(exchange: Exchange, node: Node) -> None:
    """Serve BrokerRegistration."""
    body = exchange.body
    request = RegisterBroker(
        broker_id=body.broker_id,
        cluster_id=body.cluster_id,
        incarnation_id=Uuid(bytes_of(body.incarnation_id)),
        listeners=listeners_from(body),
        features=features_from(body),
        rack=body.rack,
        log_dirs=tuple(DirectoryId(bytes_of(each)) for each in getattr(body, "log_dirs", ())),
        previous_broker_epoch=getattr(body, "previous_broker_epoch", -1),
    )
    ask_controller(
        exchange,
        node,
        request,
        lambda answers, said: answers.response(error_code=said.error, broker_epoch=said.broker_epoch),
    )


def on_broker_heartbeat(exchange: Exchange, node: Node) -> None:
    """Serve BrokerHeartbeat."""
    body = exchange.body
    cordoned = getattr(body, "cordoned_log_dirs", None)
    request = BrokerHeartbeat(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        current_metadata_offset=body.current_metadata_offset,
        want_fence=body.want_fence,
        want_shut_down=body.want_shut_down,
        offline_log_dirs=tuple(DirectoryId(bytes_of(each)) for each in getattr(body, "offline_log_dirs", ())),
        cordoned_log_dirs=None if cordoned is None else tuple(DirectoryId(bytes_of(each)) for each in cordoned),
    )
    ask_controller(exchange, node, request, _heartbeat_entity)


def _heartbeat_entity(answers: Answers, said: BrokerHeartbeatResponse) -> Any:
    return answers.response(
        error_code=said.error,
        is_caught_up=said.is_caught_up,
        is_fenced=said.is_fenced,
        should_shut_down=said.should_shut_down,
    )


def on_alter_partition(exchange: Exchange, node: Node) -> None:
    """Serve AlterPartition: a partition's leader proposes its ISR."""
    body = exchange.body
    request = AlterPartition(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        topics=tuple(
            TopicAlteration(
                topic_id=TopicId(bytes_of(topic.topic_id)),
                partitions=tuple(
                    PartitionAlteration(
                        partition_index=part.partition_index,
                        leader_epoch=part.leader_epoch,
                        new_isr=_isr(part),
                        partition_epoch=part.partition_epoch,
                        leader_recovery_state=part.leader_recovery_state,
                    )
                    for part in topic.partitions
                ),
            )
            for topic in body.topics
        ),
    )
    ask_controller(exchange, node, request, _altered_entity)


def _isr(partition: Any) -> tuple[BrokerState, ...]:
    with_epochs = getattr(partition, "new_isr_with_epochs", None)
    if with_epochs is None:
        return tuple(BrokerState(broker_id=broker_id) for broker_id in partition.new_isr)
    return tuple(BrokerState(broker_id=each.broker_id, broker_epoch=each.broker_epoch) for each in with_epochs)


def _altered_entity(answers: Answers, said: AlterPartitionResponse) -> Any:
    def partitions(topic: AlteredTopic) -> Any:
        return answers.rows("PartitionData", topic.partitions)

    topics = answers.rows("TopicData", said.topics, topic_id=_topic_id, partitions=partitions)
    return answers.response(error_code=said.error, topics=topics)


def _topic_id(topic: Any) -> UUID:
    return uuid_to(topic.topic_id)


def on_allocate_producer_ids(exchange: Exchange, node: Node) -> None:
    """Serve AllocateProducerIds."""
    correlation_id, request = exchange.header.correlation_id, exchange.body
    if not isinstance(request, AllocateProducerIds):
        request = AllocateProducerIds(broker_id=request.broker_id, broker_epoch=request.broker_epoch)
    ask_for_frame(exchange, node, request, lambda said: producer_ids_frame(correlation_id, said))


def on_assign_replicas_to_dirs(exchange: Exchange, node: Node) -> None:
    """Serve AssignReplicasToDirs: a broker reports the log directory of each of its replicas."""
    body = exchange.body
    request = AssignReplicasToDirs(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        directories=tuple(
            DirectoryAssignment(
                directory_id=DirectoryId(bytes_of(directory.id_)),
                topics=tuple(
                    TopicInDirectory(
                        topic_id=TopicId(bytes_of(topic.topic_id)),
                        partitions=tuple(part.partition_index for part in topic.partitions),
                    )
                    for topic in directory.topics
                ),
            )
            for directory in body.directories
        ),
    )
    ask_controller(exchange, node, request, _assigned_entity)


def _assigned_entity(answers: Answers, said: AssignReplicasToDirsResponse) -> Any:
    def partitions(topic: AssignedTopic) -> Any:
        return tuple(
            answers.make("PartitionData", partition_index=index, error_code=error) for index, error in topic.partitions
        )

    def topics(directory: AssignedDirectory) -> Any:
        return answers.rows("TopicData", directory.topics, topic_id=_topic_id, partitions=partitions)

    directories = answers.rows(
        "DirectoryData", said.directories, id_=lambda directory: uuid_to(directory.directory_id), topics=topics
    )
    return answers.response(error_code=said.error, directories=directories)
