"""Kafka's own tools move partitions of stock Kafka brokers, with three of our controllers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.data import partition
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

BROKERS = (11, 12, 13)
RECORDS = 200


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    with KafkaOnOurs(tmp_path_factory.mktemp("partitions"), kafka_tools, brokers=BROKERS) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(*BROKERS)
        yield cluster


def _make(cluster: KafkaOnOurs, name: str, *replicas: str) -> None:
    cluster.admin("topics", "--create", "--topic", name, "--replica-assignment", ",".join(replicas))
    cluster.kafka.await_topics(name)


def _produce(cluster: KafkaOnOurs, name: str, *, size: int) -> None:
    cluster.tools.run(
        "producer-performance", "--topic", name, "--num-records", str(RECORDS), "--record-size", str(size),
        "--throughput", "-1", "--producer-props", f"bootstrap.servers={cluster.broker(11).address}", "acks=all",
    )  # fmt: skip


def _partition(cluster: KafkaOnOurs, name: str, index: int = 0) -> dict[str, str]:
    """`Leader`, `Replicas`, `Isr`, ... of a partition as `kafka-topics --describe` prints them."""
    return partition(cluster.tools, cluster.kafka.running_broker, name, index)


def _plan(path: Path, name: str, **replicas: list[int]) -> str:
    """A file that says where partitions shall go; `p0` is partition 0."""
    moves = [{"topic": name, "partition": int(key[1:]), "replicas": value} for key, value in replicas.items()]
    path.write_text(json.dumps({"version": 1, "partitions": moves}))
    return str(path)


def _verified(cluster: KafkaOnOurs, plan: str) -> str:
    return cluster.admin("reassign-partitions", "--reassignment-json-file", plan, "--verify")


def test_a_partition_moves_with_its_data(cluster: KafkaOnOurs, tmp_path: Path) -> None:
    _make(cluster, "moving", "11:12", "12:13")
    _produce(cluster, "moving", size=16)
    plan = _plan(tmp_path / "plan.json", "moving", p0=[13, 12], p1=[11, 13])
    said = cluster.admin("reassign-partitions", "--reassignment-json-file", plan, "--execute")
    assert "Successfully started partition reassignments for moving-0,moving-1" in said
    wait_until("the move", lambda: _verified(cluster, plan).count("is completed") == 2, timeout_s=60)
    assert "No partition reassignments found." in cluster.admin("reassign-partitions", "--list")
    for index, replicas in enumerate(("13,12", "11,13")):
        wait_until("it to be known", lambda i=index, r=replicas: _partition(cluster, "moving", i)["Replicas"] == r)
    wait_until("the old copy to go", lambda: not (cluster.broker(11).log_dir / "moving-0").exists(), timeout_s=60)
    read = cluster.tools.run(
        "console-consumer", "--bootstrap-server", cluster.broker(12).address, "--topic", "moving", "--from-beginning",
        "--max-messages", str(RECORDS), "--timeout-ms", "60000",
    )  # fmt: skip
    assert len(read.split()) == RECORDS


def test_a_move_that_takes_too_long_is_listed_and_given_up(cluster: KafkaOnOurs, tmp_path: Path) -> None:
    _make(cluster, "slow", "11:12")
    _produce(cluster, "slow", size=20_000)
    plan = _plan(tmp_path / "plan.json", "slow", p0=[11, 13])
    cluster.admin("reassign-partitions", "--reassignment-json-file", plan, "--execute", "--throttle", "100")
    listed = cluster.admin("reassign-partitions", "--list")
    assert "slow-0: replicas: 11,13,12. adding: 13. removing: 12." in listed
    assert "is still in progress" in _verified(cluster, plan)
    cluster.admin("reassign-partitions", "--reassignment-json-file", plan, "--cancel")
    assert "No partition reassignments found." in cluster.admin("reassign-partitions", "--list")
    wait_until("all brokers to know", lambda: _partition(cluster, "slow")["Replicas"] == "11,12", timeout_s=30)


def test_the_first_replica_leads_again_when_it_is_asked_for(cluster: KafkaOnOurs) -> None:
    _make(cluster, "led", "13:11")
    cluster.broker(13).stop()
    wait_until("another leader", lambda: _partition(cluster, "led")["Leader"] == "11", timeout_s=30)
    words = ("--election-type", "preferred", "--topic", "led", "--partition", "0")
    with pytest.raises(ToolFailedError, match="PreferredLeaderNotAvailableException"):
        cluster.admin("leader-election", *words)
    cluster.start_brokers(13)
    wait_until("it to be in sync", lambda: "13" in _partition(cluster, "led")["Isr"], timeout_s=60)
    assert "Successfully completed leader election (PREFERRED) for partitions led-0" in cluster.admin(
        "leader-election", *words
    )
    wait_until("the first replica to lead", lambda: _partition(cluster, "led")["Leader"] == "13", timeout_s=30)
    assert "Valid replica already elected for partitions led-0" in cluster.admin("leader-election", *words)
    cluster.admin("leader-election", "--election-type", "unclean", "--all-topic-partitions")


def test_a_move_that_makes_no_sense_is_refused(cluster: KafkaOnOurs, tmp_path: Path) -> None:
    _make(cluster, "still", "11:12")
    plan = _plan(tmp_path / "plan.json", "still", p0=[13])
    words = ("--reassignment-json-file", plan, "--execute", "--disallow-replication-factor-change")
    with pytest.raises(ToolFailedError, match="The replication factor is changed from 2 to 1"):
        cluster.admin("reassign-partitions", *words)
