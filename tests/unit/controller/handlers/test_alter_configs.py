"""AlterConfigs, and what both requests refuse of topics, brokers, groups and subscriptions to client metrics."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from metadata_log.image import ResourceType
from metadata_log.records import ClearElrRecord, ConfigRecord, MetadataRecord
from quorum.api.configs import AlterConfigs, AlterConfigsResponse, AlteredResource, ReplacedResource
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, ControlledCluster

TOPIC, BROKER, LOGGER, METRICS, GROUP = (int(kind) for kind in ResourceType)


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11)
    cluster.create("t")
    return cluster


def all_of(kind: int, name: str, configs: Mapping[str, str | None]) -> ReplacedResource:
    return ReplacedResource(resource_type=kind, name=name, configs=tuple(configs.items()))


def replace(
    cluster: ControlledCluster, *resources: ReplacedResource, context: RequestContext | None = None, **kw: bool
) -> tuple[list[AlteredResource], list[MetadataRecord]]:
    before = cluster.next_offset
    response = cluster.ask(AlterConfigs(resources=resources, **kw), context).response
    assert isinstance(response, AlterConfigsResponse)
    return list(response.resources), cluster.log[before:]


def record(name: str, value: str | None, *, kind: int = TOPIC, resource: str = "t") -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def test_what_is_not_named_is_removed(cluster: ControlledCluster) -> None:
    replace(cluster, all_of(TOPIC, "t", {"retention.ms": "1000", "flush.ms": "5", "segment.ms": "9"}))
    (altered,), records = replace(cluster, all_of(TOPIC, "t", {"flush.ms": "5", "segment.ms": "8"}))
    assert altered == AlteredResource(resource_type=TOPIC, name="t")
    assert records == [record("segment.ms", "8"), record("retention.ms", None)]
    assert dict(cluster.image.configs.of_topic("t").items()) == {"flush.ms": "5", "segment.ms": "8"}


def test_a_null_removes_and_the_last_of_two_values_counts(cluster: ControlledCluster) -> None:
    replace(cluster, all_of(TOPIC, "t", {"retention.ms": "1000"}))
    named_twice = (("flush.ms", "1"), ("flush.ms", "2"), ("retention.ms", None))
    _, records = replace(cluster, ReplacedResource(resource_type=TOPIC, name="t", configs=named_twice))
    assert records == [record("flush.ms", "2"), record("retention.ms", None)]


def test_a_brokers_are_written_also_where_nothing_changes(cluster: ControlledCluster) -> None:
    for _ in range(2):
        _, records = replace(cluster, all_of(BROKER, "11", {"log.cleaner.threads": "2"}))
        assert records == [record("log.cleaner.threads", "2", kind=BROKER, resource="11")]


def test_removing_the_minimum_empties_the_elrs(cluster: ControlledCluster) -> None:
    replace(cluster, all_of(TOPIC, "t", {"min.insync.replicas": "1"}))
    _, records = replace(cluster, all_of(TOPIC, "t", {}))
    assert records == [record("min.insync.replicas", None), ClearElrRecord(topic_name="t")]


def test_only_validated_nothing_is_written(cluster: ControlledCluster) -> None:
    (altered,), records = replace(cluster, all_of(TOPIC, "t", {"flush.ms": "1"}), validate_only=True)
    assert (altered.error, records) == (Error.NONE, [])


def test_too_many_at_once_are_refused() -> None:
    config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=2)
    cluster = ControlledCluster(config=config)
    cluster.start(11)
    many = {f"x{number}": "1" for number in range(3)}
    (refused,), records = replace(cluster, all_of(BROKER, "11", many))
    assert (refused.error, records) == (Error.POLICY_VIOLATION, [])


PATTERNS = [
    ("a{4294967296}", False),
    ("(" * 2_000 + ")" * 2_000, False),
    ("(?u)(?a)a", False),
    (r"\p{Alpha}+", True),
    (r"\Qa.b\E", True),
    ("", False),
    ("=", False),
]


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize(("pattern", "is_one"), PATTERNS, ids=[pattern[:20] for pattern, _ in PATTERNS])
def test_clients_are_matched_by_what_java_reads(
    cluster: ControlledCluster, pattern: str, is_one: bool, validate_only: bool
) -> None:
    resource = all_of(METRICS, "m", {"match": f"client_id={pattern}"})
    (altered,), records = replace(cluster, resource, validate_only=validate_only)
    assert altered.error is (Error.NONE if is_one else Error.INVALID_CONFIG)
    assert len(records) == (is_one and not validate_only)


def test_patterns_that_take_long_to_read_are_too_much_for_one_request(cluster: ControlledCluster) -> None:
    long = {"match": "client_id=" + "ab" * 16_000}
    many = [all_of(METRICS, f"m{number}", long) for number in range(9)]
    altered, records = replace(cluster, *many)
    assert ({each.error for each in altered}, records) == ({Error.POLICY_VIOLATION}, [])
    altered, records = replace(cluster, *many[:8])
    assert ({each.error for each in altered}, len(records)) == ({Error.NONE}, 8)


def test_named_twice_is_refused_once(cluster: ControlledCluster) -> None:
    resource = all_of(TOPIC, "t", {"flush.ms": "1"})
    (refused,), records = replace(cluster, resource, resource)
    assert (refused.error, records) == (Error.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("kind", "name", "configs", "error"),
    [
        (TOPIC, "t", {"no.such.config": "1"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"cleanup.policy": "delete,"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"compression.gzip.level": "0"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"compression.gzip.level": "10"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"compression.lz4.level": "18"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"compression.zstd.level": "23"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"remote.storage.enable": "true"}, Error.INVALID_CONFIG),
        (TOPIC, "unknown", {"flush.ms": "1"}, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", {"flush.ms": "1"}, Error.INVALID_REQUEST),
        (TOPIC, "a b", {"flush.ms": "1"}, Error.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "unknown", {"flush.ms": "x"}, Error.INVALID_CONFIG),
        (TOPIC, "__cluster_metadata", {"flush.ms": "1"}, Error.INVALID_REQUEST),
        (BROKER, "99", {"x": "1"}, Error.BROKER_ID_NOT_REGISTERED),
        (BROKER, "x", {"x": "1"}, Error.INVALID_REQUEST),
        (BROKER, "11", {"min.insync.replicas": "1"}, Error.INVALID_CONFIG),
        (BROKER, "", {}, Error.INVALID_CONFIG),
        (BROKER, "11", {"cordoned.log.dirs": "/a"}, Error.INVALID_CONFIG),
        (LOGGER, "11", {"root": "DEBUG"}, Error.INVALID_REQUEST),
        (METRICS, "", {"interval.ms": "1000"}, Error.INVALID_REQUEST),
        (METRICS, "m", {"interval": "1000"}, Error.INVALID_REQUEST),
        (METRICS, "m", {"interval.ms": "99"}, Error.INVALID_REQUEST),
        (METRICS, "m", {"interval.ms": "soon"}, Error.INVALID_CONFIG),
        (METRICS, "m", {"metrics": "a,"}, Error.INVALID_CONFIG),
        (METRICS, "m", {"match": "colour=blue"}, Error.INVALID_CONFIG),
        (METRICS, "m", {"match": "client_id=["}, Error.INVALID_CONFIG),
        (GROUP, "", {"consumer.session.timeout.ms": "50000"}, Error.INVALID_REQUEST),
        (GROUP, "g", {"session.timeout.ms": "50000"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"consumer.session.timeout.ms": "44999"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"share.auto.offset.reset": "by_duration:1"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"errors.deadletterqueue.topic.name": " __x"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"streams.assignor.name": "other"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"streams.num.warmup.replicas": "21"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"streams.rack.aware.assignment.tags": "a, a"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"streams.rack.aware.assignment.tags": "a,"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"streams.task.offset.interval.ms": "14999"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"max.decompressed.message.bytes": "2147483640"}, Error.INVALID_CONFIG),
        (TOPIC, "t", {"remote.copy.lag.ms": "-2"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"share.auto.offset.reset": "by_duration:PT-1S"}, Error.INVALID_CONFIG),
        (GROUP, "g", {"share.auto.offset.reset": "by_duration:P99999999999999999999D"}, Error.INVALID_CONFIG),
        (0, "x", {}, Error.UNSUPPORTED_VERSION),
        (7, "x", {}, Error.UNSUPPORTED_VERSION),
    ],
)
def test_what_is_refused_leaves_the_others_be(
    cluster: ControlledCluster, kind: int, name: str, configs: dict[str, str | None], error: Error
) -> None:
    cluster.create("other")
    other = all_of(TOPIC, "other", {"flush.ms": "1"})
    (refused, done), records = replace(cluster, all_of(kind, name, configs), other)
    assert (refused.resource_type, refused.name, refused.error) == (kind, name, error)
    assert refused.error_message
    assert done.error is Error.NONE
    assert records == [record("flush.ms", "1", resource="other")]


@pytest.mark.parametrize(
    ("kind", "name", "configs"),
    [
        (METRICS, "m", {"interval.ms": "100", "metrics": "*", "match": "client_id = a.*, client_software_name=Java"}),
        (METRICS, "m", {"metrics": ""}),
        (GROUP, "g", {"consumer.session.timeout.ms": "45000", "share.auto.offset.reset": "by_duration:PT1H30M"}),
        (GROUP, "g", {"share.isolation.level": "read_committed", "streams.num.standby.replicas": "2"}),
        (GROUP, "g", {"errors.deadletterqueue.topic.name": "_x", "streams.assignor.name": " sticky"}),
        (
            GROUP,
            "g",
            {"streams.rack.aware.assignment.tags": "a,b", "streams.acceptable.recovery.lag": str(1 << 62)},
        ),
        (TOPIC, "t", {"max.decompressed.message.bytes": "2147483639", "errors.deadletterqueue.group.enable": "true"}),
        (TOPIC, "t", {"remote.copy.lag.ms": "5", "local.retention.ms": "4"}),
        (TOPIC, "t", {"cleanup.policy": "", "compression.gzip.level": "-1"}),
        (BROKER, "11", {"any.config": "that a broker knows"}),
    ],
)
def test_what_a_resource_may_have(
    cluster: ControlledCluster, kind: int, name: str, configs: dict[str, str | None]
) -> None:
    (altered,), records = replace(cluster, all_of(kind, name, configs))
    assert altered.error is Error.NONE, altered.error_message
    assert records == [record(key, value, kind=kind, resource=name) for key, value in configs.items()]


class TestCordonedLogDirs:
    """KIP-1066: a broker, which knows its directories, may cordon any; who comes here without one may only undo it."""

    THROUGH_A_BROKER = RequestContext(forwarded_by=11)

    def cordon(self, cluster: ControlledCluster, value: str, context: RequestContext | None = None) -> Error:
        (altered,), _ = replace(cluster, all_of(BROKER, "11", {"cordoned.log.dirs": value}), context=context)
        return altered.error

    def test_who_may_what(self, cluster: ControlledCluster) -> None:
        assert self.cordon(cluster, "/a,/b", self.THROUGH_A_BROKER) is Error.NONE
        assert self.cordon(cluster, "/a,/c") is Error.INVALID_CONFIG
        assert self.cordon(cluster, "/b") is Error.NONE
        assert self.cordon(cluster, "") is Error.NONE

    def test_not_below_its_level(self) -> None:
        cluster = ControlledCluster(level=29)
        cluster.start(11)
        assert self.cordon(cluster, "/a", self.THROUGH_A_BROKER) is Error.INVALID_CONFIG


class TestRemoteStorage:
    """The rules of tiered storage for a topic's configs hold only if the controller has it enabled."""

    @pytest.fixture
    def cluster(self) -> ControlledCluster:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, remote_log_storage_system_enable=True)
        cluster = ControlledCluster(config=config)
        cluster.start(11)
        cluster.create("t")
        return cluster

    def error(self, cluster: ControlledCluster, configs: dict[str, str | None]) -> Error:
        (altered,), _ = replace(cluster, all_of(TOPIC, "t", configs))
        return altered.error

    @pytest.mark.parametrize(
        "configs",
        [
            {"cleanup.policy": "compact"},
            {"local.retention.ms": "-1"},
            {"local.retention.ms": "2", "retention.ms": "1"},
            {"local.retention.bytes": "2", "retention.bytes": "1"},
            {"local.retention.ms": "1", "retention.ms": "2", "remote.log.copy.disable": "true"},
            {"local.retention.bytes": "5", "remote.log.copy.disable": "true"},
            {"remote.copy.lag.ms": "604800001"},
            {"remote.copy.lag.ms": "5", "local.retention.ms": "4"},
            {"remote.copy.lag.bytes": "5", "retention.bytes": "4"},
        ],
    )
    def test_contradictions(self, cluster: ControlledCluster, configs: dict[str, str | None]) -> None:
        assert self.error(cluster, {**configs, "remote.storage.enable": "true"}) is Error.INVALID_CONFIG
        assert self.error(cluster, configs) is Error.NONE, "without remote storage nothing is wrong with it"

    @pytest.mark.parametrize(
        "configs",
        [
            {"remote.copy.lag.ms": "604800000"},
            {"remote.copy.lag.ms": "-1", "local.retention.ms": "0"},
            {"remote.copy.lag.ms": "5", "retention.ms": "-1", "local.retention.ms": "-1"},
            {"remote.copy.lag.bytes": "5"},
        ],
    )
    def test_a_copy_may_lag_as_long_as_it_is_kept(
        self, cluster: ControlledCluster, configs: dict[str, str | None]
    ) -> None:
        assert self.error(cluster, {**configs, "remote.storage.enable": "true"}) is Error.NONE

    def test_it_is_not_switched_off_while_its_data_is_kept(self, cluster: ControlledCluster) -> None:
        retention: dict[str, str | None] = {"local.retention.ms": "1", "retention.ms": "2"}
        assert self.error(cluster, {"remote.storage.enable": "true", **retention}) is Error.NONE
        assert self.error(cluster, retention) is Error.INVALID_CONFIG
        assert self.error(cluster, {"remote.storage.enable": "false"}) is Error.INVALID_CONFIG
        assert self.error(cluster, {"remote.log.delete.on.disable": "true"}) is Error.NONE
