"""CreateTopics: what is written for a topic, and every error that a topic can be refused with."""

from __future__ import annotations

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, UNASSIGNED_DIRECTORY_ID, ZERO_TOPIC_ID, TopicId
from metadata_log.records import ClearElrRecord, ConfigRecord, PartitionRecord, TopicRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeleteTopics,
    DeleteTopicState,
)
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster, directory, uuid


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    return cluster


def ask(
    cluster: ControlledCluster,
    *topics: CreatableTopic,
    timeout_ms: int = 60_000,
    validate_only: bool = False,
    context: RequestContext | None = None,
) -> tuple[CreatableTopicResult, ...]:
    request = CreateTopics(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only)
    response = cluster.ask(request, context).response
    assert isinstance(response, CreateTopicsResponse)
    return response.topics


def assigned(name: str, *replicas: tuple[int, ...], **kw: int) -> CreatableTopic:
    assignments = tuple(
        CreatableReplicaAssignment(partition_index=index, broker_ids=brokers) for index, brokers in enumerate(replicas)
    )
    return CreatableTopic(name=name, assignments=assignments, **kw)


def test_the_records_of_a_topic(cluster: ControlledCluster) -> None:
    before = cluster.next_offset
    topic = assigned("orders", (12, 11), (13, 12))
    topic = CreatableTopic(
        name="orders",
        assignments=topic.assignments,
        configs=(
            CreatableConfig(name="retention.ms", value="1000"),
            CreatableConfig(name="min.insync.replicas", value="2"),
        ),
    )
    (result,) = ask(cluster, topic)
    assert (result.num_partitions, result.replication_factor) == (2, 2)
    assert cluster.log[before:] == [
        TopicRecord(name="orders", topic_id=result.topic_id),
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1000"),
        ConfigRecord(resource_type=2, resource_name="orders", name="min.insync.replicas", value="2"),
        ClearElrRecord(topic_name="orders"),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=result.topic_id,
                replicas=replicas,
                isr=replicas,
                removing_replicas=(),
                adding_replicas=(),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=tuple(directory(broker) for broker in replicas),
            )
            for index, replicas in enumerate([(12, 11), (13, 12)])
        ),
    ]


def test_below_3_7_no_directories_are_written() -> None:
    cluster = ControlledCluster(level=14, elr=False)
    cluster.start(11)
    cluster.create("old")
    record = cluster.log[-1]
    assert isinstance(record, PartitionRecord)
    assert record.directories == ()


def test_without_elr_a_smallest_isr_clears_nothing() -> None:
    cluster = ControlledCluster(elr=False)
    cluster.start(11)
    cluster.place("plain", (11,), configs={"min.insync.replicas": "1"})
    assert not any(isinstance(record, ClearElrRecord) for record in cluster.log)


def test_defaults_stand_for_minus_one() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, default_num_partitions=4, default_replication_factor=2)
    cluster = ControlledCluster(config=config)
    cluster.start(11, 12)
    (result,) = ask(cluster, CreatableTopic(name="defaults"))
    assert (result.num_partitions, result.replication_factor) == (4, 2)


def test_a_broker_of_several_directories_says_itself_where_a_replica_is() -> None:
    cluster = ControlledCluster()
    cluster.start(11, dirs=2)
    topic_id = cluster.create("spread")
    assert cluster.partition(topic_id).directories == (UNASSIGNED_DIRECTORY_ID,)


def test_validate_only_checks_and_writes_nothing(cluster: ControlledCluster) -> None:
    before = cluster.next_offset
    good, bad = ask(
        cluster,
        CreatableTopic(name="good", num_partitions=2, replication_factor=3),
        CreatableTopic(name="bad", num_partitions=2, replication_factor=4),
        validate_only=True,
    )
    assert (good.error, good.topic_id, good.num_partitions) == (Error.NONE, ZERO_TOPIC_ID, 2)
    assert bad.error is Error.INVALID_REPLICATION_FACTOR
    assert cluster.next_offset == before


