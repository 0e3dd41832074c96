"""A stock broker that comes when our log begins later: it fetches our snapshot, and goes on behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.storage.checkpoint import checkpoint_ends
from quorum.cli.demo.cluster import Node, wait_until
from tests.support.kafka.on_ours import KafkaOnOurs
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "internal.metadata.log.segment.bytes": "3000",
    "metadata.max.retention.bytes": "0",
}
TOPICS = 12


def _log_starts(node: Node) -> list[int]:
    """Return the base offsets of a controller's segments, sorted."""
    return sorted(int(log.stem) for log in node.metadata_dir.glob("*.log"))


def test_it_boots_from_the_snapshot(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    with KafkaOnOurs(tmp_path, kafka_tools, brokers=(11, 12), properties=OFTEN) as cluster:
        cluster.start_controllers()
        cluster.start_brokers(11)
        for number in range(TOPICS):
            cluster.admin("topics", "--create", "--topic", f"t{number}", "--partitions", "6")
        controllers = cluster.ours.controllers.values()
        wait_until(
            "every log to begin later", lambda: all(_log_starts(node)[0] > 0 for node in controllers), timeout_s=60
        )
        start = min(_log_starts(node)[0] for node in controllers)

        cluster.start_brokers(12)
        newcomer = cluster.broker(12)
        ends = checkpoint_ends(OsFiles(), str(newcomer.metadata_dir))
        assert max(end.offset for end in ends) >= start
        assert "ERROR" not in newcomer.said()
        cluster.kafka.await_topics(*(f"t{number}" for number in range(TOPICS)))
        said = kafka_tools.run("topics", "--bootstrap-server", newcomer.address, "--describe", "--topic", "t3")
        assert "PartitionCount: 6" in said

        newcomer.stop()
        for number in range(TOPICS):
            cluster.admin("topics", "--delete", "--topic", f"t{number}")
        cluster.start_brokers(12)
        listed = ("topics", "--bootstrap-server", newcomer.address, "--list")
        wait_until("the topics to be gone there too", lambda: not kafka_tools.run(*listed).split())
