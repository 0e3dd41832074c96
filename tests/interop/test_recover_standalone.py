"""Two of three controllers of a real cluster destroyed: the third becomes the quorum, and all is there afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.tools.hashes import hash_logs
from quorum.cli.main import run
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.recovery import Contents, grow_back, read_contents, write_contents
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def contents() -> Contents:
    return Contents(topics={"orders": 40, "payments": 25})


def test_a_surviving_controller_becomes_the_quorum(
    tmp_path: Path, kafka_tools: KafkaTools, contents: Contents, capsys: pytest.CaptureFixture[str]
) -> None:
    with KafkaCluster(tmp_path / "cluster", kafka_tools, properties=Contents.PROPERTIES) as cluster:
        cluster.start()
        write_contents(cluster, contents)
        before = read_contents(cluster, contents)
        leader = cluster.leader()
        survivor = next(node for node in cluster.controllers if node is not leader)
        lost = [node for node in cluster.controllers if node is not survivor]
        shutil.copytree(survivor.log_dir, tmp_path / "copy")
        of_copy = ["recover", "standalone", "--dir", str(tmp_path / "copy"), "--missing", "rest", "--apply"]
        assert run(of_copy) == 1
        assert f"a leader answers at {leader.address} (leader {leader.node_id} of epoch" in capsys.readouterr().err
        for node in lost:
            node.kill()
            shutil.rmtree(node.log_dir)
        assert run(of_copy) == 1
        assert f"a controller runs at {survivor.address}" in capsys.readouterr().err
        words = ["recover", "standalone", "--dir", str(survivor.log_dir)]
        for broker in cluster.brokers:
            words += ["--copy", str(broker.log_dir)]
        words += ["--missing", ",".join(str(node.node_id) for node in lost)]
        assert run([*words, "--apply"]) == 1, "it runs"
        assert "is locked" in capsys.readouterr().err
        survivor.kill()

        assert run(words) == 0
        assert run([*words, "--apply"]) == 0
        assert run(["recover", "verify", str(survivor.log_dir)]) == 0
        cluster.start(survivor.node_id)
        assert cluster.leader() is survivor
        assert read_contents(cluster, contents) == before
        cluster.admin("topics", "--create", "--topic", "after", "--partitions", "2", "--replication-factor", "2")

        for node in lost:
            grow_back(cluster, node, survivor)
        survivor.kill()
        assert cluster.leader() in lost
        cluster.admin("topics", "--create", "--topic", "second", "--partitions", "1", "--replication-factor", "2")
        assert read_contents(cluster, contents) == before
        cluster.start(survivor.node_id)
        cluster.end()
        assert len({line.hash for line in hash_logs([node.log_dir for node in cluster.nodes.values()])}) == 1
        assert run(["check", *(str(node.log_dir) for node in cluster.nodes.values())]) == 0
