"""AlterPartitionReassignments and ListPartitionReassignments: how a partition moves, and what is refused."""

from __future__ import annotations

import pytest

from metadata_log.image import PartitionImage
from metadata_log.records import PartitionChangeRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.partitions import (
    AlterPartition,
    AlterPartitionResponse,
    BrokerState,
    PartitionAlteration,
    TopicAlteration,
)
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
    TopicPartitions,
)
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster, directory

Wish = tuple[int, tuple[int, ...] | None]


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13, 14)
    cluster.place("t", (11, 12), (12, 13))
    return cluster


def move(
    cluster: ControlledCluster, *wishes: Wish, topic: str = "t", context: RequestContext | None = None, **kw: object
) -> AlterPartitionReassignmentsResponse:
    partitions = tuple(ReassignablePartition(partition_index=index, replicas=replicas) for index, replicas in wishes)
    topics = (ReassignableTopic(name=topic, partitions=partitions),)
    response = cluster.ask(AlterPartitionReassignments(topics=topics, **kw), context).response  # type: ignore[arg-type]
    assert isinstance(response, AlterPartitionReassignmentsResponse)
    return response


def error_of(cluster: ControlledCluster, *wishes: Wish, **kw: object) -> Error:
    """Return the error of the last reassignment. A rejection has a message, and writes no record."""
    before = cluster.next_offset
    answer = move(cluster, *wishes, **kw).topics[0].partitions[-1]  # type: ignore[arg-type]
    if answer.error is not Error.NONE:
        assert answer.error_message
        assert cluster.next_offset == before + len(wishes) - 1
    return answer.error


def now(cluster: ControlledCluster, partition_id: int = 0) -> PartitionImage:
    return cluster.partition(cluster.image.topics.by_name["t"], partition_id)


def moved(cluster: ControlledCluster, *wishes: Wish, **kw: object) -> PartitionImage:
    assert error_of(cluster, *wishes, **kw) is Error.NONE
    return now(cluster)


def tell_isr(cluster: ControlledCluster, *isr: int) -> Error:
    """The leader of t-0 proposes an ISR."""
    was = now(cluster)
    wish = PartitionAlteration(
        partition_index=0,
        leader_epoch=was.leader_epoch,
        partition_epoch=was.partition_epoch,
        new_isr=tuple(BrokerState(broker_id=broker) for broker in isr),
    )
    request = AlterPartition(
        broker_id=was.leader,
        broker_epoch=cluster.image.cluster.brokers[was.leader].epoch,
        topics=(TopicAlteration(topic_id=cluster.image.topics.by_name["t"], partitions=(wish,)),),
    )
    response = cluster.ask(request).response
    assert isinstance(response, AlterPartitionResponse)
    return response.topics[0].partitions[0].error


def listed(cluster: ControlledCluster, *topics: TopicPartitions) -> tuple[OngoingTopic, ...]:
    response = cluster.ask(ListPartitionReassignments(topics=topics or None)).response
    assert isinstance(response, ListPartitionReassignmentsResponse)
    assert response.error is Error.NONE
    return response.topics


