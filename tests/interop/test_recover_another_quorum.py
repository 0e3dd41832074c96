"""Controllers are formatted again with the same cluster id: stock brokers beside them, and the runbook's way back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from metadata_log.directory import read_quorum_state
from metadata_log.files.os_files import OsFiles
from quorum.cli.demo.cluster import Cluster, Node, wait_until
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.runbook import blocks_of
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]
TOPICS = [f"n{number}" for number in range(5)]
BROKERS = (11, 12)


@pytest.fixture
def cluster(tmp_path: Path, kafka_tools: KafkaTools) -> Iterator[KafkaOnOurs]:
    with KafkaOnOurs(tmp_path / "on-ours", kafka_tools, brokers=BROKERS) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(*BROKERS)
        for topic in TOPICS:
            cluster.admin("topics", "--create", "--topic", topic, "--partitions", "1", "--replication-factor", "2")
        for topic in TOPICS:
            cluster.await_in_sync(topic)
        yield cluster


def _format_again(cluster: Cluster) -> None:
    for node in cluster.controllers.values():
        node.stop()
        node.log_dir.rename(node.root / "data.before")
    words = ("--cluster-id", cluster.cluster_id, "--initial-controllers", cluster.initial_controllers)
    for node in cluster.controllers.values():
        cluster.run("storage", "format", "--config", str(node.config_file), *words)
        node.start()
    for node in cluster.controllers.values():
        node.wait_listening()


def _epoch(directory: Path) -> int:
    state = read_quorum_state(OsFiles(), str(directory))
    return -1 if state is None else int(state.leader_epoch)


def _raise_epoch_above(cluster: KafkaOnOurs, epoch: int) -> None:
    """A broker follows no leader of an epoch below its own."""
    leader = cluster.leader()
    while _epoch(leader.metadata_dir) <= epoch:
        former = leader
        former.stop()
        leader = cluster.leader(other_than=former.node_id)
        former.start()
        former.wait_listening()


def _partitions(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if re.fullmatch(r"n\d-0", path.name))


def _play(line: str, node: Node) -> None:
    """One line of the runbook on a controller's host."""
    words = line.replace("/var/lib/kafka", str(node.root)).split()
    if words == ["systemctl", "stop", "kafka"]:
        node.stop()
    elif words == ["systemctl", "start", "kafka"]:
        node.start()
        node.wait_listening()
    else:
        command, source, target = words
        assert command == "mv"
        shutil.move(source, target)


def _has_ended(broker: KafkaNode) -> bool:
    return not broker.is_running


def test_running_stock_brokers_end_and_serve_again_with_the_former_controllers(cluster: KafkaOnOurs) -> None:
    epoch = max(_epoch(cluster.broker(broker_id).metadata_dir) for broker_id in BROKERS)
    _format_again(cluster.ours)
    _raise_epoch_above(cluster, epoch)
    for broker_id in BROKERS:
        broker = cluster.broker(broker_id)
        wait_until(f"broker {broker_id} to end", partial(_has_ended, broker), timeout_s=90)
        assert "Encountered fatal fault: Unexpected error in raft IO thread" in broker.said()
        assert _partitions(broker.log_dir) == [f"{topic}-0" for topic in TOPICS]
    for block in blocks_of("another-quorum")[:7]:
        if block.host in cluster.ours.controllers:
            for line in block.commands:
                _play(line, cluster.ours.controllers[block.host])
        else:
            assert block.commands == ("systemctl start kafka",)
            cluster.start_brokers(block.host)
    for topic in TOPICS:
        cluster.await_in_sync(topic)
    assert set(TOPICS) <= set(cluster.admin("topics", "--list").split())


def test_a_restarted_stock_broker_takes_the_other_log_and_sets_every_partition_aside(cluster: KafkaOnOurs) -> None:
    """No data is deleted: but nothing serves it, until the directories get their names again."""
    for broker_id in BROKERS:
        cluster.broker(broker_id).kill()
    broker = cluster.broker(11)
    epoch = _epoch(broker.metadata_dir)
    _format_again(cluster.ours)
    _raise_epoch_above(cluster, epoch)
    cluster.kafka.launch(11)
    wait_until("its partitions to be set aside", lambda: not _partitions(broker.log_dir), timeout_s=90)
    strays = sorted(path.name.partition(".")[0] for path in broker.log_dir.glob("n*-stray"))
    assert strays == [f"{topic}-0" for topic in TOPICS]
