"""Administrators' requests at the Kafka listener: replicas and leaders of partitions."""

from __future__ import annotations

import pytest

from quorum.api.calls import ClientAnswer
from quorum.api.elections import ElectedPartition, ElectedTopic, ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.error_codes import Error
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignments,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    OngoingTopic,
    ReassignablePartition,
    ReassignableTopic,
    ReassignedPartition,
    ReassignedTopic,
    TopicPartitions,
)
from tests.support.kafka_exchange import exchange
from tests.support.kafka_requests import alter_partition_reassignments, elect_leaders, list_partition_reassignments


class TestAlterPartitionReassignments:
    @pytest.mark.parametrize("version", range(2))
    def test_each_field(self, version: int) -> None:
        partitions = (
            ReassignedPartition(partition_index=0),
            ReassignedPartition(partition_index=1, error=Error.NO_REASSIGNMENT_IN_PROGRESS, error_message="why"),
        )
        response = AlterPartitionReassignmentsResponse(
            topics=(ReassignedTopic(name="t", partitions=partitions),), allow_replication_factor_change=version == 0
        )
        call, said = exchange(alter_partition_reassignments(version), ClientAnswer(response=response))
        assert call.request == AlterPartitionReassignments(
            topics=(
                ReassignableTopic(
                    name="t",
                    partitions=(
                        ReassignablePartition(partition_index=0, replicas=(11, 12)),
                        ReassignablePartition(partition_index=1, replicas=None),
                    ),
                ),
            ),
            timeout_ms=5000,
            allow_replication_factor_change=version == 0,
        )
        (topic,) = said.responses
        told = [(each.partition_index, each.error_code.value, each.error_message) for each in topic.partitions]
        assert (said.error_code.value, topic.name, told) == (0, "t", [(0, 0, None), (1, 85, "why")])
        if version > 0:
            assert not said.allow_replication_factor_change

    def test_a_refusal_stands_at_the_top(self) -> None:
        answer = ClientAnswer(error=Error.NOT_CONTROLLER, message="why")
        _, said = exchange(alter_partition_reassignments(1), answer)
        assert (said.error_code.value, said.error_message, said.responses) == (41, "why", ())


class TestListPartitionReassignments:
    def test_each_field(self) -> None:
        moving = OngoingReassignment(partition_index=1, replicas=(12, 11), adding=(12,), removing=(11,))
        response = ListPartitionReassignmentsResponse(topics=(OngoingTopic(name="t", partitions=(moving,)),))
        call, said = exchange(list_partition_reassignments(0), ClientAnswer(response=response))
        asked = (TopicPartitions(topic="t", partitions=(0, 1)),)
        assert call.request == ListPartitionReassignments(topics=asked, timeout_ms=5000)
        (topic,) = said.topics
        (part,) = topic.partitions
        assert (said.error_code.value, topic.name, part.partition_index) == (0, "t", 1)
        assert (part.replicas, part.adding_replicas, part.removing_replicas) == ((12, 11), (12,), (11,))

    def test_all_of_them(self) -> None:
        answer = ClientAnswer(response=ListPartitionReassignmentsResponse())
        call, _ = exchange(list_partition_reassignments(0, everything=True), answer)
        assert call.request == ListPartitionReassignments(topics=None, timeout_ms=5000)

    def test_a_read_that_came_too_late_timed_out(self) -> None:
        _, said = exchange(list_partition_reassignments(0), ClientAnswer(error=Error.OFFSET_NOT_AVAILABLE))
        assert said.error_code.value == Error.REQUEST_TIMED_OUT


class TestElectLeaders:
    @pytest.mark.parametrize("version", range(3))
    def test_each_field(self, version: int) -> None:
        partitions = (
            ElectedPartition(partition_index=0),
            ElectedPartition(partition_index=1, error=Error.ELECTION_NOT_NEEDED, error_message="why"),
        )
        response = ElectLeadersResponse(topics=(ElectedTopic(topic="t", partitions=partitions),))
        call, said = exchange(elect_leaders(version), ClientAnswer(response=response))
        assert call.request == ElectLeaders(
            election_type=ElectionType.PREFERRED if version == 0 else ElectionType.UNCLEAN,
            partitions=(TopicPartitions(topic="t", partitions=(0, 1)),),
            timeout_ms=5000,
        )
        (topic,) = said.replica_election_results
        told = [(each.partition_id, each.error_code.value, each.error_message) for each in topic.partition_result]
        assert (topic.topic, told) == ("t", [(0, 0, None), (1, 84, "why")])

    def test_all_of_them(self) -> None:
        call, _ = exchange(elect_leaders(2, everything=True), ClientAnswer(response=ElectLeadersResponse()))
        assert call.request == ElectLeaders(election_type=ElectionType.UNCLEAN, timeout_ms=5000)

    @pytest.mark.parametrize("version", range(3))
    def test_a_refusal_stands_at_each_partition(self, version: int) -> None:
        _, said = exchange(elect_leaders(version), ClientAnswer(error=Error.NOT_CONTROLLER, message="why"))
        (topic,) = said.replica_election_results
        assert [(each.partition_id, each.error_code.value) for each in topic.partition_result] == [(0, 41), (1, 41)]
        if version > 0:
            assert said.error_code.value == 41
