"""One Vote of a stranger ends the epochs of our real quorum; `kraft recover epoch` brings it back."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.offsets import LAST_EPOCH
from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.main import run
from tests.support.last_epoch import STRANGER, await_last_epoch, end_epochs, epoch_in
from tests.support.local_cluster import Cluster
from tests.support.standalone import create, leader_of, listed, log_of, start

pytestmark = pytest.mark.timeout(240)


def test_a_quorum_at_the_end_of_its_epochs_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster(tmp_path / "cluster", agents=(11,)) as cluster:
        cluster.format()
        cluster.start()
        create(cluster, [f"topic-{number}" for number in range(5)])
        before = listed(cluster)
        nodes = list(cluster.controllers.values())
        agent = cluster.agents[11]
        written_by_leader = log_of(leader_of(cluster)).stat().st_size
        wait_until(
            "every log to have it, too", lambda: _least_log(*nodes, agent) >= written_by_leader, timeout_s=60
        )  # one without a record counts as lost
        _await_follower(agent)

        end_epochs({node.node_id: node.ports["CONTROLLER"] for node in nodes}, cluster.cluster_id)
        await_last_epoch(*(node.metadata_dir for node in nodes))
        wait_until(
            "a line about it", lambda: any("raises the epoch from" in each.log_file.read_text() for each in nodes)
        )
        assert f"peer={STRANGER}" in "".join(node.log_file.read_text() for node in nodes).replace('"', "")
        for node in (*nodes, agent):
            node.kill()
        dirs = [str(node.log_dir) for node in nodes]
        assert run(["recover", "inspect", *dirs, str(agent.log_dir)]) == 1
        assert "No election is possible any more" in capsys.readouterr().out

        words = [word for path in dirs for word in ("--dir", path)]
        assert run(["recover", "epoch", *words, "--copy", str(agent.log_dir), "--apply"]) == 0
        if epoch_in(agent.metadata_dir) > epoch_in(nodes[0].metadata_dir):
            assert run(["recover", "epoch", "--dir", str(agent.log_dir), "--apply"]) == 0
        assert run(["recover", "verify", *dirs]) == 0

        for node in nodes:
            start(node)
        leader_of(cluster)
        assert listed(cluster) == before
        create(cluster, ["after"])
        assert all(1000 < epoch_in(node.metadata_dir) < LAST_EPOCH for node in nodes)
        start(agent)
        wait_until("the agent to follow", lambda: epoch_in(agent.metadata_dir) > 1000, timeout_s=60)


def _least_log(*nodes: Node) -> int:
    """Return the size of the shortest log."""
    return min(log_of(node).stat().st_size for node in nodes)


def _await_follower(agent: Node) -> None:
    path = agent.metadata_dir / "quorum-state"
    wait_until("the agent to follow", lambda: path.exists() and epoch_in(agent.metadata_dir) > 0, timeout_s=60)


def _set_epoch(node: Node, epoch: int) -> None:
    path = node.metadata_dir / "quorum-state"
    unvoted = {"leaderEpoch": epoch, "leaderId": -1, "votedId": -1, "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA"}
    path.write_text(json.dumps(json.loads(path.read_text()) | unvoted))


def _ready_page(node: Node) -> str:
    """Return the page, ready or not."""
    try:
        with urllib.request.urlopen(f"http://{node.http_address}/readyz", timeout=10) as answer:
            page: bytes = answer.read()
    except urllib.error.HTTPError as error:
        page = error.read()
    return page.decode()


def _restart(nodes: Sequence[Node], agent: Node) -> None:
    for node in (*nodes, agent):
        start(node)


@pytest.mark.campaign
def test_logs_near_the_last_epoch_keep_their_elections_until_an_earlier_backup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Cluster(tmp_path / "cluster", agents=(11,)) as cluster:
        cluster.format()
        cluster.start()
        create(cluster, ["before"])
        nodes, agent = list(cluster.controllers.values()), cluster.agents[11]
        backup = str(tmp_path / "early.backup")
        leader = nodes[0]
        _await_follower(agent)
        wait_until("a backup", lambda: run(["snapshot", "save", str(leader.log_dir), backup]) == 0, timeout_s=60)
        for node in (*nodes, agent):
            node.kill()
        for node in nodes:
            _set_epoch(node, LAST_EPOCH - 46)
        _restart(nodes, agent)
        create(cluster, ["late"])
        wait_until("the agent to follow", lambda: epoch_in(agent.metadata_dir) >= LAST_EPOCH - 45, timeout_s=60)
        assert "more elections are possible" in _ready_page(leader)

        end_epochs({node.node_id: node.ports["CONTROLLER"] for node in nodes}, cluster.cluster_id)
        await_last_epoch(*(node.metadata_dir for node in (*nodes, agent)))
        for node in (*nodes, agent):
            node.kill()
        dirs = [str(node.log_dir) for node in nodes]
        capsys.readouterr()
        assert run(["recover", "inspect", *dirs]) == 1
        assert "itself, and no command lowers that" in capsys.readouterr().out
        assert run(["recover", "epoch", *(word for path in dirs for word in ("--dir", path)), "--apply"]) == 0
        start(agent)
        wait_until("the agent to say so", lambda: "near the last epoch" in agent.log_file.read_text(), timeout_s=60)
        agent.kill()
        assert run(["recover", "epoch", "--dir", str(agent.log_dir), "--apply"]) == 0
        _restart(nodes, agent)
        leader_of(cluster)
        assert {"before", "late"} <= set(listed(cluster))
        assert all(LAST_EPOCH - 45 < epoch_in(node.metadata_dir) < LAST_EPOCH for node in nodes)

        for node in (*nodes, agent):
            node.kill()
        for node in nodes:
            node.log_dir.rename(f"{node.log_dir}.former")
            assert run(["snapshot", "restore", backup, str(node.log_dir), "--node-id", str(node.node_id)]) == 0
        agent.metadata_dir.rename(f"{agent.log_dir}.metadata-former")
        _restart(nodes, agent)
        leader_of(cluster)
        assert "late" not in listed(cluster)
        create(cluster, ["after"])
        assert all(epoch_in(node.metadata_dir) < 100 for node in nodes)
        _await_follower(agent)
        assert epoch_in(agent.metadata_dir) < 100
