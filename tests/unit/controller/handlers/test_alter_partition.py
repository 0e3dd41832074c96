"""AlterPartition: every check in its order, and what is answered when all hold."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import TopicId
from metadata_log.records import PartitionChangeRecord
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlteredPartition,
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from tests.support.controller import EVE, ControlledCluster, uuid


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    cluster.place("t", (11, 12, 13))
    return cluster


def topic_of(cluster: ControlledCluster) -> TopicId:
    return cluster.image.topics.by_name["t"]


def wish(*isr: int, **fields: object) -> PartitionAlteration:
    base = PartitionAlteration(
        partition_index=0,
        leader_epoch=0,
        partition_epoch=0,
        new_isr=tuple(BrokerState(broker_id=broker) for broker in isr),
    )
    return msgspec.structs.replace(base, **fields)


def ask(
    cluster: ControlledCluster, *wishes: PartitionAlteration, topic_id: TopicId | None = None, broker_id: int = 11
) -> tuple[AlteredPartition, ...]:
    request = AlterPartition(
        broker_id=broker_id,
        broker_epoch=cluster.image.cluster.brokers[broker_id].epoch,  # type: ignore[index]
        topics=(TopicAlteration(topic_id=topic_id or topic_of(cluster), partitions=wishes),),
    )
    response = cluster.ask(request).response
    assert isinstance(response, AlterPartitionResponse)
    assert response.error is Error.NONE
    return response.topics[0].partitions


def test_an_isr_that_shrinks_and_grows_again(cluster: ControlledCluster) -> None:
    (shrunk,) = ask(cluster, wish(11, 12))
    assert shrunk == AlteredPartition(
        partition_index=0, leader_id=11, leader_epoch=0, isr=(11, 12), leader_recovery_state=0, partition_epoch=1
    )
    epoch = cluster.image.cluster.brokers[13].epoch  # type: ignore[index]
    back = wish(partition_epoch=1, new_isr=(*wish(11, 12).new_isr, BrokerState(broker_id=13, broker_epoch=epoch)))
    (grown,) = ask(cluster, back)
    assert (grown.isr, grown.partition_epoch) == ((11, 12, 13), 2)
    partition = cluster.partition(topic_of(cluster))
    assert (partition.isr, partition.partition_epoch, partition.leader_epoch) == ((11, 12, 13), 2, 0)


def test_the_answer_is_what_replay_makes_of_the_record(cluster: ControlledCluster) -> None:
    (answer,) = ask(cluster, wish(11))
    partition = cluster.partition(topic_of(cluster))
    assert (answer.leader_id, answer.leader_epoch, answer.isr, answer.partition_epoch) == (
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.partition_epoch,
    )


def test_the_same_isr_needs_no_record(cluster: ControlledCluster) -> None:
    before = cluster.next_offset
    (answer,) = ask(cluster, wish(11, 12, 13))
    assert (answer.error, answer.partition_epoch) == (Error.NONE, 0)
    assert cluster.next_offset == before


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (wish(11, partition_index=7), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (wish(11, leader_epoch=1), Error.NOT_CONTROLLER),
        (wish(11, partition_epoch=1), Error.NOT_CONTROLLER),
        (wish(11, leader_epoch=-1), Error.FENCED_LEADER_EPOCH),
        (wish(11, partition_epoch=-1), Error.INVALID_UPDATE_VERSION),
        (wish(11, 99), Error.INVALID_REQUEST),
        (wish(11, 11), Error.INVALID_REQUEST),
        (wish(12, 13), Error.INVALID_REQUEST),
        (wish(), Error.INVALID_REQUEST),
        (wish(11, leader_recovery_state=1), Error.INVALID_REQUEST),
        (wish(11, 12, leader_recovery_state=1), Error.INVALID_REQUEST),
        (wish(11, leader_recovery_state=5), Error.INVALID_REQUEST),
        (
            wish(new_isr=(BrokerState(broker_id=11), BrokerState(broker_id=12, broker_epoch=1))),
            Error.INELIGIBLE_REPLICA,
        ),
    ],
)
def test_what_a_change_can_be_refused_for(cluster: ControlledCluster, asked: PartitionAlteration, error: Error) -> None:
    before = cluster.next_offset
    (answer,) = ask(cluster, asked)
    assert answer == AlteredPartition(partition_index=asked.partition_index, error=error)
    assert cluster.next_offset == before


def test_who_does_not_lead_may_not(cluster: ControlledCluster) -> None:
    (answer,) = ask(cluster, wish(11, 12), broker_id=12)
    assert answer.error is Error.INVALID_REQUEST


def test_fenced_and_stopping_brokers_are_not_eligible(cluster: ControlledCluster) -> None:
    cluster.place("other", (13, 11))
    cluster.beat(12, want_fence=True)
    cluster.beat(13, want_shut_down=True)
    epoch = cluster.partition(topic_of(cluster)).partition_epoch
    for member in (12, 13):
        (answer,) = ask(cluster, wish(11, member, partition_epoch=epoch))
        assert answer.error is Error.INELIGIBLE_REPLICA


def test_a_topic_that_is_unknown(cluster: ControlledCluster) -> None:
    (answer,) = ask(cluster, wish(11), topic_id=TopicId(uuid(5)))
    assert answer.error is Error.UNKNOWN_TOPIC_ID


def test_a_partition_given_twice_counts_once(cluster: ControlledCluster) -> None:
    first, second = ask(cluster, wish(11, 12), wish(11, 13))
    assert (first.error, second.error) == (Error.NONE, Error.INVALID_REQUEST)
    assert cluster.partition(topic_of(cluster)).isr == (11, 12)


@pytest.mark.parametrize("broker_id", [11, 99])
def test_a_stale_broker_epoch_refuses_the_whole(cluster: ControlledCluster, broker_id: int) -> None:
    request = AlterPartition(broker_id=broker_id, broker_epoch=3, topics=())
    response = cluster.ask(request).response
    assert isinstance(response, AlterPartitionResponse)
    assert response.error is Error.STALE_BROKER_EPOCH


def test_a_named_principal_may_not_alter(cluster: ControlledCluster) -> None:
    request = AlterPartition(broker_id=11, broker_epoch=3, topics=())
    response = cluster.ask(request, EVE).response
    assert isinstance(response, AlterPartitionResponse)
    assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED


def test_a_leader_recovers_from_an_unclean_election(cluster: ControlledCluster) -> None:
    topic_id = topic_of(cluster)
    cluster.append(
        (PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=(11,), leader_recovery_state=1),)  # type: ignore[arg-type]
    )
    (still,) = ask(cluster, wish(11, 12, partition_epoch=1, leader_recovery_state=1))
    assert still.error is Error.INVALID_REQUEST
    (recovered,) = ask(cluster, wish(11, 12, partition_epoch=1))
    assert (recovered.error, recovered.leader_recovery_state, recovered.isr) == (Error.NONE, 0, (11, 12))


def test_a_completed_reassignment_that_moves_the_leader_tells_the_old_one(cluster: ControlledCluster) -> None:
    topic_id = topic_of(cluster)
    cluster.append(
        (PartitionChangeRecord(topic_id=topic_id, partition_id=0, removing_replicas=(11,), isr=(11, 12)),)  # type: ignore[arg-type]
    )
    (answer,) = ask(cluster, wish(11, 12, 13, partition_epoch=1))
    assert answer.error is Error.NEW_LEADER_ELECTED
    partition = cluster.partition(topic_id)
    assert (partition.leader, partition.replicas, partition.isr) == (12, (12, 13), (12, 13))
