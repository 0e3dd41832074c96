"""Two of three controllers of a running cluster are destroyed; until then, and while one runs, a repair is refused.

How the others join again, and a second failover, are in the runbook for it (`test_recover_runbooks`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.kafka.goes_on import check_they_are_equal
from tests.support.kafka.lost import LostCluster
from tests.support.kafka.recovery import read_contents

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]


def test_while_controllers_run_nothing_is_repaired_and_then_the_survivor_becomes_the_quorum(
    lost: LostCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lost.copy(lost.behind, tmp_path / "cluster") as cluster:
        cluster.start()
        leader = cluster.leader()
        survivor = next(node for node in cluster.controllers if node is not leader)
        gone = [node for node in cluster.controllers if node is not survivor]
        # A file that is being replaced is renamed once it is whole: it may be gone before the copy.
        shutil.copytree(survivor.log_dir, tmp_path / "copy", ignore=shutil.ignore_patterns("*.part", "*.tmp"))
        of_copy = ["recover", "standalone", "--dir", str(tmp_path / "copy"), "--missing", "rest", "--apply"]
        assert run(of_copy) == 1
        assert f"a leader answers at {leader.address} (leader {leader.node_id} of epoch" in capsys.readouterr().err
        for node in gone:
            node.kill()
            shutil.rmtree(node.log_dir)
        assert run(of_copy) == 1
        assert f"a controller runs at {survivor.address}" in capsys.readouterr().err
        words = ["recover", "standalone", "--dir", str(survivor.log_dir)]
        for broker in cluster.brokers:
            words += ["--copy", str(broker.log_dir)]
        words += ["--missing", ",".join(str(node.node_id) for node in gone)]
        assert run([*words, "--apply"]) == 1, "it runs"
        assert "is locked" in capsys.readouterr().err
        survivor.kill()

        assert run(words) == 0
        assert run([*words, "--apply"]) == 0
        assert run(["recover", "verify", str(survivor.log_dir)]) == 0
        cluster.start(survivor.node_id)
        assert cluster.leader() is survivor
        assert read_contents(cluster, lost.contents) == lost.before
        cluster.admin("topics", "--create", "--topic", "after", "--partitions", "2", "--replication-factor", "2")
        cluster.end()
        check_they_are_equal([survivor, *cluster.brokers])
