"""CreatePartitions: which topics may grow, and which records it writes."""

from __future__ import annotations

import pytest

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.records import PartitionRecord
from quorum.api.error_codes import Error
from quorum.api.partition_counts import CreatePartitions, CreatePartitionsResponse, GrowingTopic, GrownTopic
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster, directory


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    return cluster


def grow(cluster: ControlledCluster, *topics: GrowingTopic, **kw: object) -> list[GrownTopic]:
    response = cluster.ask(CreatePartitions(topics=topics, **kw)).response  # type: ignore[arg-type]
    assert isinstance(response, CreatePartitionsResponse)
    return list(response.topics)


def test_new_partitions_stand_behind_the_old_with_the_topics_factor(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("t", partitions=2, factor=3)
    before = cluster.next_offset
    assert grow(cluster, GrowingTopic(name="t", count=5)) == [GrownTopic(name="t")]
    records = cluster.log[before:]
    assert [record.partition_id for record in records if isinstance(record, PartitionRecord)] == [2, 3, 4]
    for partition_id in range(5):
        partition = cluster.partition(topic_id, partition_id)
        assert set(partition.replicas) == {11, 12, 13}
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert partition.directories == tuple(directory(replica) for replica in partition.replicas)
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_by_hand_a_fenced_replica_is_not_in_sync(cluster: ControlledCluster) -> None:
    topic_id = cluster.create("t", factor=2)
    cluster.beat(13, want_fence=True)
    assert grow(cluster, GrowingTopic(name="t", count=2, assignments=((13, 11),))) == [GrownTopic(name="t")]
    partition = cluster.partition(topic_id, 1)
    assert (partition.replicas, partition.isr, partition.leader) == ((13, 11), (11,), 11)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (GrowingTopic(name="unknown", count=2), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (GrowingTopic(name=METADATA_TOPIC_NAME, count=2), Error.INVALID_REQUEST),
        (GrowingTopic(name="t", count=2), Error.INVALID_PARTITIONS),
        (GrowingTopic(name="t", count=1), Error.INVALID_PARTITIONS),
        (GrowingTopic(name="t", count=-1), Error.INVALID_PARTITIONS),
        (GrowingTopic(name="t", count=4, assignments=((11, 12),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (GrowingTopic(name="t", count=3, assignments=()), Error.INVALID_REPLICA_ASSIGNMENT),
        (GrowingTopic(name="t", count=3, assignments=((),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (GrowingTopic(name="t", count=3, assignments=((11,),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (GrowingTopic(name="t", count=3, assignments=((11, 11),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (GrowingTopic(name="t", count=3, assignments=((11, 99),)), Error.INVALID_REPLICA_ASSIGNMENT),
        (GrowingTopic(name="t", count=20_000), Error.POLICY_VIOLATION),
    ],
)
def test_what_is_refused_leaves_the_others_be(cluster: ControlledCluster, topic: GrowingTopic, error: Error) -> None:
    cluster.create("t", partitions=2, factor=2)
    cluster.create("other")
    refused, other = grow(cluster, topic, GrowingTopic(name="other", count=2))
    assert (refused.name, refused.error) == (topic.name, error)
    assert refused.error_message
    assert other == GrownTopic(name="other")
    named = cluster.image.topics.named("t")
    assert named is not None
    assert len(named.partitions) == 2


def test_all_brokers_given_are_fenced(cluster: ControlledCluster) -> None:
    cluster.create("t", factor=1)
    cluster.beat(13, want_fence=True)
    (refused,) = grow(cluster, GrowingTopic(name="t", count=2, assignments=((13,),)))
    assert refused.error is Error.INVALID_REPLICA_ASSIGNMENT


def test_no_broker_is_there_to_place_on() -> None:
    cluster = ControlledCluster()
    cluster.start(11)
    cluster.create("t")
    cluster.beat(11, want_fence=True)
    (refused,) = grow(cluster, GrowingTopic(name="t", count=2))
    assert refused.error is Error.INVALID_REPLICATION_FACTOR


def test_named_twice_is_refused_once(cluster: ControlledCluster) -> None:
    cluster.create("t")
    (refused,) = grow(cluster, GrowingTopic(name="t", count=2), GrowingTopic(name="t", count=3))
    assert refused.error is Error.INVALID_REQUEST


def test_only_validated_nothing_is_written(cluster: ControlledCluster) -> None:
    cluster.create("t")
    before = cluster.next_offset
    assert grow(cluster, GrowingTopic(name="t", count=2), validate_only=True) == [GrownTopic(name="t")]
    assert cluster.next_offset == before


def test_the_limit_is_that_of_the_whole_request() -> None:
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=10))
    cluster.start(11)
    cluster.create("a")
    cluster.create("b")
    first, second = grow(cluster, GrowingTopic(name="a", count=8), GrowingTopic(name="b", count=8))
    assert (first.error, second.error) == (Error.NONE, Error.POLICY_VIOLATION)


def test_who_may_not_alter_the_topic(cluster: ControlledCluster) -> None:
    cluster.create("t")
    request = CreatePartitions(topics=(GrowingTopic(name="t", count=2),))
    response = cluster.ask(request, EVE).response
    assert isinstance(response, CreatePartitionsResponse)
    assert response.topics[0].error is Error.TOPIC_AUTHORIZATION_FAILED
