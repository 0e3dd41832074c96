"""The topic configs in a CreateTopics response, and the principals that may see them."""

from __future__ import annotations

import pytest

from metadata_log.records import AccessControlEntryRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.topics import (
    ConfigSource,
    CreatableConfig,
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
)
from quorum.controller.configs.effective_topics import EffectiveTopicConfigs, effective_topic_configs
from quorum.controller.configs.topics import why_invalid_values
from tests.support.controller import EVE, ControlledCluster, uuid
from tests.support.image_records import config, image_of

BROKER = 4


@pytest.fixture
def cluster() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11)
    return cluster


def create(cluster: ControlledCluster, context: RequestContext | None = None, **words: bool) -> CreatableTopicResult:
    configs = (CreatableConfig(name="flush.ms", value="7"),)
    request = CreateTopics(topics=(CreatableTopic(name="t", configs=configs),), **words)
    response = cluster.ask(request, context).response
    assert isinstance(response, CreateTopicsResponse)
    return response.topics[0]


def told(cluster: ControlledCluster, *dynamic: tuple[str, str, str], **own: str) -> dict[str, tuple[str, ConfigSource]]:
    """By name with underscores, beside dynamic configs of brokers (by id, or "" for all of them)."""
    image = image_of(*(config(broker, name, value, kind=BROKER) for broker, name, value in dynamic))
    values = {name.replace("_", "."): value for name, value in own.items()}
    found = effective_topic_configs(values, image, cluster.config)
    return {each.name.replace(".", "_"): (each.value, each.source) for each in found}


def test_all_are_told_who_asks_for_them_and_each_default_is_possible(cluster: ControlledCluster) -> None:
    result = create(cluster, wants_configs=True)
    names = [each.name for each in result.configs]
    assert len(names) == 37
    assert names == sorted(names)
    by_name = {each.name: each for each in result.configs}
    assert (by_name["flush.ms"].value, by_name["flush.ms"].source) == ("7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    defaults = {each.name: each.value for each in result.configs if each.source == ConfigSource.DEFAULT_CONFIG}
    assert why_invalid_values(defaults) is None


def test_nobody_else_is_told(cluster: ControlledCluster) -> None:
    assert create(cluster).configs == ()


def test_who_overrides_whom(cluster: ControlledCluster) -> None:
    node = str(cluster.config.node_id)
    everybody = ("", "log.retention.ms", "5")
    assert told(cluster)["retention_ms"] == ("604800000", ConfigSource.DEFAULT_CONFIG)
    assert told(cluster, everybody)["retention_ms"] == ("5", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert told(cluster, everybody, ("99", "log.retention.ms", "6"))["retention_ms"][0] == "5"
    mine = (node, "log.retention.ms", "6")
    assert told(cluster, everybody, mine)["retention_ms"] == ("6", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert told(cluster, mine, retention_ms="8")["retention_ms"] == ("8", ConfigSource.DYNAMIC_TOPIC_CONFIG)


def test_other_units_and_the_first_of_several_names(cluster: ControlledCluster) -> None:
    hours, minutes = ("", "log.retention.hours", "2"), ("", "log.retention.minutes", "3")
    assert told(cluster, hours)["retention_ms"][0] == "7200000"
    assert told(cluster, hours, minutes)["retention_ms"][0] == "180000"
    for no_time in ("soon", "-1", "9" * 5_000):
        assert told(cluster, ("", "log.roll.hours", no_time))["segment_ms"][0] == no_time


def test_who_may_create_and_not_describe_is_told_neither_numbers_nor_configs(cluster: ControlledCluster) -> None:
    entry = AccessControlEntryRecord(
        id=uuid(9),
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal=EVE.principal,
        host="*",
        operation=5,
        permission_type=3,
    )
    cluster.append((entry,))
    result = create(cluster, EVE, wants_configs=True)
    assert (result.error, result.config_error) == (Error.NONE, Error.TOPIC_AUTHORIZATION_FAILED)
    assert (result.num_partitions, result.replication_factor, result.configs) == (-1, -1, ())


def test_what_is_remembered_for_topics_that_set_nothing_is_forgotten_with_a_change_of_brokers_configs() -> None:
    cluster = ControlledCluster(elr=False)
    known = EffectiveTopicConfigs(cluster.config)
    before = known.of({}, cluster.image)
    assert known.of({}, cluster.image) is before
    own = {each.name: each.value for each in known.of({"flush.ms": "5"}, cluster.image)}
    assert own["flush.ms"] == "5"
    assert known.of({}, cluster.image) is before
    cluster.configure("log.flush.interval.ms", "7")
    after = {each.name: each.value for each in known.of({}, cluster.image)}
    assert after["flush.ms"] == "7"
    assert known.of({}, cluster.image) == effective_topic_configs({}, cluster.image, cluster.config)
