"""A backup restored into a new cluster: a real Kafka controller leads from it, and a broker lists its topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.ids import id_text
from metadata_log.tools.backup.backup import read_backup
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def test_kafka_goes_on_from_a_restored_backup(
    kafka_tools: KafkaTools, previous_kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    backup = tmp_path / "cluster.backup"
    assert run(["snapshot", "save", str(FIXTURES / "every-record" / "node-1"), str(backup)]) == 0
    topics = {topic.name: id_text(topic.topic_id) for topic in read_backup(backup).image.topics.by_id.values()}
    with KafkaCluster(tmp_path / "cluster", kafka_tools, controllers=(1,), brokers=(21,)) as cluster:
        controller = cluster.nodes[1]
        cluster.configure(1)
        voter = f"1@{controller.address}:AAAAAAAAAAAAAAAAAAAx6g"
        words = ["snapshot", "restore", str(backup), str(controller.log_dir), "--node-id", "1"]
        assert run([*words, "-t", CLUSTER_ID, "--voters", voter]) == 0
        [checkpoint] = controller.metadata_dir.glob("*.checkpoint")
        shown = previous_kafka_tools.shell_tree(checkpoint)
        cluster.start(1)
        cluster.start(21)
        listed = cluster.admin("topics", "--list").split()
        described = cluster.admin("topics", "--describe")
        cluster.stop()
    assert set(topics) <= set(listed)
    for name, topic_id in topics.items():
        assert f"Topic: {name}\tTopicId: {topic_id}" in described
        assert topic_id in shown
    assert run(["check", str(controller.log_dir)]) == 0
