"""Real processes take snapshots and trim. A node that fell behind or lost its disk returns by a snapshot."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import id_text
from metadata_log.storage.checkpoint import checkpoint_ends, checkpoint_name
from metadata_log.storage.loaded_checkpoint import load_snapshot
from quorum.cli.demo.cluster import Node, wait_until
from tests.support.local_cluster import Cluster
from tests.support.standalone import complaint, create, leader_of, listed
from tests.support.voter_processes import kraft

pytestmark = [pytest.mark.timeout(400)]

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "internal.metadata.log.segment.bytes": "3000",
    "metadata.max.retention.bytes": "0",
    "controller.quorum.fetch.snapshot.max.bytes": "900",
}
TOPICS = 60


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("snapshots")
    with Cluster(root, agents=(11,), properties=OFTEN) as running:
        running.format()
        running.start()
        create(running, ["zero"])
        yield running


def _ends(node: Node) -> list[int]:
    return [end.offset for end in checkpoint_ends(OsFiles(), str(node.metadata_dir))]


def _metric(node: Node, name: str) -> float:
    with urllib.request.urlopen(f"http://{node.http_address}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


def _applied(node: Node) -> float:
    return _metric(node, "kraft_metadata_last_applied_offset")


def _wait_caught_up(cluster: Cluster, node: Node) -> None:
    target = _applied(leader_of(cluster))
    wait_until(f"{node.name} to apply {target}", lambda: _applied(node) >= target, timeout_s=60)


def _first_segment(node: Node) -> int:
    return min(int(path.name[:20]) for path in node.metadata_dir.glob("*.log"))


def _wait_trimmed(node: Node, offset: int) -> None:
    """Until its log begins after `offset`: checkpoints are taken, synced and named, and it trimmed, beside requests."""
    wait_until(f"{node.name} to trim past {offset}", lambda: _first_segment(node) > offset, timeout_s=60)


def _wait_told(node: Node) -> None:
    """Wait until the node's metrics show its newest checkpoint and its origin; the file appears before they do."""

    def is_told() -> bool:
        has_taken = _metric(node, "kraft_snapshot_latest_generated_bytes") > 0
        # On a loaded machine one may fall behind what the leader trims, and has the leader's instead.
        has_one = has_taken or _metric(node, "kraft_snapshot_loaded_total") > 0
        return has_one and _metric(node, "kraft_snapshot_latest_end_offset") == _ends(node)[-1]

    wait_until(f"{node.name} to show its newest checkpoint", is_told, timeout_s=60)


def _check_readable(node: Node) -> None:
    """The newest checkpoint is sound, and our own tools find nothing wrong with a stopped node's directory."""
    (*_, newest) = checkpoint_ends(OsFiles(), str(node.metadata_dir))
    load_snapshot(OsFiles(), str(node.metadata_dir / checkpoint_name(newest)), newest)
    status, out, err = kraft("log", "verify", str(node.metadata_dir))
    assert status == 0, out + err


def test_all_take_snapshots_and_let_their_logs_go(cluster: Cluster) -> None:
    created = create(cluster, [f"first-{n}" for n in range(TOPICS)])
    for node in cluster.nodes:
        _wait_caught_up(cluster, node)
        _wait_trimmed(node, 0)
        _wait_told(node)
    leader = leader_of(cluster)
    wait_until("a second checkpoint", lambda: _metric(leader, "kraft_snapshot_generated_total") > 1, timeout_s=60)
    assert {name: id_text(topic_id) for name, topic_id in created.items()}.items() <= {
        name: id_text(topic_id) for name, topic_id in listed(cluster).items()
    }.items()


@pytest.mark.parametrize("is_wiped", [False, True])
def test_a_controller_that_was_left_behind_comes_back(cluster: Cluster, is_wiped: bool) -> None:
    leader = leader_of(cluster)
    behind = next(node for node in cluster.controllers.values() if node is not leader)
    behind.kill()
    if is_wiped:
        shutil.rmtree(behind.metadata_dir)
        behind.metadata_dir.mkdir()
    end = _ends(leader)[-1]
    create(cluster, [f"behind-{is_wiped}-{n}" for n in range(TOPICS)])
    _wait_trimmed(leader, end)
    behind.start()
    behind.wait_listening()
    _wait_caught_up(cluster, behind)
    assert _metric(behind, "kraft_snapshot_loaded_total") >= 1
    assert behind.stop() == 0
    _check_readable(behind)
    behind.start()
    behind.wait_listening()
    _wait_caught_up(cluster, behind)


def test_an_agent_that_was_left_behind_comes_back(cluster: Cluster) -> None:
    agent = cluster.agents[11]
    agent.kill()
    leader = leader_of(cluster)
    end = _ends(leader)[-1]
    create(cluster, [f"agent-{n}" for n in range(TOPICS)])
    _wait_trimmed(leader, end)
    agent.start()
    agent.wait_listening()
    _wait_caught_up(cluster, agent)
    assert _metric(agent, "kraft_snapshot_loaded_total") >= 1
    assert agent.stop() == 0
    _check_readable(agent)


def test_an_agent_whose_checkpoint_has_rotted_says_so_and_fetches_all_anew(cluster: Cluster) -> None:
    agent = cluster.agents[11]
    assert not agent.is_running
    newest = checkpoint_ends(OsFiles(), str(agent.metadata_dir))[-1]
    rotten = agent.metadata_dir / checkpoint_name(newest)
    data = bytearray(rotten.read_bytes())
    data[len(data) // 2] ^= 0x10
    rotten.write_bytes(data)
    agent.log_file.write_text("")
    assert f"{rotten}: damaged (byte " in complaint(agent)
    assert rotten.read_bytes() == data
    agent.metadata_dir.rename(agent.root / "evidence")
    agent.start()
    agent.wait_listening()
    _wait_caught_up(cluster, agent)
    assert agent.stop() == 0
    _check_readable(agent)


def test_the_cluster_starts_from_its_snapshots(cluster: Cluster, tmp_path: Path) -> None:
    before = listed(cluster)
    for node in cluster.nodes:
        if node.is_running:
            node.kill()
    for node in cluster.nodes:
        node.start()
    for node in cluster.nodes:
        node.wait_listening(60)
    assert listed(cluster) == before
    create(cluster, ["afterwards"])
    assert "afterwards" in listed(cluster)
