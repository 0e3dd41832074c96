"""Directories of lost real clusters, all made in one life of one cluster, to be copied by tests.

Decides: what each node holds at which end. Must not know: how it is repaired.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from metadata_log.files.os_files import OsFiles
from quorum.cli.demo.cluster import wait_until
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.journal.log_directories import find_place
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.recovery import Contents, read_contents, write_contents
from tests.support.kafka.tools import KafkaTools, ToolFailedError
from tests.support.log_bytes import log_bytes

UNSEEN = "unseen"
"""The topic that the survivor of `behind` lacks: the other two committed it, and the brokers have it."""
NEVER = "never-committed"
"""The topic that only the cut-off leader of `divergent`, and broker 11, know."""
LATE = "late"
"""The topic that the other controllers committed meanwhile in the next epoch; broker 12 has it."""
FORKED_BROKER, OTHER_BROKER = 11, 12
_PATIENCE_MS = 120_000
"""The fetch timeout of the controllers; see `_patient`."""
_PROPERTIES = {
    **Contents.PROPERTIES,
    "metadata.log.max.record.bytes.between.snapshots": "1200",
}


class LostCluster:
    """Directories of a stopped cluster, from two moments; start only copies, one at a time.

    Attributes:
        contents: what every copy holds.
        before: the response of the running cluster to a request for the contents.
        survivor: a follower that was paused while the others committed `UNSEEN`. In `behind` its log ends before
            theirs, in the same epoch.
        forked: the leader that was isolated in `divergent`, as was FORKED_BROKER.
        never: the topic that only `forked` has there.
    """

    def __init__(self, root: Path, tools: KafkaTools) -> None:
        self.contents = Contents(topics={"orders": 40, "payments": 25})
        self.behind = root / "behind"
        self.divergent = root / "divergent"
        self._cluster = KafkaCluster(root / "cluster", tools, properties=_PROPERTIES)
        with self._cluster as cluster:
            _patient(cluster)
            cluster.start()
            write_contents(cluster, self.contents)
            self.before = read_contents(cluster, self.contents)
            self.survivor = self._leave_behind(cluster)
            self.forked, self.never = self._fork(cluster)

    def copy(self, source: Path, root: Path) -> KafkaCluster:
        """Return the cluster on a copy of these directories, with no node running."""
        return self._cluster.copied_to(root, source)

    def _leave_behind(self, cluster: KafkaCluster) -> int:
        leader = cluster.leader()
        held = next(node for node in cluster.controllers if node is not leader)
        others = [node for node in cluster.nodes.values() if node is not held]
        with _Held([held]):
            cluster.admin("topics", "--create", "--topic", UNSEEN, "--partitions", "1", "--replication-factor", "2")
            _wait_for(others, UNSEEN)
            with _Held(others):
                _keep(cluster, self.behind)
        _wait_for([held], UNSEEN)
        return held.node_id

    def _fork(self, cluster: KafkaCluster) -> tuple[int, str]:
        leader = cluster.leader()
        known = [leader, cluster.nodes[FORKED_BROKER]]
        others = [node for node in cluster.nodes.values() if node not in known]
        with _Held(others):
            _let_pass(leader)
            _ask_until_written(cluster, NEVER, known)
            for node in (*known, *(node for node in others if node.is_controller)):
                node.kill()
        again = [node.node_id for node in others if node.is_controller]
        for node_id in again:
            cluster.configure(node_id)  # from now on they elect after the usual timeouts
        cluster.start(*again)
        cluster.admin("topics", "--create", "--topic", LATE, "--partitions", "1", "--replication-factor", "1")
        _wait_for(others, LATE)
        followers = [node for node in others if node.is_controller]
        for node in others:
            if node not in followers:
                node.kill()
                _wait_for_all_of(node, followers)
        for node in followers:
            node.kill()
        _keep(cluster, self.divergent)
        assert not any(_mentions(node, NEVER) for node in others)
        return leader.node_id, NEVER


def _patient(cluster: KafkaCluster) -> None:
    """Format all nodes; controllers of this life, but not of its copies, have long timeouts for each other.

    A leader resigns when no majority has fetched for 1.5 times this timeout. So no leader resigns while its followers
    are paused, however slow the machine is.
    """
    for node in cluster.nodes.values():
        cluster.format(node.node_id)
        if node.is_controller:
            with node.properties.open("a") as properties:
                properties.write(f"controller.quorum.fetch.timeout.ms={_PATIENCE_MS}\n")


class _Held:
    """Processes that are paused (SIGSTOP)."""

    def __init__(self, nodes: Iterable[KafkaNode]) -> None:
        self._nodes = list(nodes)

    def __enter__(self) -> None:
        for node in self._nodes:
            node.process.send_signal(signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        for node in self._nodes:
            if node.is_running:
                node.process.send_signal(signal.SIGCONT)


def _let_pass(leader: KafkaNode) -> None:
    """Let the leader write twice: then no Fetch that a paused follower still has open can carry the next records."""
    for _ in range(2):
        size = log_bytes(leader.metadata_dir)
        wait_until("the leader to write", lambda size=size: log_bytes(leader.metadata_dir) > size, timeout_s=30)  # type: ignore[misc]


def _ask_until_written(cluster: KafkaCluster, topic: str, nodes: Iterable[KafkaNode]) -> None:
    """Request a topic that cannot be committed, until all of these nodes have written it."""
    patience = cluster.root / "impatient.properties"
    patience.write_text("default.api.timeout.ms=3000\nrequest.timeout.ms=3000\n")
    broker = cluster.nodes[FORKED_BROKER]
    words = ("--create", "--topic", topic, "--partitions", "1", "--replication-factor", "1")

    def is_written() -> bool:
        if not all(_mentions(node, topic) for node in nodes):
            with contextlib.suppress(ToolFailedError):  # it must fail: the acknowledging followers are paused
                cluster.tools.run(
                    "topics", "--bootstrap-server", broker.address, "--command-config", str(patience), *words
                )
        return all(_mentions(node, topic) for node in nodes)

    wait_until(f"{topic} to be written, not committed", is_written, timeout_s=90)


def _mentions(node: KafkaNode, topic: str) -> bool:
    return any(topic.encode() in file.read_bytes() for file in node.metadata_dir.glob("*.log"))


def _wait_for(nodes: Iterable[KafkaNode], topic: str) -> None:
    for node in nodes:
        wait_until(f"node {node.node_id} to hear of {topic}", _hears(node, topic), timeout_s=60)


def _hears(node: KafkaNode, topic: str) -> Callable[[], bool]:
    return lambda: _mentions(node, topic)


def _wait_for_all_of(ended: KafkaNode, nodes: Iterable[KafkaNode]) -> None:
    """Wait until these nodes have fetched all that the stopped broker has: otherwise they would lack it forever."""
    end = _end_of(ended)
    for node in nodes:
        wait_until(f"node {node.node_id} to reach offset {end}", lambda node=node: _end_of(node) >= end, timeout_s=60)  # type: ignore[misc]


def _end_of(node: KafkaNode) -> int:
    files = OsFiles()
    return int(read_copy(files, find_place(files, str(node.log_dir))).end.offset)


def _keep(cluster: KafkaCluster, target: Path) -> None:
    shutil.copytree(cluster.root, target, ignore=shutil.ignore_patterns("server.log"))
