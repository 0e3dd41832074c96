"""DescribeConfigs: values, who set them, and what they fall back to."""

from __future__ import annotations

import pytest

from metadata_log.image import ResourceType
from quorum.api.configs import AlterConfigs, ReplacedResource
from quorum.api.context import RequestContext
from quorum.api.described_configs import (
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
    DescribedResource,
    ResourceToDescribe,
)
from quorum.api.error_codes import Error
from quorum.api.topics import ConfigSource
from quorum.controller.config import ControllerConfig, Setting
from quorum.controller.configs.defaults import BOOLEAN, INT, LIST, LONG, PASSWORD, STRING
from quorum.transport.kafka.describe_configs_frame import describe_configs_frame
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster

TOPIC, BROKER, LOGGER, METRICS, GROUP = (int(kind) for kind in ResourceType)
NODE = 1


@pytest.fixture
def cluster() -> ControlledCluster:
    settings = {
        "num.partitions": Setting(value="7", default="1", kind=LONG),
        "delete.topic.enable": Setting(value=None, default="true", kind=BOOLEAN),
        "delegation.token.secret.key": Setting(value="hush", default=None, kind=PASSWORD),
    }
    cluster = ControlledCluster(config=ControllerConfig(node_id=NODE, cluster_id=CLUSTER_ID, settings=settings))
    cluster.start(11)
    cluster.create("t")
    return cluster


def describe(
    cluster: ControlledCluster, kind: int, name: str, *names: str, context: RequestContext | None = None
) -> DescribedResource:
    asked = ResourceToDescribe(resource_type=kind, name=name, names=names or None)
    result = cluster.ask(DescribeConfigs(resources=(asked,), include_synonyms=True), context)
    assert result.records == ()
    assert isinstance(result.response, DescribeConfigsResponse)
    (resource,) = result.response.resources
    assert (resource.resource_type, resource.name) == (kind, name)
    return resource


def test_an_answer_is_never_larger_than_it_may_be(cluster: ControlledCluster) -> None:
    names = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
    values = tuple((name, "1:1," * 8_000) for name in names)
    cluster.ask(AlterConfigs(resources=(ReplacedResource(resource_type=TOPIC, name="t", configs=values),)))
    cluster.create("small")
    large = ResourceToDescribe(resource_type=TOPIC, name="t")
    small = ResourceToDescribe(resource_type=TOPIC, name="small")
    response = cluster.ask(DescribeConfigs(resources=(*(large,) * 9_998, small))).response
    assert isinstance(response, DescribeConfigsResponse)
    errors = [each.error for each in response.resources]
    told = errors.index(Error.POLICY_VIOLATION)
    assert 900 < told < 1_100
    assert (set(errors[told:-1]), errors[-1]) == ({Error.POLICY_VIOLATION}, Error.NONE)
    assert {each.configs for each in response.resources[told:-1]} == {()}
    assert len(describe_configs_frame(1, 4, response)) < 68 << 20


def one(cluster: ControlledCluster, kind: int, name: str, config: str) -> DescribedConfig:
    (found,) = describe(cluster, kind, name, config).configs
    assert found.name == config
    return found


def synonyms(config: DescribedConfig) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, each.source) for each in config.synonyms]


def test_a_topic_s_configs_fall_back_to_the_node_s(cluster: ControlledCluster) -> None:
    """KIP-226: topic, this node, all nodes, default."""
    fallen = one(cluster, TOPIC, "t", "segment.bytes")
    assert (fallen.value, fallen.source, fallen.kind) == (str(1 << 30), ConfigSource.DEFAULT_CONFIG, INT)
    cluster.configure("log.segment.bytes", "3000000")
    fallen = one(cluster, TOPIC, "t", "segment.bytes")
    assert (fallen.value, fallen.source) == ("3000000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    cluster.configure("segment.bytes", "2000000", topic="t")
    own = one(cluster, TOPIC, "t", "segment.bytes")
    assert (own.value, own.source, own.read_only) == ("2000000", ConfigSource.DYNAMIC_TOPIC_CONFIG, False)
    assert synonyms(own) == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "3000000", 3),
        ("log.segment.bytes", str(1 << 30), 5),
    ]


def test_all_configs_of_a_topic(cluster: ControlledCluster) -> None:
    configs = describe(cluster, TOPIC, "t").configs
    assert [each.name for each in configs] == sorted(each.name for each in configs)
    assert len(configs) == 37
    kinds = {each.name: each.kind for each in configs}
    assert (kinds["cleanup.policy"], kinds["retention.ms"], kinds["compression.type"]) == (LIST, LONG, STRING)
    retention = one(cluster, TOPIC, "t", "retention.ms")
    assert (retention.value, synonyms(retention)) == ("604800000", []), "log.retention.ms has no default"


