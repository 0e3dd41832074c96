"""One Vote of a stranger ends the epochs of our real quorum; `kraft recover epoch` brings it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.offsets import LAST_EPOCH
from quorum.cli.demo.cluster import Cluster, Node, wait_until
from quorum.cli.main import run
from tests.support.last_epoch import STRANGER, await_last_epoch, end_epochs, epoch_in
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

        end_epochs({node.node_id: node.ports["CONTROLLER"] for node in nodes}, cluster.cluster_id)
        await_last_epoch(*(node.metadata_dir for node in nodes))
        assert any("raises the epoch from" in node.log_file.read_text() for node in nodes)
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
