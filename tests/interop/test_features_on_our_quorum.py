"""Kafka's own tools raise and lower features and unregister a broker, with three controllers of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    """Formatted for 3.9, whose metadata.version knows nothing of ELRs and group protocols."""
    with KafkaOnOurs(tmp_path_factory.mktemp("features"), kafka_tools) as cluster:
        cluster.start_controllers("--release-version", "3.9")
        cluster.start_brokers(11, 12)
        yield cluster


def _finalised(said: str) -> dict[str, str]:
    """What `kafka-features describe` prints."""
    return dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", said))


def _levels(cluster: KafkaOnOurs) -> dict[str, str]:
    return _finalised(cluster.admin("features", "describe"))


def test_what_is_finalised_is_told_by_brokers_and_controllers(cluster: KafkaOnOurs) -> None:
    levels = _levels(cluster)
    assert levels["metadata.version"] == "3.9-IV0"
    assert levels["kraft.version"] == "1"
    words = ("--bootstrap-controller", cluster.running_addresses, "describe")
    assert _finalised(cluster.tools.run("features", *words)) == levels


def test_a_level_that_lacks_another_is_refused(cluster: KafkaOnOurs) -> None:
    with pytest.raises(ToolFailedError, match=r"depends on metadata\.version level 23"):
        cluster.admin("features", "upgrade", "--feature", "eligible.leader.replicas.version=1")


def test_the_whole_cluster_is_raised_to_a_release_while_it_runs(cluster: KafkaOnOurs) -> None:
    cluster.admin("topics", "--create", "--topic", "before", "--partitions", "3", "--replication-factor", "2")
    cluster.admin("features", "upgrade", "--release-version", "4.3", "--dry-run")
    assert _levels(cluster)["metadata.version"] == "3.9-IV0"
    cluster.admin("features", "upgrade", "--release-version", "4.3")
    raised = {
        "metadata.version": "4.3-IV0",
        "eligible.leader.replicas.version": "1",
        "group.version": "1",
        "transaction.version": "2",
    }  # either broker may be asked, and the other may know already
    wait_until("brokers to know", lambda: raised.items() <= _levels(cluster).items(), timeout_s=60)
    cluster.admin("topics", "--create", "--topic", "after", "--partitions", "3", "--replication-factor", "2")
    cluster.kafka.await_topics("before", "after")


def test_a_feature_is_lowered_where_no_record_depends_on_it(cluster: KafkaOnOurs) -> None:
    with pytest.raises(ToolFailedError, match="might delete metadata information"):
        cluster.admin("features", "downgrade", "--feature", "metadata.version=29")
    with pytest.raises(ToolFailedError, match="only supports 0 to 1"):
        cluster.admin("features", "upgrade", "--feature", "group.version=7")
    cluster.admin("features", "downgrade", "--feature", "group.version=0")
    wait_until("brokers to know", lambda: _levels(cluster)["group.version"] == "0", timeout_s=60)


def test_a_broker_that_is_gone_is_unregistered(cluster: KafkaOnOurs) -> None:
    cluster.broker(12).stop()
    words = ("unregister", "--bootstrap-server", cluster.broker(11).address, "--id", "12")
    said = cluster.tools.run("cluster", *words)
    assert "Broker 12 is no longer registered." in said
    with pytest.raises(ToolFailedError, match="12 is not currently registered"):
        cluster.tools.run("cluster", *words)
    cluster.start_brokers(12)
