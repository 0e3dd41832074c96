"""UnregisterBroker: what goes with a broker that is gone for good."""

from __future__ import annotations

import pytest

from metadata_log.records import BrokerRegistrationChangeRecord, PartitionChangeRecord, UnregisterBrokerRecord
from quorum.api.brokers import BrokerHeartbeat, BrokerHeartbeatResponse, UnregisterBroker, UnregisterBrokerResponse
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
from quorum.controller.config import ControllerConfig
from quorum.controller.result import ControllerResult
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    cluster.place("t", (11, 12), (12, 13), (13, 11))
    return cluster


def unregister(cluster: ControlledCluster, broker_id: int, context: RequestContext | None = None) -> ControllerResult:
    return cluster.ask(UnregisterBroker(broker_id=broker_id), context)


def error_of(result: ControllerResult) -> Error:
    assert isinstance(result.response, UnregisterBrokerResponse)
    assert (result.response.error_message is None) == (result.response.error is Error.NONE)
    return result.response.error


def test_a_live_broker_leaves_isrs_and_leadership_first(cluster: ControlledCluster) -> None:
    epoch = cluster.image.cluster.broker_epoch(11)  # type: ignore[arg-type]
    result = unregister(cluster, 11)
    assert error_of(result) is Error.NONE
    assert [type(record) for record in result.records] == [PartitionChangeRecord] * 2 + [UnregisterBrokerRecord]
    assert result.records[-1] == UnregisterBrokerRecord(broker_id=11, broker_epoch=epoch)  # type: ignore[arg-type]
    assert set(cluster.image.cluster.brokers) == {12, 13}
    topic_id = cluster.image.topics.by_name["t"]
    first, last = cluster.partition(topic_id, 0), cluster.partition(topic_id, 2)
    assert (first.replicas, first.isr, first.leader) == ((11, 12), (12,), 12)
    assert (last.replicas, last.isr, last.leader) == ((13, 11), (13,), 13)


def test_one_that_is_fenced_already_goes_alone(cluster: ControlledCluster) -> None:
    cluster.beat(11, want_fence=True)
    result = unregister(cluster, 11)
    assert (error_of(result), len(result.records)) == (Error.NONE, 1)


def test_its_id_is_free_at_once(cluster: ControlledCluster) -> None:
    unregister(cluster, 11)
    assert cluster.register(11, incarnation=99).error is Error.NONE
    assert not cluster.beat(11).is_fenced


def test_its_old_process_is_nobody(cluster: ControlledCluster) -> None:
    epoch = cluster.image.cluster.broker_epoch(11)  # type: ignore[arg-type]
    unregister(cluster, 11)
    beat = BrokerHeartbeat(broker_id=11, broker_epoch=epoch, current_metadata_offset=cluster.last_offset)
    response = cluster.ask(beat).response
    assert isinstance(response, BrokerHeartbeatResponse)
    assert response.error in (Error.STALE_BROKER_EPOCH, Error.BROKER_ID_NOT_REGISTERED)


def test_nobody_waits_for_it_any_more(cluster: ControlledCluster) -> None:
    unregister(cluster, 11)
    cluster.elapse(8_000)
    for broker in (12, 13):
        cluster.beat(broker)
    cluster.elapse(2_000)
    assert cluster.settle() == []


def test_the_last_in_sync_leaves_the_partition_without_a_leader(cluster: ControlledCluster) -> None:
    topic_id = cluster.place("alone", (11,))
    unregister(cluster, 11)
    partition = cluster.partition(topic_id)
    assert (partition.leader, partition.isr, partition.elr, partition.last_known_elr) == (-1, (), (11,), (11,))


@pytest.fixture
def crowded() -> ControlledCluster:
    """Thirty topics with broker 11, two of which a turn may change."""
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=2, max_idle_interval_ms=None)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    for number in range(30):
        cluster.place(f"t{number}", (11, 12))
    return cluster


def held(cluster: ControlledCluster, broker_id: int) -> int:
    topics = cluster.image.topics.by_id.values()
    return sum(broker_id in partition.isr for topic in topics for partition in topic.partitions)


def test_much_is_done_in_steps_by_itself_and_the_second_asker_is_told_so(crowded: ControlledCluster) -> None:
    first = unregister(crowded, 11)
    assert error_of(first) is Error.REQUEST_TIMED_OUT
    assert [type(record) for record in first.records] == [BrokerRegistrationChangeRecord] + [PartitionChangeRecord] * 2
    assert (held(crowded, 11), 11 in crowded.image.cluster.brokers) == (28, True)
    assert error_of(unregister(crowded, 11)) is Error.REQUEST_TIMED_OUT
    assert held(crowded, 11) == 26
    steps = 0
    while 11 in crowded.image.cluster.brokers:
        crowded.beat(11)  # it lives, and must not come back for that
        assert len(crowded.look()) <= 3
        steps += 1
    assert (held(crowded, 11), steps) == (0, 13)
    assert error_of(unregister(crowded, 11)) is Error.NONE, "the retry that the last response asked for"
    assert error_of(unregister(crowded, 11)) is Error.BROKER_ID_NOT_REGISTERED


def test_who_is_leaving_is_not_taken_back_meanwhile(crowded: ControlledCluster) -> None:
    unregister(crowded, 11)
    topics = crowded.image.topics.by_id.values()
    left = next(topic for topic in topics if topic.partitions and topic.partitions[0].leader == 12)
    was = left.partitions[0]
    isr = tuple(BrokerState(broker_id=broker) for broker in (12, 11))
    wish = PartitionAlteration(
        partition_index=0, leader_epoch=was.leader_epoch, partition_epoch=was.partition_epoch, new_isr=isr
    )
    epoch = crowded.image.cluster.broker_epoch(12)  # type: ignore[arg-type]
    proposal = (TopicAlteration(topic_id=left.topic_id, partitions=(wish,)),)
    response = crowded.ask(AlterPartition(broker_id=12, broker_epoch=epoch, topics=proposal)).response
    assert isinstance(response, AlterPartitionResponse)
    assert response.topics[0].partitions[0].error is Error.INELIGIBLE_REPLICA


def test_another_process_of_it_stays(crowded: ControlledCluster) -> None:
    """It registers while its predecessor is on its way out: that one's registration is gone."""
    unregister(crowded, 11)
    crowded.elapse(9_001)
    crowded.beat(12)
    while crowded.register(11, incarnation=99).error is not Error.NONE:
        crowded.settle()
    crowded.settle()
    assert 11 in crowded.image.cluster.brokers


def test_a_new_controller_is_asked_anew(crowded: ControlledCluster) -> None:
    unregister(crowded, 11)
    crowded.fail_over()
    assert crowded.settle() == []
    assert held(crowded, 11) == 28
    while error_of(unregister(crowded, 11)) is not Error.NONE:
        pass
    assert 11 not in crowded.image.cluster.brokers


def test_who_is_not_there_and_who_may_not(cluster: ControlledCluster) -> None:
    assert error_of(unregister(cluster, 99)) is Error.BROKER_ID_NOT_REGISTERED

    assert error_of(unregister(cluster, 11, EVE)) is Error.CLUSTER_AUTHORIZATION_FAILED
    assert 11 in cluster.image.cluster.brokers
