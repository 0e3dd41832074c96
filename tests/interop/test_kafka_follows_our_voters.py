"""A log in which voters came and went, written by our controllers: Kafka's dump tool says of it what we say, and a real
Kafka controller starts on it, leads, and knows the voters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.tools.dump.dump import dump_text
from quorum.cli.demo.cluster import free_ports, wait_until
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster
from tests.support.kafka.tools import KafkaTools
from tests.support.voter_processes import Controllers

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def test_kafka_goes_on_where_our_voters_changed(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    with Controllers(tmp_path / "ours", 3, cluster_id=CLUSTER_ID) as ours:
        ours.format(1, "--standalone")
        for node_id in (2, 3):
            ours.format(node_id, "--no-initial-controllers")
        ours.start(1, 2, 3)
        ours.wait_for_voters(1)
        for node_id in (2, 3):
            _until_done(ours, "add-controller", "--command-config", str(ours.nodes[node_id].config_file))
        ours.wait_for_voters(1, 2, 3)
        for node_id in (2, 3):
            _until_done(ours, "remove-controller", "-i", str(node_id))
        ours.wait_for_voters(1)
        for node_id in (3, 2, 1):
            assert ours.nodes[node_id].stop() == 0
        node = ours.nodes[1]
    (log,) = node.metadata_dir.glob("*.log")
    said = kafka_tools.dump_log(log).splitlines()
    assert said == list(dump_text(str(log), log.read_bytes()))
    assert sum("KRaftVoters" in line for line in said) >= 5

    (port,) = free_ports(1)
    ports = {1: node.ports["CONTROLLER"], 11: port}
    with KafkaCluster(tmp_path / "kafka", kafka_tools, controllers=(1,), brokers=(11,), ports=ports) as kafka:
        shutil.copytree(node.log_dir, kafka.nodes[1].log_dir)
        kafka.configure(1)
        kafka.start()
        kafka.admin("topics", "--create", "--topic", "of-kafka", "--partitions", "1", "--replication-factor", "1")
        kafka.await_topics("of-kafka")
        kafka.stop()


def _until_done(ours: Controllers, *words: str) -> None:
    wait_until(" ".join(words), lambda: ours.quorum(*words)[0] == 0, timeout_s=60)