class TestAMove:
    def test_the_new_replicas_come_first_and_the_old_go_when_all_are_in_sync(self, cluster: ControlledCluster) -> None:
        begun = moved(cluster, (0, (13, 14)))
        assert (begun.replicas, begun.adding, begun.removing) == ((13, 14, 11, 12), (13, 14), (11, 12))
        assert begun.directories == tuple(directory(broker) for broker in (13, 14, 11, 12))
        assert (begun.isr, begun.leader, begun.leader_epoch, begun.partition_epoch) == ((11, 12), 11, 0, 1)
        assert tell_isr(cluster, 11, 12, 13) is Error.NONE
        assert now(cluster).replicas == (13, 14, 11, 12)
        assert tell_isr(cluster, 11, 12, 13, 14) is Error.NEW_LEADER_ELECTED
        done = now(cluster)
        assert (done.replicas, done.adding, done.removing, done.isr) == ((13, 14), (), (), (13, 14))
        assert done.directories == (directory(13), directory(14))
        assert (done.leader, done.leader_epoch) == (13, 1)

    def test_a_leader_that_stays_is_told_its_new_epoch(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (11, 13)))
        assert tell_isr(cluster, 11, 12, 13) is Error.NONE
        assert (now(cluster).replicas, now(cluster).leader, now(cluster).leader_epoch) == ((11, 13), 11, 1)

    def test_another_order_takes_one_record_and_leaves_the_leader(self, cluster: ControlledCluster) -> None:
        done = moved(cluster, (0, (12, 11)))
        assert (done.replicas, done.adding, done.removing) == ((12, 11), (), ())
        assert (done.leader, done.leader_epoch, done.directories) == (11, 0, (directory(12), directory(11)))

    def test_the_same_place_is_no_change(self, cluster: ControlledCluster) -> None:
        before = cluster.next_offset
        assert move(cluster, (0, (11, 12))).topics[0].partitions == (ReassignedPartition(partition_index=0),)
        assert cluster.next_offset == before

    def test_fewer_replicas_take_one_record_where_all_that_remain_are_in_sync(self, cluster: ControlledCluster) -> None:
        done = moved(cluster, (0, (12,)))
        assert (done.replicas, done.isr, done.leader, done.removing) == ((12,), (12,), 12, ())

    def test_a_dead_broker_that_is_removed_does_not_hold_it_up(self, cluster: ControlledCluster) -> None:
        cluster.beat(12, want_fence=True)
        moved(cluster, (0, (11, 13)))
        assert tell_isr(cluster, 11, 13) is Error.NONE
        assert (now(cluster).replicas, now(cluster).removing) == ((11, 13), ())

    def test_a_fenced_broker_may_be_moved_to_and_is_waited_for(self, cluster: ControlledCluster) -> None:
        cluster.beat(14, want_fence=True)
        begun = moved(cluster, (0, (11, 14)))
        assert (begun.adding, begun.isr) == ((14,), (11, 12))

    def test_who_is_no_replica_any_more_is_not_eligible_to_lead(self) -> None:
        cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, min_insync_replicas=2))
        cluster.start(11, 12, 13)
        cluster.place("t", (11, 12))
        moved(cluster, (0, (13,)))
        tell_isr(cluster, 11, 12, 13)
        assert (now(cluster).replicas, now(cluster).isr, now(cluster).elr) == ((13,), (13,), ())

    def test_a_partition_without_a_leader_elects_no_replica_that_is_not_in_sync(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, unclean_leader_election_enable=True)
        cluster = ControlledCluster(config=config)
        cluster.start(11, 12)
        cluster.place("t", (11,))
        cluster.beat(11, want_fence=True)
        assert moved(cluster, (0, (11, 12))).leader == -1


class TestAnotherMove:
    def test_the_last_wish_counts(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (11, 13)))
        begun = moved(cluster, (0, (14, 11)))
        assert (begun.replicas, begun.adding, begun.removing) == ((14, 11, 12, 13), (14,), (12, 13))

    def test_what_an_earlier_move_added_and_this_keeps_is_still_waited_for(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (11, 13)))
        begun = moved(cluster, (0, (13,)))
        assert (begun.replicas, begun.adding, begun.removing) == ((13, 11, 12), (13,), (11, 12))

    def test_back_to_where_it_was_ends_it(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (11, 13)))
        done = moved(cluster, (0, (11, 12)))
        assert (done.replicas, done.adding, done.removing) == ((11, 12), (), ())

    def test_what_was_to_go_and_is_wanted_again_stays(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (11, 13)))
        begun = moved(cluster, (0, (11, 13, 12)))
        assert (begun.replicas, begun.adding, begun.removing) == ((11, 13, 12), (13,), ())


