"""Stock brokers of two releases of Kafka share three of our controllers, at the level of the older release.

The tools of both releases create, write and read topics through both; the test kills a broker and our leader. Then the
cluster is upgraded to the newer release. The controllers reject the older broker, as Kafka's controllers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.records.levels import level_name
from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.data import await_partition, consume, produce
from tests.support.kafka.jars import NEWEST, RELEASES
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

NEW, OLD = 11, 12
RECORDS = [f"message-{number}" for number in range(40)]
SESSION = {"broker.session.timeout.ms": "6000"}
GROUPS = {
    "offsets.topic.replication.factor": "2",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}
IMPATIENT = {"initial.broker.registration.timeout.ms": "12000"}
"""How long a broker that is not let in tries it, from when its JVM still loads classes; a minute by default."""


@pytest.fixture(scope="module", params=["previous_kafka_tools", "old_kafka_tools"], ids=["4.3", "3.9"])
def cluster(
    tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools, request: pytest.FixtureRequest
) -> Iterator[KafkaOnOurs]:
    with KafkaOnOurs(
        tmp_path_factory.mktemp("two-versions"),
        kafka_tools,
        brokers=(NEW, OLD),
        others={OLD: request.getfixturevalue(request.param)},
        properties=SESSION,
        broker_properties=GROUPS,
    ) as cluster:
        cluster.start_controllers("--release-version", cluster.kafka.lowest_release.metadata_version)
        cluster.start_brokers(NEW, OLD)
        yield cluster


def _both_ways(cluster: KafkaOnOurs) -> tuple[tuple[KafkaTools, KafkaNode], tuple[KafkaTools, KafkaNode]]:
    """Tools and the broker that they ask: of the new version, of the old."""
    kafka = cluster.kafka
    new, old = ((kafka.tools_of(broker_id), kafka.nodes[broker_id]) for broker_id in (NEW, OLD))
    return new, old


def _make(tools: KafkaTools, at: KafkaNode, topic: str) -> None:
    """Partition 0 is led by the new broker, partition 1 by the old; each has a copy of the other's."""
    placed = f"{NEW}:{OLD},{OLD}:{NEW}"
    tools.run("topics", "--bootstrap-server", at.address, "--create", "--topic", topic, "--replica-assignment", placed)


def test_both_boot_and_are_unfenced(cluster: KafkaOnOurs) -> None:
    for broker_id in (NEW, OLD):
        version = cluster.kafka.tools_of(broker_id).version
        said = cluster.broker(broker_id).said()
        assert f"Kafka version: {version}" in said
        assert "The broker has been unfenced. Transitioning from RECOVERY to RUNNING" in said
        assert "ERROR" not in said
    wait_until("both to fetch the log", lambda: cluster.observers() == {NEW, OLD})


def test_what_the_tools_of_either_make_and_write_is_read_through_the_other(cluster: KafkaOnOurs) -> None:
    new, old = _both_ways(cluster)
    for (tools, at), (others, other), topic in ((new, old, "by-new"), (old, new, "by-old")):
        _make(tools, at, topic)
        for index, leader in enumerate((NEW, OLD)):
            await_partition(others, other, topic, index, Leader=str(leader), Isr=f"{NEW},{OLD}")
        produce(tools, at, topic, RECORDS)
        assert sorted(consume(others, other, topic, len(RECORDS))) == sorted(RECORDS)
        assert sorted(consume(tools, at, topic, len(RECORDS))) == sorted(RECORDS)


def test_an_old_broker_that_is_killed_leaves_its_partitions_to_the_new_and_comes_back(cluster: KafkaOnOurs) -> None:
    new, old = _both_ways(cluster)
    _make(*new, "left")
    await_partition(*new, "left", 1, Leader=str(OLD), Isr=f"{NEW},{OLD}")
    produce(*new, "left", RECORDS)
    cluster.broker(OLD).kill()
    await_partition(*new, "left", 1, Leader=str(NEW), Isr=str(NEW))
    produce(*new, "left", RECORDS)
    cluster.start_brokers(OLD)
    for index in (0, 1):
        await_partition(*old, "left", index, Isr=f"{NEW},{OLD}")
    assert sorted(consume(*old, "left", 2 * len(RECORDS))) == sorted(2 * RECORDS)
    assert "ERROR" not in cluster.broker(OLD).said()


def test_both_go_on_under_our_next_leader(cluster: KafkaOnOurs) -> None:
    dead = cluster.leader()
    dead.kill()
    cluster.leader(other_than=dead.node_id)
    new, old = _both_ways(cluster)
    _make(*old, "after")
    for tools, at in (new, old):
        for index in (0, 1):
            await_partition(tools, at, "after", index, Isr=f"{NEW},{OLD}")
    produce(*old, "after", RECORDS)
    assert sorted(consume(*new, "after", len(RECORDS))) == sorted(RECORDS)
    dead.start()
    dead.wait_listening()
    for broker_id in (NEW, OLD):
        assert cluster.broker(broker_id).is_running
        assert "ERROR" not in cluster.broker(broker_id).said()


def _refused(broker: KafkaNode) -> set[str]:
    """Return the lines of a broker that is not let in, once it gives up."""
    wait_until("the old broker to give up", lambda: not broker.is_running, timeout_s=120, every_s=0.1)
    assert f"No MetadataVersion with feature level {RELEASES[NEWEST].level}" in broker.said()
    return {line for line in broker.said().splitlines() if "BrokerLifecycleManager - " in line and "egister" in line}


def test_an_old_broker_keeps_the_cluster_at_its_level_and_is_refused_above_it_as_by_kafka(
    cluster: KafkaOnOurs, tmp_path: Path
) -> None:
    new, (old_tools, _) = _both_ways(cluster)
    level, old = RELEASES[NEWEST].level, RELEASES[old_tools.version]
    supported = re.escape(f"{level_name(old.lowest_level)} to {level_name(old.level)}")
    upgrade = ("features", "--bootstrap-server", new[1].address, "upgrade")
    with pytest.raises(ToolFailedError, match=f"Broker {OLD} only supports {supported}"):
        new[0].run(*upgrade, "--feature", f"metadata.version={level}")
    with pytest.raises(ToolFailedError, match=rf"feature share\.version\. Broker {OLD} "):
        new[0].run(*upgrade, "--feature", "share.version=2")
    cluster.broker(OLD).stop()
    new[0].run("cluster", "unregister", "--bootstrap-server", new[1].address, "--id", str(OLD))
    new[0].run(*upgrade, "--release-version", RELEASES[NEWEST].metadata_version)
    with cluster.broker(OLD).properties.open("a") as properties:
        properties.writelines(f"{key}={value}\n" for key, value in IMPATIENT.items())
    cluster.kafka.launch(OLD)
    ours = _refused(cluster.broker(OLD))
    assert any("because the controller returned error UNSUPPORTED_VERSION" in line for line in ours)
    ours_said = "".join(node.log_file.read_text() for node in cluster.ours.controllers.values())
    assert "Unable to register because the broker does not support finalized version" in ours_said

    with KafkaCluster(
        tmp_path, new[0], controllers=(1,), brokers=(OLD,), others={OLD: old_tools}, properties=IMPATIENT
    ) as kafkas:
        kafkas.start(1)
        kafkas.format(OLD)
        kafkas.launch(OLD)
        assert _refused(kafkas.nodes[OLD]) == ours