def test_one_refused_topic_leaves_the_others_be(cluster: ControlledCluster) -> None:
    results = ask(
        cluster, CreatableTopic(name="a"), CreatableTopic(name="?"), CreatableTopic(name="b", num_partitions=3)
    )
    assert [(result.name, result.error) for result in results] == [
        ("a", Error.NONE),
        ("?", Error.INVALID_TOPIC_EXCEPTION),
        ("b", Error.NONE),
    ]
    assert len({result.topic_id for result in results}) == 3
    assert "a" in cluster.image.topics.by_name
    assert "b" in cluster.image.topics.by_name


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (CreatableTopic(name=""), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name="."), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name=".."), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name="a" * 250), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name="a b"), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name="a\n"), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name="tööpic"), Error.INVALID_TOPIC_EXCEPTION),
        (CreatableTopic(name="a" * 249), Error.NONE),
        (CreatableTopic(name="Az09._-"), Error.NONE),
        (CreatableTopic(name="__cluster_metadata"), Error.INVALID_REQUEST),
        (CreatableTopic(name="t", num_partitions=0), Error.INVALID_PARTITIONS),
        (CreatableTopic(name="t", num_partitions=-2), Error.INVALID_PARTITIONS),
        (CreatableTopic(name="t", replication_factor=0), Error.INVALID_REPLICATION_FACTOR),
        (CreatableTopic(name="t", replication_factor=-2), Error.INVALID_REPLICATION_FACTOR),
        (CreatableTopic(name="t", replication_factor=4), Error.INVALID_REPLICATION_FACTOR),
        (assigned("t", (11, 12), replication_factor=2), Error.INVALID_REQUEST),
        (assigned("t", (11, 12), num_partitions=1), Error.INVALID_REQUEST),
        (assigned("t", ()), Error.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (11, 99)), Error.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (11, 11)), Error.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (11, 12), (11,)), Error.INVALID_REPLICA_ASSIGNMENT),
        (
            CreatableTopic(name="t", assignments=(CreatableReplicaAssignment(partition_index=1, broker_ids=(11,)),)),
            Error.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            CreatableTopic(
                name="t", assignments=(CreatableReplicaAssignment(partition_index=0, broker_ids=(11,)),) * 2
            ),
            Error.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_what_a_topic_can_be_refused_for(cluster: ControlledCluster, topic: CreatableTopic, error: Error) -> None:
    before = cluster.next_offset
    (result,) = ask(cluster, topic)
    assert result.error is error
    assert (result.error_message is None) == (error is Error.NONE)
    assert (result.topic_id == ZERO_TOPIC_ID) == (error is not Error.NONE)
    assert (cluster.next_offset == before) == (error is not Error.NONE)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("retention.ms", None, Error.INVALID_CONFIG),
        ("retentoin.ms", "1", Error.INVALID_CONFIG),
        ("retention.ms", "soon", Error.INVALID_CONFIG),
        ("retention.ms", "-2", Error.INVALID_CONFIG),
        ("retention.ms", "-1", Error.NONE),
        ("retention.ms", "9223372036854775808", Error.INVALID_CONFIG),
        ("min.insync.replicas", "0", Error.INVALID_CONFIG),
        ("segment.bytes", "1048575", Error.INVALID_CONFIG),
        ("segment.bytes", "2147483648", Error.INVALID_CONFIG),
        ("cleanup.policy", "compact,delete", Error.NONE),
        ("cleanup.policy", "compact,shred", Error.INVALID_CONFIG),
        ("compression.type", "zstd", Error.NONE),
        ("compression.type", "rar", Error.INVALID_CONFIG),
        ("min.cleanable.dirty.ratio", "0.5", Error.NONE),
        ("min.cleanable.dirty.ratio", "1.5", Error.INVALID_CONFIG),
        ("min.cleanable.dirty.ratio", "nan", Error.INVALID_CONFIG),
        ("preallocate", "TRUE", Error.NONE),
        ("preallocate", "yes", Error.INVALID_CONFIG),
        ("leader.replication.throttled.replicas", "0:1,1:2", Error.NONE),
        ("leader.replication.throttled.replicas", "0-1", Error.INVALID_CONFIG),
    ],
)
def test_configs_are_checked_lightly(cluster: ControlledCluster, name: str, value: str | None, error: Error) -> None:
    (result,) = ask(cluster, CreatableTopic(name="t", configs=(CreatableConfig(name=name, value=value),)))
    assert result.error is error


def test_a_name_given_twice_is_refused_once_and_wholly(cluster: ControlledCluster) -> None:
    results = ask(
        cluster,
        CreatableTopic(name="twice"),
        CreatableTopic(name="once"),
        CreatableTopic(name="twice", num_partitions=2),
    )
    assert [(result.name, result.error) for result in results] == [
        ("twice", Error.INVALID_REQUEST),
        ("once", Error.NONE),
    ]
    assert "twice" not in cluster.image.topics.by_name


def test_a_topic_that_exists(cluster: ControlledCluster) -> None:
    cluster.create("here_")
    (result,) = ask(cluster, CreatableTopic(name="here_"))
    assert result.error is Error.TOPIC_ALREADY_EXISTS


def test_names_that_are_the_same_to_metrics_collide(cluster: ControlledCluster) -> None:
    cluster.create("a.b_c")
    for name in ("a_b.c", "a.b.c", "a_b_c"):
        (result,) = ask(cluster, CreatableTopic(name=name))
        assert result.error is Error.INVALID_TOPIC_EXCEPTION
        assert "a.b_c" in (result.error_message or "")
    (result,) = ask(cluster, CreatableTopic(name="ab_c"))
    assert result.error is Error.NONE


