"""Brokers' own requests at the Kafka listener: each field reaches the controller, each response its broker."""

from __future__ import annotations

import pytest

from metadata_log.ids import DirectoryId, TopicId, Uuid
from quorum.api.brokers import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
)
from quorum.api.calls import ClientAnswer
from quorum.api.directories import (
    AssignedDirectory,
    AssignedTopic,
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlteredPartition,
    AlteredTopic,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.api.producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from tests.support.kafka_exchange import exchange
from tests.support.kafka_requests import (
    CLUSTER_ID,
    ID,
    allocate_producer_ids,
    alter_partition,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
)

DIRECTORY = DirectoryId(ID.bytes)


class TestBrokerRegistration:
    @pytest.mark.parametrize("version", range(5))
    def test_each_field(self, version: int) -> None:
        answer = ClientAnswer(response=RegisterBrokerResponse(broker_epoch=77))
        call, said = exchange(broker_registration(version), answer)
        assert call.request == RegisterBroker(
            broker_id=11,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(ID.bytes),
            listeners=(Listener(name="PLAINTEXT", host="b11", port=65535, security_protocol=0),),
            features=(FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=30),),
            rack="r1",
            log_dirs=(DIRECTORY,) if version > 1 else (),
            previous_broker_epoch=42 if version > 2 else -1,
        )
        assert (said.error_code.value, said.broker_epoch) == (0, 77)

    @pytest.mark.parametrize("error", [Error.NOT_CONTROLLER, Error.THROTTLING_QUOTA_EXCEEDED])
    def test_a_refusal_of_the_node(self, error: Error) -> None:
        _, said = exchange(broker_registration(4), ClientAnswer(error=error, message="why"))
        assert (said.error_code.value, said.broker_epoch) == (error, -1)

    def test_a_refusal_of_the_controller(self) -> None:
        refused = RegisterBrokerResponse(error=Error.DUPLICATE_BROKER_REGISTRATION)
        assert exchange(broker_registration(4), ClientAnswer(response=refused))[1].error_code.value == 101


class TestBrokerHeartbeat:
    @pytest.mark.parametrize("version", range(3))
    def test_each_field(self, version: int) -> None:
        response = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False, should_shut_down=True)
        call, said = exchange(broker_heartbeat(version), ClientAnswer(response=response))
        assert call.request == BrokerHeartbeat(
            broker_id=11,
            broker_epoch=110,
            current_metadata_offset=120,
            want_fence=True,
            want_shut_down=True,
            offline_log_dirs=(DIRECTORY,) if version > 0 else (),
            cordoned_log_dirs=(DIRECTORY,) if version > 1 else None,
        )
        assert (said.error_code.value, said.is_caught_up, said.is_fenced, said.should_shut_down) == (
            0,
            True,
            False,
            True,
        )

    def test_a_refusal_leaves_the_broker_fenced(self) -> None:
        _, said = exchange(broker_heartbeat(2), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert (said.error_code.value, said.is_caught_up, said.is_fenced, said.should_shut_down) == (
            41,
            False,
            True,
            False,
        )


class TestAlterPartition:
    @pytest.mark.parametrize("version", [2, 3])
    def test_each_field(self, version: int) -> None:
        altered = AlteredPartition(
            partition_index=4, leader_id=11, leader_epoch=5, isr=(11, 12), leader_recovery_state=1, partition_epoch=7
        )
        response = AlterPartitionResponse(topics=(AlteredTopic(topic_id=TopicId(ID.bytes), partitions=(altered,)),))
        call, said = exchange(alter_partition(version), ClientAnswer(response=response))
        epochs = {11: 110, 12: 120} if version > 2 else {11: -1, 12: -1}
        asked = PartitionAlteration(
            partition_index=4,
            leader_epoch=5,
            new_isr=tuple(BrokerState(broker_id=broker, broker_epoch=epoch) for broker, epoch in epochs.items()),
            partition_epoch=6,
            leader_recovery_state=1,
        )
        assert call.request == AlterPartition(
            broker_id=11,
            broker_epoch=110,
            topics=(TopicAlteration(topic_id=TopicId(ID.bytes), partitions=(asked,)),),
        )
        (topic,) = said.topics
        (part,) = topic.partitions
        assert (topic.topic_id, said.error_code.value, part.error_code.value) == (ID, 0, 0)
        assert (part.partition_index, part.leader_id, part.leader_epoch) == (4, 11, 5)
        assert (part.isr, part.leader_recovery_state, part.partition_epoch) == ((11, 12), 1, 7)

    def test_a_refusal_stands_at_the_top(self) -> None:
        _, said = exchange(alter_partition(3), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert (said.error_code.value, said.topics) == (41, ())


class TestAllocateProducerIds:
    def test_each_field(self) -> None:
        response = AllocateProducerIdsResponse(first_producer_id=3000, count=1000)
        call, said = exchange(allocate_producer_ids(0), ClientAnswer(response=response))
        assert call.request == AllocateProducerIds(broker_id=11, broker_epoch=110)
        assert (said.error_code.value, said.producer_id_start, said.producer_id_len) == (0, 3000, 1000)

    def test_a_refusal(self) -> None:
        _, said = exchange(allocate_producer_ids(0), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert (said.error_code.value, said.producer_id_start, said.producer_id_len) == (41, -1, 0)


class TestAssignReplicasToDirs:
    def test_each_field(self) -> None:
        topic_id = TopicId(ID.bytes)
        answered = AssignedTopic(topic_id=topic_id, partitions=((4, Error.NOT_LEADER_OR_FOLLOWER),))
        response = AssignReplicasToDirsResponse(
            directories=(AssignedDirectory(directory_id=DIRECTORY, topics=(answered,)),)
        )
        call, said = exchange(assign_replicas_to_dirs(0), ClientAnswer(response=response))
        asked = DirectoryAssignment(
            directory_id=DIRECTORY, topics=(TopicInDirectory(topic_id=topic_id, partitions=(4,)),)
        )
        assert call.request == AssignReplicasToDirs(broker_id=11, broker_epoch=110, directories=(asked,))
        (directory,) = said.directories
        (topic,) = directory.topics
        assert (directory.id_, topic.topic_id) == (ID, ID)
        assert [(each.partition_index, each.error_code.value) for each in topic.partitions] == [(4, 6)]

    def test_a_refusal(self) -> None:
        _, said = exchange(assign_replicas_to_dirs(0), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert (said.error_code.value, said.directories) == (41, ())
