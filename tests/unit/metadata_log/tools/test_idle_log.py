"""Our idle quorum's log through the tools: NoOps are no gap, no event, no change and no difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.records import NoOpRecord
from metadata_log.tools.read.fast_scan import NoOpRun, walk
from metadata_log.tools.read.history import open_history
from metadata_log.tools.timeline import EventKind, timeline_of
from quorum.cli.main import run
from tests.support.node_cluster import Cluster
from tests.support.node_requests import DATA
from tests.support.simulated_node import Node

IDLE_MS = 60_000
LEAST = 110


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The data directories of three controllers that created a topic, were idle for a minute, and created another."""
    root = tmp_path_factory.mktemp("idle")
    cluster = Cluster(3, seed=4)
    cluster.max_idle_interval_ms = 500
    cluster.start()
    cluster.add_broker()
    cluster.create_each("before")
    cluster.run_for(IDLE_MS)
    cluster.create_each("after")
    cluster.run_for(200)
    return [_copied(node, root / f"node-{node.node_id}") for node in cluster.nodes]


def _copied(node: Node, target: Path) -> Path:
    """Return where the node's files now are, for tools that read real ones."""

    def copy(source: str, to: Path) -> None:
        to.mkdir(parents=True)
        for name in node.files.listdir(source):
            path = f"{source}/{name}"
            if node.files.is_dir(path):
                copy(path, to / name)
            else:
                (to / name).write_bytes(node.files.content(path))

    copy(DATA, target)
    return target


def _log(data: Path) -> Path:
    return data / "__cluster_metadata-0"


def test_the_tools_tell_our_no_ops_by_their_bytes_as_they_do_kafkas(idle: list[Path]) -> None:
    for data in idle:
        handle = OsFiles().open(str(_log(data) / f"{0:020d}.log"), read_only=True)
        runs = [found for found in walk(handle, offset=0, epoch=1) if isinstance(found, NoOpRun)]
        handle.close()
        assert sum(found.count for found in runs) >= LEAST


def test_idleness_is_no_gap_and_no_no_op_is_an_event(idle: list[Path]) -> None:
    timeline = timeline_of(open_history(_log(idle[0])).batches(), gap_ms=2_000)
    assert timeline.end_offset > LEAST
    assert timeline.end_ms - timeline.start_ms >= IDLE_MS
    assert not [event for event in timeline.events if event.kind is EventKind.GAP]
    assert len(timeline.events) < 20


def test_the_shells_history_has_no_no_op(idle: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    for path, least in (("/topics/by-name", 2), ("/", 4)):
        assert run(["shell", str(idle[0]), "-c", f"history {path}", "-o", "json"]) == 0
        moments = json.loads(capsys.readouterr().out)["moments"]
        assert least <= len(moments) < 20


def test_replicas_of_an_idle_quorum_do_not_differ(idle: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """One of them may lack the last NoOp: it is behind, and nothing else."""
    assert run(["log", "diff", *map(str, idle)]) == 0
    assert run(["check", *map(str, idle)]) == 0
    capsys.readouterr()


def test_a_dump_names_them(idle: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(idle[0]), "--type", NoOpRecord.__name__, "-o", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= LEAST
