"""Silence: after the session timeout a broker is fenced, the one that has been silent for longest first."""

from __future__ import annotations

import pytest

from metadata_log.records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, GrowingTopic
from quorum.api.partitions import AlterPartition, BrokerState, PartitionAlteration, TopicAlteration
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, ControlledCluster


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    cluster.settle()
    return cluster


def fenced(cluster: ControlledCluster) -> set[int]:
    return {broker_id for broker_id, broker in cluster.image.cluster.brokers.items() if broker.fenced}


def test_not_before_the_timeout_and_then_at_once(cluster: ControlledCluster) -> None:
    topic_id = cluster.place("t", (11, 12))
    cluster.elapse(4_000)
    cluster.beat(12)
    cluster.elapse(5_000)
    assert cluster.look() == ()
    cluster.elapse(1)
    deadline = cluster.machine.next_deadline_ms()
    assert deadline is not None
    assert deadline <= cluster.time.monotonic_ms
    records = cluster.look()
    assert [type(record) for record in records] == [PartitionChangeRecord, BrokerRegistrationChangeRecord]
    assert fenced(cluster) == {11}
    assert cluster.partition(topic_id).leader == 12
    assert cluster.look() == ()
    assert cluster.machine.next_deadline_ms() == cluster.time.monotonic_ms + 4_000


def test_a_partition_is_changed_once_though_its_topic_has_grown_behind_another(cluster: ControlledCluster) -> None:
    topic_id = cluster.place("t", (11, 12))
    cluster.place("u", (11, 12))
    by_hand = GrowingTopic(name="t", count=2, assignments=((11, 12),))
    cluster.ask(CreatePartitions(topics=(by_hand,)))
    before = cluster.partition(topic_id)
    cluster.elapse(9_000)
    cluster.beat(12)
    cluster.elapse(1)
    assert [type(record) for record in cluster.look()] == [PartitionChangeRecord] * 3 + [BrokerRegistrationChangeRecord]
    after = cluster.partition(topic_id)
    assert (after.leader_epoch, after.partition_epoch) == (before.leader_epoch + 1, before.partition_epoch + 1)


def test_one_broker_a_turn_the_longest_silent_first(cluster: ControlledCluster) -> None:
    cluster.elapse(10)
    cluster.beat(11)
    cluster.elapse(9_002)
    cluster.look()
    assert fenced(cluster) == {12}
    cluster.look()
    assert fenced(cluster) == {11, 12}


def test_a_new_controller_counts_from_its_own_activation(cluster: ControlledCluster) -> None:
    cluster.elapse(8_999)
    cluster.fail_over()
    cluster.elapse(9_000)
    cluster.settle()
    assert fenced(cluster) == set()
    cluster.elapse(1)
    cluster.settle()
    assert fenced(cluster) == {11, 12}


def test_a_fenced_broker_that_falls_silent_needs_no_record(cluster: ControlledCluster) -> None:
    cluster.beat(11, want_fence=True)
    cluster.elapse(9_001)
    cluster.beat(12)
    before = cluster.next_offset
    cluster.settle()
    assert cluster.next_offset == before
    assert fenced(cluster) == {11}


def test_fencing_is_spread_over_turns_and_the_fence_comes_last() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    topics = [cluster.place(f"t{index}", (11, 12)) for index in range(10)]
    cluster.settle()
    cluster.elapse(9_001)
    cluster.beat(12)
    sizes = []
    while fenced(cluster) != {11}:
        records = cluster.look()
        sizes.append(len(records))
        if len(sizes) == 1:
            topics.append(cluster.place("meanwhile", (11, 12)))
    assert sizes[:2] == [4, 4]
    assert max(sizes) <= 5
    assert isinstance(cluster.log[-1], BrokerRegistrationChangeRecord)
    assert all(cluster.partition(topic_id).isr == (12,) for topic_id in topics)


def test_a_topic_that_takes_it_back_halfway_is_gone_through_again() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    topics = [cluster.place(f"t{index}", (11, 12)) for index in range(10)]
    cluster.settle()
    cluster.elapse(9_001)
    cluster.beat(12)
    cluster.look()
    back = next(topic_id for topic_id in topics if cluster.partition(topic_id).isr == (12,))
    partition = cluster.partition(back)
    wanted = PartitionAlteration(
        partition_index=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=tuple(
            BrokerState(broker_id=each, broker_epoch=cluster.image.cluster.broker_epoch(each))  # type: ignore[arg-type]
            for each in (12, 11)
        ),
    )
    cluster.ask(
        AlterPartition(
            broker_id=12,
            broker_epoch=cluster.image.cluster.broker_epoch(12),  # type: ignore[arg-type]
            topics=(TopicAlteration(topic_id=back, partitions=(wanted,)),),
        )
    )
    assert cluster.partition(back).isr == (12, 11)
    cluster.settle()
    assert fenced(cluster) == {11}
    assert all(cluster.partition(topic_id).isr == (12,) for topic_id in topics)


def test_a_broker_heard_of_halfway_stays() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=4)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    for index in range(10):
        cluster.place(f"t{index}", (11, 12))
    cluster.settle()
    cluster.elapse(9_001)
    cluster.beat(12)
    assert len(cluster.look()) == 4
    assert not cluster.beat(11).is_fenced
    cluster.settle()
    assert fenced(cluster) == set()


@pytest.mark.parametrize("turns", [1, 2])
def test_a_broker_heard_of_halfway_leads_again_what_nobody_else_could(turns: int) -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=1)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    topics = [cluster.place(f"t{index}", (11,)) for index in range(2)]
    cluster.settle()
    cluster.elapse(9_001)
    for _ in range(turns):
        cluster.look()
    assert sum(cluster.partition(topic_id).leader == -1 for topic_id in topics) == turns
    assert not cluster.beat(11).is_fenced
    cluster.settle()
    assert all(cluster.partition(topic_id).leader == 11 for topic_id in topics)


def test_what_is_cleaned_up_for_a_successor_goes_on_when_the_old_session_ends() -> None:
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=1))
    cluster.start(11)
    for index in range(4):
        cluster.place(f"t{index}", (11,))
    while not cluster.beat(11, want_fence=True).is_fenced:
        cluster.settle()
    cluster.elapse(9_001)
    assert cluster.register(11, incarnation=99).error is Error.DUPLICATE_BROKER_REGISTRATION, "it takes four turns"
    cluster.settle()
    assert cluster.register(11, incarnation=99).error is Error.NONE


def test_a_standby_does_nothing(cluster: ControlledCluster) -> None:
    cluster.elapse(9_001)
    cluster.machine.deactivate()
    assert cluster.machine.next_deadline_ms() is None
    assert cluster.look() == ()
