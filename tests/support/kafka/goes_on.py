"""Checks of a recovered cluster of Apache Kafka: its contents are complete, and it keeps working.

Must not know: how the cluster was lost and repaired.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from metadata_log.tools.replicas.hashes import hash_logs
from quorum.cli.main import run
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.lost import NEVER, LostCluster
from tests.support.kafka.recovery import read_contents


def check_it_goes_on(cluster: KafkaCluster, lost: LostCluster, *, topics: set[str]) -> None:
    """Check the contents, also after a second failover, and that every node then holds the same."""
    check_contents(cluster, lost)
    cluster.leader().kill()
    cluster.admin("topics", "--create", "--topic", "second", "--partitions", "1", "--replication-factor", "2")
    cluster.await_topics("second")
    listed = {name for name in cluster.topics() if not name.startswith(("__", NEVER))}
    assert listed == {*lost.contents.topics, "after-recovery", "second", *topics}
    assert lost.never not in cluster.admin("topics", "--list").split()
    check_contents(cluster, lost)
    cluster.start(*(node.node_id for node in cluster.controllers if not node.is_running))
    cluster.end()
    check_they_are_equal(cluster.nodes.values())


def check_contents(cluster: KafkaCluster, lost: LostCluster) -> None:
    """Raise AssertionError with the parts of the contents that differ from those before the loss."""
    found = read_contents(cluster, lost.contents)
    differing = {part: (before, found[part]) for part, before in lost.before.items() if found[part] != before}
    assert not differing, f"before and now: {differing}"


def check_they_are_equal(nodes: Iterable[KafkaNode]) -> None:
    """Check image hashes at the shortest end and every byte that two logs share, and that `kraft check` finds
    nothing."""
    log_dirs = [node.log_dir for node in nodes]
    check_logs_are_equal(log_dirs)
    assert run(["check", *map(str, log_dirs)]) == 0


def check_logs_are_equal(log_dirs: Sequence[Path]) -> None:
    """Check only that the logs are equal."""
    lines = hash_logs(log_dirs)
    assert len({line.hash for line in lines}) == 1, lines
    assert run(["log", "diff", *map(str, log_dirs)]) == 0


def destroy(cluster: KafkaCluster, *node_ids: int) -> None:
    """Remove the log directories of these nodes."""
    for node_id in node_ids:
        shutil.rmtree(cluster.nodes[node_id].log_dir)
