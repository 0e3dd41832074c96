"""A real Kafka controller starts on what ours left, leads, and serves a real broker; then ours goes on behind Kafka."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.ids import METADATA_TOPIC_NAME
from quorum.cli.demo.cluster import Cluster, Node, free_ports
from quorum.cli.main import run
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster
from tests.support.kafka.jars import NEWEST, RELEASES
from tests.support.kafka.tools import KafkaTools
from tests.support.log_history import read_history
from tests.support.standalone import create, listed, log_of, start, written

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def test_a_kafka_controller_goes_on_where_ours_stopped_and_ours_behind_it(
    tmp_path: Path, kafka_tools: KafkaTools
) -> None:
    with Cluster(tmp_path / "ours", controllers=(1,), agents=()) as ours:
        ours.cluster_id = CLUSTER_ID
        ours.format("--release-version", RELEASES[NEWEST].metadata_version)
        node = ours.controllers[1]
        start(node)
        created = create(ours, [f"topic-{number}" for number in range(10)])
        assert node.stop() == 0
        left, before = log_of(node).read_bytes(), read_history(node.metadata_dir)

        (port,) = free_ports(1)
        ports = {1: node.ports["CONTROLLER"], 11: port}
        with KafkaCluster(tmp_path / "kafka", kafka_tools, controllers=(1,), brokers=(11,), ports=ports) as kafka:
            controller = kafka.nodes[1]
            shutil.copytree(node.log_dir, controller.log_dir)
            kafka.configure(1)
            kafka.start()
            assert {*created} <= set(kafka.admin("topics", "--list").split())
            _check_locked(node, controller.log_dir)
            kafka.admin("topics", "--create", "--topic", "of-kafka", "--partitions", "1", "--replication-factor", "1")
            kafka.stop()

        after = read_history(controller.metadata_dir)
        assert after.data.startswith(left)
        assert after.leaders[: len(before.leaders)] == before.leaders
        assert len(after.leaders) > len(before.leaders)
        assert created.items() <= dict(after.image.topics.by_name.items()).items()

        shutil.rmtree(node.log_dir)
        shutil.copytree(controller.log_dir, node.log_dir)
        start(node)
        assert {*created, "of-kafka"} <= set(listed(ours))
        create(ours, ["after-kafka"])
        assert node.stop() == 0
        assert {*created, "of-kafka", "after-kafka"} <= set(written(node))
        names = [name for _, name in read_history(node.metadata_dir).created]
        assert names.count(METADATA_TOPIC_NAME) == 1


def test_ours_goes_on_where_a_kafka_controller_stopped(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    """Formatted by Kafka's own tool, too."""
    with Cluster(tmp_path / "ours", controllers=(1,), agents=()) as ours:
        ours.cluster_id = CLUSTER_ID
        node = ours.controllers[1]
        ports = {1: node.ports["CONTROLLER"], 11: free_ports(1)[0]}
        with KafkaCluster(tmp_path / "kafka", kafka_tools, controllers=(1,), brokers=(11,), ports=ports) as kafka:
            kafka.start()
            kafka.admin("topics", "--create", "--topic", "of-kafka", "--partitions", "1", "--replication-factor", "1")
            kafka.stop()
        [log] = kafka.nodes[1].metadata_dir.glob("*.log")
        left = log.read_bytes()
        shutil.copytree(kafka.nodes[1].log_dir, node.log_dir)
        node.write_config()
        start(node)
        assert "of-kafka" in listed(ours)
        create(ours, ["of-ours"])
        assert node.stop() == 0
        assert log_of(node).read_bytes().startswith(left)
        assert run(["check", str(node.log_dir)]) == 0
        with KafkaCluster(tmp_path / "again", kafka_tools, controllers=(1,), brokers=(11,), ports=ports) as kafka:
            shutil.copytree(node.log_dir, kafka.nodes[1].log_dir)
            kafka.configure(1)
            kafka.start()
            kafka.await_topics("of-kafka", "of-ours")


def _check_locked(node: Node, log_dir: Path) -> None:
    """Ours refuses the directory that a running Kafka holds."""
    config = node.root / "kafkas.properties"
    properties = {**node.properties, "log.dirs": str(log_dir)}
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    words = [sys.executable, "-m", "quorum.cli.main", "controller", "start", "--config", str(config)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert str(log_dir) in done.stderr
    assert "lock" in done.stderr
    assert "Traceback" not in done.stderr