def test_a_deleted_name_collides_no_more(cluster: ControlledCluster) -> None:
    cluster.create("x.y")
    assert ask(cluster, CreatableTopic(name="x_y"))[0].error is Error.INVALID_TOPIC_EXCEPTION
    cluster.ask(DeleteTopics(topics=(DeleteTopicState(name="x.y"),)))
    assert ask(cluster, CreatableTopic(name="x_y"))[0].error is Error.NONE
    assert ask(cluster, CreatableTopic(name="x.y"))[0].error is Error.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_timeout_that_has_passed(cluster: ControlledCluster, timeout_ms: int) -> None:
    before = cluster.next_offset
    results = ask(cluster, CreatableTopic(name="a"), CreatableTopic(name="b"), timeout_ms=timeout_ms)
    assert [result.error for result in results] == [Error.REQUEST_TIMED_OUT] * 2
    assert cluster.next_offset == before


def test_a_deadline_that_has_passed(cluster: ControlledCluster) -> None:
    late = RequestContext(deadline_ms=cluster.time.monotonic_ms)
    assert ask(cluster, CreatableTopic(name="a"), context=late)[0].error is Error.REQUEST_TIMED_OUT
    in_time = RequestContext(deadline_ms=cluster.time.monotonic_ms + 1)
    assert ask(cluster, CreatableTopic(name="a"), context=in_time)[0].error is Error.NONE


@pytest.mark.parametrize("partitions", [10_001, 10_000])
def test_too_much_for_one_request(cluster: ControlledCluster, partitions: int) -> None:
    """10,001 partitions are too many; 10,000 are not, but with the topic's own record they are 10,001 records."""
    before = cluster.next_offset
    results = ask(cluster, CreatableTopic(name="big", num_partitions=partitions), CreatableTopic(name="small"))
    assert [result.error for result in results] == [Error.POLICY_VIOLATION] * 2
    assert cluster.next_offset == before


def test_topics_without_partitions_are_counted(cluster: ControlledCluster) -> None:
    """Otherwise the controller would reject them one by one, each with its own message."""
    results = ask(cluster, *(CreatableTopic(name=f"t{number}", num_partitions=0) for number in range(10_001)))
    assert {result.error for result in results} == {Error.POLICY_VIOLATION}


def test_the_largest_topic_of_one_request(cluster: ControlledCluster) -> None:
    (result,) = ask(cluster, CreatableTopic(name="big", num_partitions=9_999, replication_factor=3))
    assert (result.error, result.num_partitions) == (Error.NONE, 9_999)


def test_a_named_principal_may_not_create(cluster: ControlledCluster) -> None:
    (result,) = ask(cluster, CreatableTopic(name="a"), context=EVE)
    assert result.error is Error.TOPIC_AUTHORIZATION_FAILED


def test_no_topics_no_answer_of_any(cluster: ControlledCluster) -> None:
    assert ask(cluster) == ()


def test_a_standby_refuses_each_topic(cluster: ControlledCluster) -> None:
    cluster.machine.deactivate()
    results = ask(cluster, CreatableTopic(name="a"), CreatableTopic(name="b"))
    assert [result.error for result in results] == [Error.NOT_CONTROLLER] * 2


def test_fenced_brokers_get_replicas_last_and_stay_out_of_the_isr(cluster: ControlledCluster) -> None:
    cluster.register(14)
    topic_id = cluster.create("wide", factor=4)
    partition = cluster.partition(topic_id)
    assert partition.replicas[-1] == 14
    assert partition.isr == partition.replicas[:-1]


def test_all_brokers_fenced() -> None:
    cluster = ControlledCluster()
    cluster.register(11)
    (placed,) = ask(cluster, CreatableTopic(name="a"))
    assert placed.error is Error.INVALID_REPLICATION_FACTOR
    (by_hand,) = ask(cluster, assigned("a", (11,)))
    assert by_hand.error is Error.INVALID_REPLICA_ASSIGNMENT


def test_brokers_that_are_stopping_get_no_replicas(cluster: ControlledCluster) -> None:
    cluster.place("led", (11, 12))
    cluster.beat(11, want_shut_down=True)
    assert cluster.image.cluster.brokers[11].in_controlled_shutdown  # type: ignore[index]
    (result,) = ask(cluster, CreatableTopic(name="a", replication_factor=3))
    assert result.error is Error.INVALID_REPLICATION_FACTOR


def test_brokers_whose_directories_are_all_cordoned_get_no_replicas(cluster: ControlledCluster) -> None:
    cluster.beat(11, cordoned_log_dirs=(directory(11),))
    for index in range(20):
        assert 11 not in cluster.partition(cluster.create(f"t{index}", factor=2)).replicas
    (result,) = ask(cluster, CreatableTopic(name="a", replication_factor=3))
    assert result.error is Error.INVALID_REPLICATION_FACTOR


def test_ids_that_are_reserved_or_taken_are_passed_over(cluster: ControlledCluster) -> None:
    taken = cluster.create("first")
    fresh, other = TopicId(uuid(1)), TopicId(uuid(2))
    cluster.ids = iter([ZERO_TOPIC_ID, METADATA_TOPIC_ID, taken, fresh, fresh, other])
    results = ask(cluster, CreatableTopic(name="a"), CreatableTopic(name="b"))
    assert [result.topic_id for result in results] == [fresh, other]
