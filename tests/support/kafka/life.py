"""A short life of a new real cluster, with two kills: the toolkit is tried on it beside the fixtures.

Must not know: which commands read the directories afterwards.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.tools import KafkaTools

BROKER_KILLED = 12
"""This broker is down while `gone` is deleted and `again` is deleted and created again: it keeps directories of the old
ids."""


class KafkaLife:
    """A stopped cluster, and copies from earlier.

    `crashed` holds node-N of every node, copied after a controller and then a broker were killed, while the other nodes
    ran. The cluster's own directories are those after the clean stop. Tests copy what they change (`cluster.copied_to`)
    and start only copies, one at a time.
    """

    def __init__(self, cluster: KafkaCluster, crashed: Path, killed_leader: int) -> None:
        self.cluster = cluster
        self.crashed = crashed
        self.killed_leader = killed_leader

    @property
    def log_dirs(self) -> list[Path]:
        """Return the log directories of every node, controllers first."""
        return [node.log_dir for node in self.cluster.nodes.values()]

    def metadata_files(self) -> list[Path]:
        """Return every segment and checkpoint of the stopped nodes."""
        return sorted(
            file
            for node in self.cluster.nodes.values()
            for file in node.log_dir.rglob("*")
            if file.suffix == ".checkpoint" or (file.suffix == ".log" and file.parent == node.metadata_dir)
        )


def live_a_kafka_life(root: Path, tools: KafkaTools, *, static_voters: bool = False) -> KafkaLife:
    """Run three controllers and two brokers of Kafka: topics, configs, deletions, kill -9 of the leader and a
    broker."""
    with KafkaCluster(root / "cluster", tools, static_voters=static_voters) as cluster:
        cluster.start()
        for topic, partitions in (("orders", 3), ("gone", 2), ("again", 2)):
            _create(cluster, topic, partitions)
        cluster.admin(
            "configs", "--alter", "--entity-type", "topics", "--entity-name", "orders", "--add-config",
            "retention.ms=3600000",
        )  # fmt: skip
        leader = cluster.leader()
        leader.kill()
        _create(cluster, "after-the-kill", 1)
        _wait_for_ids(cluster, "after-the-kill-0")
        cluster.nodes[BROKER_KILLED].kill()
        crashed = root / "crashed"
        _copy_while_they_run(cluster.root, crashed)
        _delete(cluster, "gone")
        _delete(cluster, "again")
        _create(cluster, "again", 2, replication=1)
        cluster.start(leader.node_id)
        cluster.stop()
        return KafkaLife(cluster, crashed, leader.node_id)


def _copy_while_they_run(root: Path, to: Path) -> None:
    """Copy the logs last: a sidecar file that is copied after its log may prove records that the copy lacks."""
    # A file that is being rewritten is renamed when it is complete: it may vanish before it is copied.
    shutil.copytree(root, to, ignore=shutil.ignore_patterns("server.log", "*.log", "*.tmp", "*.part"))
    for log in root.rglob("*.log"):
        if log.name != "server.log" and (to / log.relative_to(root)).parent.is_dir():
            shutil.copy2(log, to / log.relative_to(root))


def _create(cluster: KafkaCluster, topic: str, partitions: int, replication: int = 2) -> None:
    cluster.admin(
        "topics", "--create", "--topic", topic, "--partitions", str(partitions), "--replication-factor",
        str(replication),
    )  # fmt: skip


def _wait_for_ids(cluster: KafkaCluster, partition: str) -> None:
    """Wait until both brokers know a new partition's topic id: a broker killed before has a directory without an id."""
    files = [node.log_dir / partition / "partition.metadata" for node in cluster.brokers]
    wait_until(f"the brokers to have {partition}", lambda: all(file.exists() for file in files))


def _delete(cluster: KafkaCluster, topic: str) -> None:
    cluster.admin("topics", "--delete", "--topic", topic)

    def gone() -> bool:
        return topic not in cluster.admin("topics", "--list").split()

    wait_until(f"{topic} to be gone", gone)
