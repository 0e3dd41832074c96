"""Every controller of our own quorum at another address: written into all their logs, and it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.replicas.hashes import hash_logs
from quorum.cli.demo.cluster import LOOPBACK, Node
from quorum.cli.main import run
from tests.support.local_cluster import Cluster
from tests.support.standalone import create, leader_of, listed

pytestmark = pytest.mark.timeout(240)


def named(node: Node) -> str:
    return f"{node.node_id}@{LOOPBACK}:{node.ports['CONTROLLER']}/{node.ports['GRPC']}"


def test_a_quorum_of_ours_goes_on_at_other_addresses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "cluster"
    with Cluster(root, agents=(11,)) as before:
        before.format()
        before.start()
        create(before, [f"topic-{number}" for number in range(5)])
        topics = listed(before)
        with Cluster(root, agents=(11,)) as moved:  # the same directories, other ports
            moved.cluster_id = before.cluster_id
            words = ["recover", "voters", "--copy", str(moved.agents[11].log_dir), "--missing", "101"]
            for node in moved.controllers.values():
                words += ["--dir", str(node.log_dir), "--set", named(node)]
            assert run([*words, "--apply"]) == 1
            assert "is locked" in capsys.readouterr().err
            before.kill_all()
            assert run([*words, "--apply"]) == 0
            said = capsys.readouterr().out
            at = ",".join(f"{LOOPBACK}:{node.ports['GRPC']}" for node in moved.controllers.values())
            assert f"controller.quorum.bootstrap.servers={at}\n" in said
            assert f"kraft quorum describe --bootstrap-controller {at}\n" in said
            assert run(["recover", "verify", *(str(node.log_dir) for node in moved.controllers.values())]) == 0
            for node in moved.nodes:
                node.write_config()
            moved.start()
            assert listed(moved) == topics
            create(moved, ["after"])
            leader_of(moved).kill()
            create(moved, ["second"])
            assert set(listed(moved)) == {*topics, "after", "second"}
            moved.stop()
            log_dirs = [node.log_dir for node in moved.nodes]
            assert len({line.hash for line in hash_logs(log_dirs)}) == 1
            assert run(["log", "diff", *map(str, log_dirs)]) == 0
