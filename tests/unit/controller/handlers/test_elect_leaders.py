"""ElectLeaders, and the leaders that the controller elects without a request."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from metadata_log.image import NO_LEADER, PartitionImage
from metadata_log.records import PartitionChangeRecord
from quorum.api.brokers import UnregisterBroker
from quorum.api.context import RequestContext
from quorum.api.elections import ElectedPartition, ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.error_codes import Error
from quorum.api.reassignments import TopicPartitions
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster

PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    cluster.place("t", (11, 12), (12, 11))
    return cluster


def elect(
    cluster: ControlledCluster, kind: int, *partitions: int, topic: str = "t", context: RequestContext | None = None
) -> ElectLeadersResponse:
    asked = (TopicPartitions(topic=topic, partitions=partitions),)
    response = cluster.ask(ElectLeaders(election_type=kind, partitions=asked), context).response
    assert isinstance(response, ElectLeadersResponse)
    return response


def errors_of(response: ElectLeadersResponse) -> list[Error]:
    answers = [answer for topic in response.topics for answer in topic.partitions]
    assert all(answer.error_message for answer in answers if answer.error is not Error.NONE)
    return [answer.error for answer in answers]


def now(cluster: ControlledCluster, partition_id: int = 0, topic: str = "t") -> PartitionImage:
    return cluster.partition(cluster.image.topics.by_name[topic], partition_id)


def give_way(cluster: ControlledCluster) -> None:
    """Broker 11 goes and comes back: it is in sync again, and does not lead."""
    cluster.beat(11, want_fence=True)
    cluster.beat(11)
    isr = (NodeId(12), NodeId(11))
    topic_id = cluster.image.topics.by_name["t"]
    for index in (0, 1):
        partition = now(cluster, index)
        assert partition.leader == 12
        # As AlterPartition would have it.
        cluster.append((PartitionChangeRecord(topic_id=topic_id, partition_id=index, isr=isr),))


class TestPreferred:
    def test_the_first_replica_leads_again(self, cluster: ControlledCluster) -> None:
        give_way(cluster)
        before = now(cluster)
        assert errors_of(elect(cluster, PREFERRED, 0, 1)) == [Error.NONE, Error.ELECTION_NOT_NEEDED]
        after = now(cluster)
        assert (after.leader, after.isr) == (11, before.isr)
        assert after.leader_epoch == before.leader_epoch + 1

    def test_a_first_replica_that_is_not_in_sync_cannot(self, cluster: ControlledCluster) -> None:
        cluster.beat(11, want_fence=True)
        assert errors_of(elect(cluster, PREFERRED, 0)) == [Error.PREFERRED_LEADER_NOT_AVAILABLE]
        cluster.beat(11)
        assert errors_of(elect(cluster, PREFERRED, 0)) == [Error.PREFERRED_LEADER_NOT_AVAILABLE]
        assert now(cluster).leader == 12

    def test_a_partition_without_a_leader_is_never_elected_uncleanly(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID)
        cluster = ControlledCluster(config=config)
        cluster.start(11, 12)
        cluster.place("t", (11, 12))
        cluster.beat(12, want_fence=True)
        cluster.beat(11, want_fence=True)
        cluster.beat(12)
        cluster.configure("unclean.leader.election.enable", "true")
        assert errors_of(elect(cluster, PREFERRED, 0)) == [Error.PREFERRED_LEADER_NOT_AVAILABLE]

    def test_named_twice_it_is_elected_once(self, cluster: ControlledCluster) -> None:
        give_way(cluster)
        before = cluster.next_offset
        assert errors_of(elect(cluster, PREFERRED, 0, 0)) == [Error.NONE, Error.NONE]
        assert cluster.next_offset == before + 1


class TestUnclean:
    @pytest.fixture
    def cluster(self, cluster: ControlledCluster) -> ControlledCluster:
        """Partition 0 has lost who was in sync; 12 is alive and behind."""
        cluster.beat(12, want_fence=True)
        cluster.beat(11, want_fence=True)
        cluster.beat(12)
        assert now(cluster).leader == -1
        return cluster

    def test_who_is_alive_leads_and_must_recover(self, cluster: ControlledCluster) -> None:
        assert errors_of(elect(cluster, UNCLEAN, 0)) == [Error.NONE]
        partition = now(cluster)
        assert (partition.leader, partition.isr, partition.leader_recovery_state) == (12, (12,), 1)
        assert (partition.elr, partition.last_known_elr) == ((), ())
        assert errors_of(elect(cluster, UNCLEAN, 0)) == [Error.ELECTION_NOT_NEEDED]

    def test_nobody_is_alive(self, cluster: ControlledCluster) -> None:
        cluster.beat(12, want_fence=True)
        assert errors_of(elect(cluster, UNCLEAN, 0)) == [Error.ELIGIBLE_LEADERS_NOT_AVAILABLE]


class TestAll:
    def test_every_topic_is_answered_with_what_needed_an_election(self, cluster: ControlledCluster) -> None:
        cluster.place("a", (13,))
        give_way(cluster)
        response = cluster.ask(ElectLeaders(election_type=PREFERRED)).response
        assert isinstance(response, ElectLeadersResponse)
        assert [(topic.topic, topic.partitions) for topic in response.topics] == [
            ("a", ()),
            ("t", (ElectedPartition(partition_index=0),)),
        ]
        assert now(cluster).leader == 11

    def test_none_is_not_all(self, cluster: ControlledCluster) -> None:
        give_way(cluster)
        result = cluster.ask(ElectLeaders(election_type=PREFERRED, partitions=()))
        assert (result.records, result.response) == ((), ElectLeadersResponse())

    def test_more_than_a_batch_holds(self, cluster: ControlledCluster) -> None:
        give_way(cluster)
        cluster.place("u", (13, 11))
        cluster.config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=0)
        cluster.fail_over()
        result = cluster.ask(ElectLeaders(election_type=PREFERRED))
        assert isinstance(result.response, ElectLeadersResponse)
        assert (result.records, result.response.error) == ((), Error.POLICY_VIOLATION)

    @pytest.mark.parametrize(("topics", "partitions"), [(1, 50_000), (25_001, 1)])
    def test_too_many_that_are_named_are_not_answered_one_by_one(
        self, cluster: ControlledCluster, topics: int, partitions: int
    ) -> None:
        give_way(cluster)
        named = (TopicPartitions(topic="t", partitions=(0,) * partitions),) * topics
        result = cluster.ask(ElectLeaders(election_type=PREFERRED, partitions=named))
        assert isinstance(result.response, ElectLeadersResponse)
        assert (result.records, result.response.topics) == ((), ())
        assert result.response.error is Error.POLICY_VIOLATION


class TestRefusals:
    def test_what_is_not_there(self, cluster: ControlledCluster) -> None:
        for topic, partition in (("nope", 0), ("t", 7), ("t", -1), ("__cluster_metadata", 0)):
            assert errors_of(elect(cluster, PREFERRED, partition, topic=topic)) == [Error.UNKNOWN_TOPIC_OR_PARTITION]

    def test_an_unknown_kind_of_election(self, cluster: ControlledCluster) -> None:
        response = elect(cluster, 2, 0)
        assert response.error is Error.INVALID_REQUEST
        assert errors_of(response) == [Error.INVALID_REQUEST]

    def test_who_may_not(self, cluster: ControlledCluster) -> None:
        give_way(cluster)
        response = elect(cluster, PREFERRED, 0, context=EVE)
        assert response.error is Error.CLUSTER_AUTHORIZATION_FAILED
        assert errors_of(response) == [Error.CLUSTER_AUTHORIZATION_FAILED]
        assert now(cluster).leader == 12


def test_nobody_is_elected_in_place_of_a_broker_that_stops_and_has_yet_to_give_up_the_lead() -> None:
    """Its next heartbeat takes it the lead; who asked for a leader meanwhile got none."""
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=1)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    for topic in ("t", "u"):
        cluster.place(topic, (12, 11))
    for _ in ("t", "u"):
        cluster.ask(UnregisterBroker(broker_id=NodeId(12)))
        cluster.settle()
    cluster.beat(11, want_shut_down=True)
    (waits,) = [topic for topic in ("t", "u") if now(cluster, topic=topic).leader == 11]
    before = now(cluster, topic=waits)

    assert errors_of(elect(cluster, PREFERRED, 0, topic=waits)) == [Error.PREFERRED_LEADER_NOT_AVAILABLE]

    assert now(cluster, topic=waits) == before
    cluster.beat(11, want_shut_down=True)
    assert now(cluster, topic=waits).leader == NO_LEADER


def live_on(cluster: ControlledCluster, milliseconds: int, *brokers: int) -> None:
    """Time passes, with heartbeats of these brokers; what is due is done."""
    for _ in range(milliseconds // 4_000 + 1):
        for broker in brokers:
            cluster.beat(broker)
        cluster.elapse(4_000)
        cluster.settle()


class TestRounds:
    def test_leaders_go_back_to_the_first_replica_after_five_minutes(self, cluster: ControlledCluster) -> None:
        give_way(cluster)
        live_on(cluster, 200_000, 11, 12, 13)
        assert now(cluster).leader == 12
        live_on(cluster, 110_000, 11, 12, 13)
        assert (now(cluster).leader, now(cluster, 1).leader) == (11, 12)

    def test_a_few_at_a_time(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=1)
        cluster = ControlledCluster(config=config)
        cluster.start(11, 12, 13)
        cluster.place("t", (11, 12), (12, 11))
        give_way(cluster)
        cluster.elapse(300_000)
        for broker in (11, 12, 13):
            cluster.beat(broker)
        assert len(cluster.settle()) == 1
        assert now(cluster).leader == 11
        deadline = cluster.machine.next_deadline_ms()
        assert deadline is not None
        assert deadline > cluster.time.monotonic_ms

    def test_not_where_it_is_turned_off(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, leader_imbalance_check_interval_ms=None)
        cluster = ControlledCluster(config=config)
        cluster.start(11, 12, 13)
        cluster.place("t", (11, 12), (12, 11))
        give_way(cluster)
        live_on(cluster, 700_000, 11, 12, 13)
        assert now(cluster).leader == 12

    @pytest.mark.parametrize("is_allowed", [True, False])
    def test_a_topic_that_is_allowed_it_later_gets_an_unclean_leader(self, is_allowed: bool) -> None:
        cluster = ControlledCluster()
        cluster.start(11, 12)
        cluster.place("t", (11, 12))
        cluster.beat(12, want_fence=True)
        cluster.beat(11, want_fence=True)
        cluster.beat(12)
        cluster.settle()
        assert now(cluster).leader == -1
        cluster.configure("unclean.leader.election.enable", str(is_allowed).lower(), topic="t")
        live_on(cluster, 200_000, 12)
        assert now(cluster).leader == -1
        live_on(cluster, 110_000, 12)
        assert now(cluster).leader == (12 if is_allowed else -1)