class TestGivingUp:
    def test_the_old_replicas_are_all_there_is_again(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (13, 14)))
        tell_isr(cluster, 11, 12, 13)
        done = moved(cluster, (0, None))
        assert (done.replicas, done.adding, done.removing, done.isr) == ((11, 12), (), (), (11, 12))
        assert (done.leader, done.leader_epoch) == (11, 1), "a broker that knows 13 and 14 must see the change"

    def test_nothing_is_under_way(self, cluster: ControlledCluster) -> None:
        assert error_of(cluster, (0, None)) is Error.NO_REASSIGNMENT_IN_PROGRESS

    @pytest.mark.parametrize("unclean", [True, False])
    def test_only_added_replicas_are_in_sync(self, unclean: bool) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, unclean_leader_election_enable=unclean)
        cluster = ControlledCluster(config=config)
        cluster.start(11, 12, 13, 14)
        cluster.place("t", (11, 12))
        moved(cluster, (0, (13, 14)))
        tell_isr(cluster, 11, 12, 13)
        for broker in (12, 11):
            cluster.beat(broker, want_fence=True)
        assert (now(cluster).leader, now(cluster).isr) == (13, (13,))
        if not unclean:
            assert error_of(cluster, (0, None)) is Error.INVALID_REPLICA_ASSIGNMENT
            return
        cluster.beat(11)
        done = moved(cluster, (0, None))
        assert (done.replicas, done.isr, done.leader) == ((11, 12), (11,), 11)


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        ((0, ()), Error.INVALID_REPLICA_ASSIGNMENT),
        ((0, (11, 11)), Error.INVALID_REPLICA_ASSIGNMENT),
        ((0, (11, 99)), Error.INVALID_REPLICA_ASSIGNMENT),
        ((0, (11, -1)), Error.INVALID_REPLICA_ASSIGNMENT),
        ((7, (11, 12)), Error.UNKNOWN_TOPIC_OR_PARTITION),
        ((-1, None), Error.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_is_refused_leaves_the_others_be(cluster: ControlledCluster, wish: Wish, error: Error) -> None:
    assert error_of(cluster, (1, (13, 14)), wish) is error
    assert now(cluster, 1).adding == (14,)


def test_an_unknown_topic(cluster: ControlledCluster) -> None:
    assert error_of(cluster, (0, (11, 12)), topic="nope") is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_named_twice_moves_as_first_said(cluster: ControlledCluster) -> None:
    assert error_of(cluster, (0, (13, 14)), (0, (12, 14))) is Error.INVALID_REQUEST
    assert now(cluster).adding == (13, 14)


def test_a_partition_named_twice_with_the_same_wish_moves_once(cluster: ControlledCluster) -> None:
    before = cluster.next_offset
    first, second = move(cluster, (0, (13, 14)), (0, (13, 14))).topics[0].partitions
    assert (first.error, second.error, cluster.next_offset - before) == (Error.NONE, Error.NONE, 1)
    first, second = move(cluster, (1, None), (1, None)).topics[0].partitions
    assert first.error is second.error is Error.NO_REASSIGNMENT_IN_PROGRESS


def test_the_replication_factor_must_stay_where_it_is_asked_for(cluster: ControlledCluster) -> None:
    fixed = {"allow_replication_factor_change": False}
    assert error_of(cluster, (0, (11, 12, 13)), **fixed) is Error.INVALID_REPLICATION_FACTOR
    assert error_of(cluster, (0, (11,)), **fixed) is Error.INVALID_REPLICATION_FACTOR
    response = move(cluster, (0, (13, 14)), **fixed)
    assert not response.allow_replication_factor_change
    assert response.topics[0].partitions[0].error is Error.NONE
    assert error_of(cluster, (0, (13, 11)), **fixed) is Error.NONE, "counted without those that are to go"


def test_more_than_a_batch_holds(cluster: ControlledCluster) -> None:
    cluster.config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=1)
    cluster.fail_over()
    first, second = move(cluster, (0, (13, 14)), (1, (14, 11))).topics[0].partitions
    assert (first.error, second.error) == (Error.NONE, Error.POLICY_VIOLATION)
    assert now(cluster, 1).adding == ()


def test_who_may_not(cluster: ControlledCluster) -> None:
    refused = move(cluster, (0, (13, 14)), context=EVE)
    assert (refused.error, refused.topics) == (Error.CLUSTER_AUTHORIZATION_FAILED, ())
    assert now(cluster).adding == ()
    response = cluster.ask(ListPartitionReassignments(), EVE).response
    assert isinstance(response, ListPartitionReassignmentsResponse)
    assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED


class TestTheList:
    def test_only_what_is_on_its_way(self, cluster: ControlledCluster) -> None:
        cluster.place("a", (11,))
        assert listed(cluster) == ()
        moved(cluster, (1, (13, 14)))
        assert error_of(cluster, (0, (12,)), topic="a") is Error.NONE
        t = OngoingReassignment(partition_index=1, replicas=(13, 14, 12), adding=(14,), removing=(12,))
        a = OngoingReassignment(partition_index=0, replicas=(12, 11), adding=(12,), removing=(11,))
        in_order = (OngoingTopic(name="a", partitions=(a,)), OngoingTopic(name="t", partitions=(t,)))
        assert listed(cluster) == in_order
        asked = (
            TopicPartitions(topic="t", partitions=(0, 1, 9)),
            TopicPartitions(topic="nope", partitions=(0,)),
        )
        assert listed(cluster, *asked) == in_order[1:]
        assert listed(cluster, TopicPartitions(topic="t", partitions=(0,))) == ()

    def test_an_empty_list_asks_for_nothing(self, cluster: ControlledCluster) -> None:
        moved(cluster, (0, (13, 14)))
        response = cluster.ask(ListPartitionReassignments(topics=())).response
        assert response == ListPartitionReassignmentsResponse()


def test_one_record_a_partition_in_one_batch(cluster: ControlledCluster) -> None:
    partitions = tuple(ReassignablePartition(partition_index=index, replicas=(14, 13)) for index in (0, 1))
    request = AlterPartitionReassignments(topics=(ReassignableTopic(name="t", partitions=partitions),))
    result = cluster.ask(request)
    assert result.is_atomic
    assert [type(record) for record in result.records] == [PartitionChangeRecord] * 2
