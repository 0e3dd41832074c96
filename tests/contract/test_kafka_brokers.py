"""What brokers ask at the Kafka door for themselves: each field reaches the controller, each answer its broker."""

from __future__ import annotations

from typing import Any

import pytest

from metadata_log.ids import DirectoryId, TopicId, Uuid
from quorum.controller import requests as r
from quorum.errors import Error
from quorum.node.ports import ClientAnswer, ClientCall
from tests.support.kafka_requests import CLUSTER_ID, ID, alter_partition, broker_heartbeat, broker_registration
from tests.support.kafka_wire import connected, kafka_door
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode

DIRECTORY = DirectoryId(ID.bytes)


def exchange(request: Any, answer: ClientAnswer) -> tuple[ClientCall, Any]:
    """What the controller was asked, and what came of its answer."""
    node = ScriptedNode()
    node.at_once = lambda call: answer

    async def main() -> Any:
        async with kafka_door(node) as door, connected(door.port) as client:
            return await client.ask(request)

    said = run(main())
    (call,) = node.calls
    assert (call.context.client_host, call.context.listener) == ("127.0.0.1", "CONTROLLER")
    return call, said


class TestBrokerRegistration:
    @pytest.mark.parametrize("version", range(5))
    def test_each_field(self, version: int) -> None:
        answer = ClientAnswer(response=r.RegisterBrokerResponse(broker_epoch=77))
        call, said = exchange(broker_registration(version), answer)
        assert call.request == r.RegisterBroker(
            broker_id=11,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(ID.bytes),
            listeners=(r.Listener(name="PLAINTEXT", host="b11", port=65535, security_protocol=0),),
            features=(r.FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=30),),
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
        refused = r.RegisterBrokerResponse(error=Error.DUPLICATE_BROKER_REGISTRATION)
        assert exchange(broker_registration(4), ClientAnswer(response=refused))[1].error_code.value == 101


class TestBrokerHeartbeat:
    @pytest.mark.parametrize("version", range(3))
    def test_each_field(self, version: int) -> None:
        response = r.BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False, should_shut_down=True)
        call, said = exchange(broker_heartbeat(version), ClientAnswer(response=response))
        assert call.request == r.BrokerHeartbeat(
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
        altered = r.AlteredPartition(
            partition_index=4, leader_id=11, leader_epoch=5, isr=(11, 12), leader_recovery_state=1, partition_epoch=7
        )
        response = r.AlterPartitionResponse(topics=(r.AlteredTopic(topic_id=TopicId(ID.bytes), partitions=(altered,)),))
        call, said = exchange(alter_partition(version), ClientAnswer(response=response))
        epochs = {11: 110, 12: 120} if version > 2 else {11: -1, 12: -1}
        asked = r.PartitionAlteration(
            partition_index=4,
            leader_epoch=5,
            new_isr=tuple(r.BrokerState(broker_id=broker, broker_epoch=epoch) for broker, epoch in epochs.items()),
            partition_epoch=6,
            leader_recovery_state=1,
        )
        assert call.request == r.AlterPartition(
            broker_id=11,
            broker_epoch=110,
            topics=(r.TopicAlteration(topic_id=TopicId(ID.bytes), partitions=(asked,)),),
        )
        (topic,) = said.topics
        (part,) = topic.partitions
        assert (topic.topic_id, said.error_code.value, part.error_code.value) == (ID, 0, 0)
        assert (part.partition_index, part.leader_id, part.leader_epoch) == (4, 11, 5)
        assert (part.isr, part.leader_recovery_state, part.partition_epoch) == ((11, 12), 1, 7)

    def test_a_refusal_stands_at_the_top(self) -> None:
        _, said = exchange(alter_partition(3), ClientAnswer(error=Error.NOT_CONTROLLER))
        assert (said.error_code.value, said.topics) == (41, ())
