"""IncrementalAlterConfigs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.image import ResourceType
from metadata_log.records import ClearElrRecord, ConfigRecord, MetadataRecord
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlteredResource,
    ConfigOperation,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from tests.support.controller import EVE, ControlledCluster

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
TOPIC, BROKER = int(ResourceType.TOPIC), int(ResourceType.BROKER)


@pytest.fixture(name="cluster")
def a_cluster() -> ControlledCluster:
    return with_a_topic()


def with_a_topic() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11)
    cluster.create("t")
    return cluster


def resource(*configs: tuple[str, int, str | None], kind: int = TOPIC, name: str = "t") -> AlterableResource:
    return AlterableResource(
        resource_type=kind,
        name=name,
        configs=tuple(AlterableConfig(name=key, operation=operation, value=value) for key, operation, value in configs),
    )


def alter(
    cluster: ControlledCluster, *resources: AlterableResource, context: RequestContext | None = None, **kw: bool
) -> tuple[list[AlteredResource], list[MetadataRecord]]:
    before = cluster.next_offset
    response = cluster.ask(IncrementalAlterConfigs(resources=resources, **kw), context).response
    assert isinstance(response, IncrementalAlterConfigsResponse)
    return list(response.resources), cluster.log[before:]


def test_set_and_delete(cluster: ControlledCluster) -> None:
    (altered,), records = alter(cluster, resource(("retention.ms", SET, "1000"), ("flush.ms", SET, "5")))
    assert altered == AlteredResource(resource_type=TOPIC, name="t")
    assert records == [
        ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1000"),
        ConfigRecord(resource_type=2, resource_name="t", name="flush.ms", value="5"),
    ]
    _, records = alter(cluster, resource(("retention.ms", DELETE, None)))
    assert records == [ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value=None)]
    assert dict(cluster.image.configs.of_topic("t").items()) == {"flush.ms": "5"}


def test_of_two_the_last_counts_and_null_removes(cluster: ControlledCluster) -> None:
    (altered,), records = alter(cluster, resource(("flush.ms", SET, "x"), ("flush.ms", SET, "2")))
    assert (altered.error, [record.value for record in records]) == (Error.NONE, ["2"])
    (altered,), records = alter(cluster, resource(("flush.ms", SET, None)))
    assert (altered.error, [record.value for record in records]) == (Error.NONE, [None])


def test_a_value_that_a_topic_has_is_not_written_again(cluster: ControlledCluster) -> None:
    alter(cluster, resource(("retention.ms", SET, "1000")))
    (altered,), records = alter(cluster, resource(("retention.ms", SET, "1000"), ("flush.ms", DELETE, None)))
    assert (altered.error, records) == (Error.NONE, [])


def test_lists_grow_and_shrink_from_their_default(cluster: ControlledCluster) -> None:
    def value() -> str | None:
        return cluster.image.configs.of_topic("t").get("cleanup.policy")

    alter(cluster, resource(("cleanup.policy", APPEND, "compact")))
    assert value() == "delete,compact"
    alter(cluster, resource(("cleanup.policy", APPEND, "compact")))
    assert value() == "delete,compact"
    alter(cluster, resource(("cleanup.policy", SUBTRACT, "delete,unknown")))
    assert value() == "compact"


def test_a_broker_s_list_grows_from_its_default(cluster: ControlledCluster) -> None:
    own = "com.example.Own"
    alter(cluster, resource(("group.streams.assignors", APPEND, own), kind=BROKER, name=""))
    assert cluster.image.configs.of_cluster().get("group.streams.assignors") == f"sticky,{own}"


PARTS = st.lists(st.sampled_from(["0:1", "0:2", "0:3", "1:1"]), max_size=6)


@given(PARTS, st.sampled_from([APPEND, SUBTRACT]), PARTS)
def test_lists_take_and_lose_parts_in_order(held: list[str], operation: ConfigOperation, parts: list[str]) -> None:
    cluster = with_a_topic()
    name = "follower.replication.throttled.replicas"
    alter(cluster, resource((name, SET, ",".join(held))))
    expected = list(held)
    for part in parts:
        if operation == APPEND and part not in expected:
            expected.append(part)
        elif operation == SUBTRACT and part in expected:
            expected.remove(part)
    alter(cluster, resource((name, operation, ",".join(parts))))
    found = cluster.image.configs.of_topic("t").get(name) or ""
    assert [part for part in found.split(",") if part] == expected


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (resource(("no.such.config", SET, "1")), Error.INVALID_CONFIG),
        (resource(("retention.ms", SET, "soon")), Error.INVALID_CONFIG),
        (resource(("cleanup.policy", APPEND, "burn")), Error.INVALID_CONFIG),
        (resource(("retention.ms", APPEND, "1")), Error.INVALID_CONFIG),
        (resource(("leader.replication.throttled.replicas", SET, "1:2," * 9000)), Error.INVALID_CONFIG),
        (resource(("cleanup.policy", APPEND, None)), Error.INVALID_REQUEST),
        (resource(("retention.ms", 4, "1")), Error.INVALID_REQUEST),
        (resource(("retention.ms", -1, "1")), Error.INVALID_REQUEST),
        (resource(("retention.ms", SET, "1"), ("retention.ms", SET, "x")), Error.INVALID_CONFIG),
        (resource(("retention.ms", APPEND, "1"), name="no such"), Error.INVALID_CONFIG),
        (resource(("retention.ms", SET, "x"), name="no such"), Error.INVALID_TOPIC_EXCEPTION),
        (resource(("retention.ms", SET, "x"), name="none"), Error.INVALID_CONFIG),
        (resource(("retention.ms", SET, "1"), name="unknown"), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (resource(("retention.ms", SET, "1"), name=METADATA_TOPIC_NAME), Error.INVALID_REQUEST),
        (resource(("x", SET, "1"), kind=BROKER, name="99"), Error.BROKER_ID_NOT_REGISTERED),
        (resource(("x", SET, "1"), kind=BROKER, name="eleven"), Error.INVALID_REQUEST),
        (resource(("x", SET, "1"), kind=BROKER, name="99999999999"), Error.INVALID_REQUEST),
        (resource(("x", SET, "1"), kind=BROKER, name="9" * 5_000), Error.INVALID_REQUEST),
        (resource(("x", SET, "1"), kind=BROKER, name="-1"), Error.INVALID_REQUEST),
        (resource(("x", SET, "1"), kind=BROKER, name="-0"), Error.BROKER_ID_NOT_REGISTERED),
        (resource(("retention.ms", SET, "9" * 5_000)), Error.INVALID_CONFIG),
        (resource(("x", SET, "1"), kind=16, name="client"), Error.INVALID_REQUEST),
        (resource(("min.insync.replicas", SET, "1"), kind=BROKER, name="11"), Error.INVALID_CONFIG),
        (resource(("min.insync.replicas", DELETE, None), kind=BROKER, name=""), Error.INVALID_CONFIG),
    ],
)
def test_what_is_refused_leaves_the_others_be(
    cluster: ControlledCluster, asked: AlterableResource, error: Error
) -> None:
    cluster.create("other")
    other = resource(("retention.ms", SET, "1"), name="other")
    (refused, done), records = alter(cluster, asked, other)
    assert (refused.resource_type, refused.name, refused.error) == (asked.resource_type, asked.name, error)
    assert refused.error_message
    assert done.error is Error.NONE
    assert [record.resource_name for record in records if isinstance(record, ConfigRecord)] == ["other"]


@pytest.mark.parametrize("name", ["011", "+11", "\u0661\u0661"])
def test_a_brokers_id_may_be_spelt_as_java_reads_it(cluster: ControlledCluster, name: str) -> None:
    (altered,), records = alter(cluster, resource(("x", SET, "1"), kind=BROKER, name=name))
    assert altered.error is Error.NONE
    assert records == [ConfigRecord(resource_type=4, resource_name=name, name="x", value="1")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "delete,delete"),
        ("min.cleanable.dirty.ratio", "NaN"),
        ("min.cleanable.dirty.ratio", "0x1p-1"),
        ("min.cleanable.dirty.ratio", "0.5f"),
        ("retention.ms", "\u0661"),
        ("retention.ms", "\0 +1"),
        ("follower.replication.throttled.replicas", "1:1,"),
    ],
)
def test_values_are_what_java_takes_them_for(cluster: ControlledCluster, name: str, value: str) -> None:
    (altered,), (record,) = alter(cluster, resource((name, SET, value)))
    assert altered.error is Error.NONE
    assert record == ConfigRecord(resource_type=2, resource_name="t", name=name, value=value)


def test_a_minimum_that_is_no_number_counts_for_nothing(cluster: ControlledCluster) -> None:
    asked = resource(("min.insync.replicas", SET, "9" * 5_000), kind=BROKER, name="")
    (altered,), _ = alter(cluster, asked)
    assert altered.error is Error.NONE
    topic_id = cluster.create("u", partitions=1)
    cluster.beat(11, want_shut_down=True)
    cluster.settle()
    assert cluster.partition(topic_id).leader == -1


def test_a_resource_changes_as_a_whole_or_not_at_all(cluster: ControlledCluster) -> None:
    (refused,), records = alter(cluster, resource(("retention.ms", SET, "1"), ("flush.ms", SET, "never")))
    assert (refused.error, records) == (Error.INVALID_CONFIG, [])


def test_named_twice_is_refused_once(cluster: ControlledCluster) -> None:
    (refused,), records = alter(cluster, resource(("flush.ms", SET, "1")), resource(("flush.ms", SET, "2")))
    assert (refused.error, records) == (Error.INVALID_REQUEST, [])


def test_of_no_known_type_each_is_refused(cluster: ControlledCluster) -> None:
    refused, records = alter(cluster, resource(kind=99), resource(kind=99))
    assert ([each.error for each in refused], records) == ([Error.UNSUPPORTED_VERSION] * 2, [])


def test_only_validated_nothing_is_written(cluster: ControlledCluster) -> None:
    (altered,), records = alter(cluster, resource(("flush.ms", SET, "1")), validate_only=True)
    assert (altered.error, records) == (Error.NONE, [])


@pytest.mark.parametrize("name", ["11", ""])
def test_a_brokers_value_is_written_also_where_nothing_changes(cluster: ControlledCluster, name: str) -> None:
    asked = resource(("log.cleaner.threads", SET, "2"), kind=BROKER, name=name)
    for _ in range(2):
        _, records = alter(cluster, asked)
        assert records == [ConfigRecord(resource_type=4, resource_name=name, name="log.cleaner.threads", value="2")]


def test_another_minimum_of_replicas_in_sync_empties_elrs(cluster: ControlledCluster) -> None:
    _, records = alter(cluster, resource(("min.insync.replicas", SET, "2")))
    assert records[1:] == [ClearElrRecord(topic_name="t")]
    _, records = alter(cluster, resource(("min.insync.replicas", SET, "2"), kind=BROKER, name=""))
    assert records[1:] == [ClearElrRecord(topic_name="")]
    without = ControlledCluster(elr=False)
    without.start(11)
    without.create("t")
    _, records = alter(without, resource(("min.insync.replicas", SET, "2")))
    assert len(records) == 1
    (altered,), _ = alter(without, resource(("min.insync.replicas", SET, "2"), kind=BROKER, name="11"))
    assert altered.error is Error.NONE


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [(TOPIC, "t", Error.TOPIC_AUTHORIZATION_FAILED), (BROKER, "11", Error.CLUSTER_AUTHORIZATION_FAILED)],
)
def test_who_may_not(cluster: ControlledCluster, kind: int, name: str, error: Error) -> None:
    asked = resource(("flush.ms", SET, "1"), kind=kind, name=name)
    (refused,), records = alter(cluster, asked, context=EVE)
    assert (refused.error, records) == (error, [])
