"""A short life of a real cluster, made fresh, with two kills in it: what the toolkit is tried on beside the fixtures.

Decides: what happens. Must not know: what is asked of the directories afterwards.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.tools import KafkaTools

BROKER_KILLED = 12
"""It is down while `gone` is deleted, `again` deleted and created anew: it still holds directories of the old ids."""


class KafkaLife:
    """A cluster that is stopped, and copies from earlier.

    `crashed` holds node-N of every node at the moment when a controller and then a broker had been killed: copied while
    the other nodes ran. The cluster's own directories are those after the clean stop; tests copy what they change
    (`cluster.copied_to`) and start only copies, one at a time.
    """

    def __init__(self, cluster: KafkaCluster, crashed: Path, killed_leader: int) -> None:
        self.cluster = cluster
        self.crashed = crashed
        self.killed_leader = killed_leader

    @property
    def log_dirs(self) -> list[Path]:
        """Of every node, controllers first."""
        return [node.log_dir for node in self.cluster.nodes.values()]

    def metadata_files(self) -> list[Path]:
        """Every segment and checkpoint of the stopped nodes."""
        return sorted(
            file
            for node in self.cluster.nodes.values()
            for file in node.log_dir.rglob("*")
            if file.suffix == ".checkpoint" or (file.suffix == ".log" and file.parent == node.metadata_dir)
        )


def live_a_kafka_life(root: Path, tools: KafkaTools, *, static_voters: bool = False) -> KafkaLife:
    """Three controllers and two brokers of Kafka: topics, configs, deletes, kill -9 of the leader and a broker."""
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
    """Logs last: what lies beside a log, copied after it, would prove records that the copy of the log has not yet."""
    # What is being written anew is renamed once it is whole: it may be gone before it is copied.
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
    """Until both brokers know a new partition's topic id: one killed before is left with a directory without."""
    files = [node.log_dir / partition / "partition.metadata" for node in cluster.brokers]
    wait_until(f"the brokers to have {partition}", lambda: all(file.exists() for file in files))


def _delete(cluster: KafkaCluster, topic: str) -> None:
    cluster.admin("topics", "--delete", "--topic", topic)

    def gone() -> bool:
        return topic not in cluster.admin("topics", "--list").split()

    wait_until(f"{topic} to be gone", gone)
