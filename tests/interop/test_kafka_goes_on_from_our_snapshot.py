"""Kafka continues a directory of our controller whose log begins with a checkpoint.

Kafka's tools read it as our own do. A real Kafka controller leads from it and takes a snapshot. Our controller then
continues from that snapshot.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.storage.checkpoint import checkpoint_ends
from metadata_log.tools.dump.dump import dump_text
from quorum.cli.demo.cluster import Cluster, free_ports
from quorum.cli.main import run
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster
from tests.support.kafka.jars import NEWEST, RELEASES
from tests.support.kafka.tools import KafkaTools
from tests.support.standalone import create, listed, start

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "internal.metadata.log.segment.bytes": "2000",
    "metadata.max.retention.bytes": "0",
}


def test_a_kafka_controller_starts_from_our_checkpoint_and_ours_behind_it(
    tmp_path: Path, kafka_tools: KafkaTools
) -> None:
    with Cluster(tmp_path / "ours", controllers=(1,), agents=(), properties=OFTEN) as ours:
        ours.cluster_id = CLUSTER_ID
        ours.format("--release-version", RELEASES[NEWEST].metadata_version)
        node = ours.controllers[1]
        start(node)
        created = create(ours, [f"topic-{number}" for number in range(60)])
        assert node.stop() == 0
        ends = checkpoint_ends(OsFiles(), str(node.metadata_dir))
        assert ends[0].offset > 0
        assert min(int(log.name[:20]) for log in node.metadata_dir.glob("*.log")) > 0
        for path in sorted([*node.metadata_dir.glob("*.log"), *node.metadata_dir.glob("*.checkpoint")]):
            assert kafka_tools.dump_log(path).splitlines() == list(dump_text(str(path), path.read_bytes()))

        (port,) = free_ports(1)
        ports = {1: node.ports["CONTROLLER"], 11: port}
        with KafkaCluster(tmp_path / "kafka", kafka_tools, controllers=(1,), brokers=(11,), ports=ports) as kafka:
            controller = kafka.nodes[1]
            shutil.copytree(node.log_dir, controller.log_dir)
            kafka.configure(1)
            with controller.properties.open("a") as properties:
                properties.write("metadata.log.max.record.bytes.between.snapshots=100\n")
            kafka.start()
            assert {*created} <= set(kafka.admin("topics", "--list").split())
            kafka.admin("topics", "--create", "--topic", "of-kafka", "--partitions", "1", "--replication-factor", "1")
            kafka.stop()
        after = checkpoint_ends(OsFiles(), str(controller.metadata_dir))
        assert after[-1].offset > ends[-1].offset

        shutil.rmtree(node.log_dir)
        shutil.copytree(controller.log_dir, node.log_dir)
        start(node)
        assert {*created, "of-kafka"} <= set(listed(ours))
        create(ours, [f"after-kafka-{number}" for number in range(30)])
        assert node.stop() == 0
        assert checkpoint_ends(OsFiles(), str(node.metadata_dir))[0].offset > after[-1].offset
        assert run(["check", str(node.log_dir)]) == 0