def test_a_group_s_and_a_subscription_s(cluster: ControlledCluster) -> None:
    name = "consumer.session.timeout.ms"
    wanted = (
        ReplacedResource(resource_type=GROUP, name="g", configs=((name, "50000"),)),
        ReplacedResource(resource_type=METRICS, name="m", configs=(("interval.ms", "1000"),)),
    )
    cluster.ask(AlterConfigs(resources=wanted))
    session = one(cluster, GROUP, "g", name)
    assert (session.value, session.source) == ("50000", ConfigSource.GROUP_CONFIG)
    assert synonyms(session) == [(name, "50000", 8), (f"group.{name}", "45000", 5)]
    interval = one(cluster, METRICS, "m", "interval.ms")
    assert (interval.value, interval.source) == ("1000", ConfigSource.CLIENT_METRICS_CONFIG)
    assert [(each.name, each.value, each.source) for each in describe(cluster, METRICS, "other").configs] == [
        ("interval.ms", "300000", 5),
        ("match", "", 5),
        ("metrics", "", 5),
    ]


def test_this_node_s_own(cluster: ControlledCluster) -> None:
    cluster.configure("num.partitions", "9")
    cluster.configure("log.cleaner.threads", "2")
    configs = {each.name: each for each in describe(cluster, BROKER, str(NODE)).configs}
    partitions = configs["num.partitions"]
    assert (partitions.value, partitions.read_only) == ("9", True)
    assert synonyms(partitions) == [
        ("num.partitions", "9", 3),
        ("num.partitions", "7", 4),
        ("num.partitions", "1", 5),
    ]
    deletion = configs["delete.topic.enable"]
    assert (deletion.value, deletion.source, deletion.kind) == ("true", ConfigSource.DEFAULT_CONFIG, BOOLEAN)
    assert configs["log.cleaner.threads"].value == "2"


def test_what_all_nodes_have(cluster: ControlledCluster) -> None:
    cluster.configure("log.cleaner.threads", "2")
    configs = [(each.name, each.value, each.source) for each in describe(cluster, BROKER, "").configs]
    assert ("log.cleaner.threads", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG) in configs
    assert "num.partitions" not in [name for name, _, _ in configs]


@pytest.mark.parametrize(
    "name",
    ["delegation.token.secret.key", "listener.name.x.ssl.keystore.password", "my.plugin.passphrase", "my.private.key"],
)
def test_a_secret_is_told_to_nobody(cluster: ControlledCluster, name: str) -> None:
    cluster.configure(name, "hush")
    config = one(cluster, BROKER, str(NODE), name)
    assert (config.value, config.is_sensitive) == (None, True)
    assert {each.value for each in config.synonyms} == {None}
    assert "hush" not in repr(cluster.config)


def test_synonyms_only_for_who_asks_for_them(cluster: ControlledCluster) -> None:
    asked = ResourceToDescribe(resource_type=TOPIC, name="t")
    response = cluster.ask(DescribeConfigs(resources=(asked,))).response
    assert isinstance(response, DescribeConfigsResponse)
    assert all(each.synonyms == () for each in response.resources[0].configs)


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "unknown", Error.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", Error.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "a b", Error.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", Error.INVALID_REQUEST),
        (BROKER, "x", Error.INVALID_REQUEST),
        (LOGGER, str(NODE), Error.INVALID_REQUEST),
        (METRICS, "", Error.INVALID_REQUEST),
        (GROUP, "", Error.INVALID_REQUEST),
        (0, "x", Error.INVALID_REQUEST),
    ],
)
def test_what_is_refused(cluster: ControlledCluster, kind: int, name: str, error: Error) -> None:
    resource = describe(cluster, kind, name)
    assert (resource.error, resource.configs) == (error, ())
    assert resource.error_message


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "t", Error.TOPIC_AUTHORIZATION_FAILED),
        (GROUP, "g", Error.GROUP_AUTHORIZATION_FAILED),
        (BROKER, str(NODE), Error.CLUSTER_AUTHORIZATION_FAILED),
        (METRICS, "m", Error.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_who_may_not(cluster: ControlledCluster, kind: int, name: str, error: Error) -> None:
    assert describe(cluster, kind, name, context=EVE).error is error


@pytest.mark.parametrize("include_synonyms", [True, False])
def test_what_is_named_again_is_told_again_and_worked_out_once(
    cluster: ControlledCluster, include_synonyms: bool
) -> None:
    """The response is Kafka's. Equal configs are one object, so that the listener encodes it once."""
    cluster.configure("retention.ms", "7", topic="t")
    kinds = ((TOPIC, "t"), (GROUP, "g"), (BROKER, str(NODE)), (BROKER, ""))
    asked = [ResourceToDescribe(resource_type=kind, name=name) for kind, name in (*kinds, *kinds)]
    request = DescribeConfigs(resources=tuple(asked), include_synonyms=include_synonyms)
    response = cluster.ask(request).response
    assert isinstance(response, DescribeConfigsResponse)
    first, again = response.resources[:4], response.resources[4:]
    assert [(each.resource_type, each.name) for each in again] == list(kinds)
    assert all(one.configs is other.configs for one, other in zip(first, again, strict=True))


def test_groups_that_have_set_nothing_are_worked_out_once(cluster: ControlledCluster) -> None:
    asked = tuple(ResourceToDescribe(resource_type=GROUP, name=name) for name in "abc")
    response = cluster.ask(DescribeConfigs(resources=asked)).response
    assert isinstance(response, DescribeConfigsResponse)
    assert len({id(each.configs) for each in response.resources}) == 1
