"""A disk that runs full or fails to sync under a real process: it stops at once and says why; nothing promised is lost.

The faults are the kernel's own: a limit on the size of files, and calls that it refuses.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.ids import TopicId
from quorum.cli.demo.cluster import Node
from tests.support.local_cluster import Cluster
from tests.support.log_history import read_history
from tests.support.standalone import (
    complaint,
    create,
    create_past,
    create_through,
    leader_of,
    listed,
    log_of,
    standalone,
    start,
    written,
)

NAMES = [f"topic-{number}" for number in range(5000)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone(tmp_path / "node") as made:
        yield made


@pytest.fixture
def node(cluster: Cluster) -> Node:
    return cluster.controllers[1]


def test_a_file_that_may_grow_no_further(cluster: Cluster, node: Node) -> None:
    """The kernel writes what fits, half a batch, and refuses the rest: a torn tail, as on a full disk."""
    start(node)
    limits: list[int] = []

    def fill() -> None:
        assert node.process is not None
        limits.append(log_of(node).stat().st_size + 3001)
        resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (limits[0], resource.RLIM_INFINITY))

    # Many partitions each: the log of records has to outgrow that of lines, which the limit would meet as well.
    acknowledged = create_through(cluster, NAMES, fill, partitions=20)
    assert len(acknowledged) < len(NAMES)
    said = complaint(node, already_running=True)
    assert "File too large" in said
    assert "make room, then restart this node" in said
    assert str(node.metadata_dir) in said
    assert log_of(node).stat().st_size == limits[0]
    _check_comes_back(cluster, node, acknowledged)
    assert "torn tail cut" in node.log_file.read_text()


@pytest.mark.parametrize(
    ("calls", "error", "words"),
    [
        ("pwrite64", "ENOSPC", "No space left on device"),
        ("fdatasync,fsync", "EIO", "Input/output error"),
        ("fdatasync,fsync", "ENOSPC", "No space left on device"),
    ],
)
def test_a_call_that_fails(cluster: Cluster, node: Node, calls: str, error: str, words: str) -> None:
    _start_failing(node, calls, error)
    acknowledged = create_through(cluster, NAMES, lambda: node.signal(signal.SIGUSR2))
    assert len(acknowledged) < len(NAMES)
    said = complaint(node, already_running=True)
    assert words in said
    assert str(node.metadata_dir) in said
    _check_comes_back(cluster, node, acknowledged)


def test_a_node_whose_log_of_lines_cannot_be_written_goes_on(cluster: Cluster, node: Node) -> None:
    """Its standard error is a full disk: each line fails, and topics are made all the same."""
    with Path("/dev/full").open("wb") as full:
        words = [sys.executable, "-m", "quorum.cli.main", node.role, "start", "--config", str(node.config_file)]
        node.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=full, stderr=full, start_new_session=True
        )
    node.wait_listening()
    made = create(cluster, NAMES[:20])
    assert made.items() <= listed(cluster).items()
    assert node.stop() == 0


def test_a_leader_whose_disk_fails_hands_over_by_its_end(tmp_path: Path) -> None:
    """The two others elect a leader, and what was acknowledged is theirs; the failed one joins them again."""
    with Cluster(tmp_path / "three", agents=()) as cluster:
        cluster.format()
        for node in cluster.controllers.values():
            _start_failing(node, "fdatasync,fsync", "EIO", wait=False)
        for node in cluster.controllers.values():
            node.wait_listening()
        before = create(cluster, NAMES[:30])
        leader = leader_of(cluster)
        leader.signal(signal.SIGUSR2)
        after = create_past(cluster, NAMES[30:60])
        assert len(after) >= 29
        assert "Input/output error" in complaint(leader, already_running=True)
        start(leader)
        assert (before | after).items() <= listed(cluster).items()
        cluster.stop()
        for node in cluster.controllers.values():
            if node is not leader:
                assert (before | after).items() <= written(node).items()


def _start_failing(node: Node, calls: str, error: str, *, wait: bool = True) -> None:
    with node.log_file.open("ab") as log:
        node.process = subprocess.Popen(
            [
                sys.executable, "-m", "tests.support.failing_calls", calls, error,
                node.role, "start", "--config", str(node.config_file),
            ],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    if wait:
        node.wait_listening()


def _check_comes_back(cluster: Cluster, node: Node, acknowledged: dict[str, TopicId]) -> None:
    """Everything acknowledged is there, at most the one request of unknown outcome more, and it goes on."""
    start(node)
    there = listed(cluster)
    assert acknowledged.items() <= there.items()
    assert len(there) <= len(acknowledged) + 2  # the metadata topic's own
    create(cluster, ["after"])
    assert node.stop() == 0
    history = read_history(node.metadata_dir)
    assert len(dict(history.created)) == len(history.created)
    assert {*acknowledged, "after"} <= set(written(node))
