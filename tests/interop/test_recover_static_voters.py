"""Static voters (Kafka 3.9): two of three controllers destroyed, the third goes on alone, then three vote again."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from metadata_log.tools.hashes import hash_logs
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster, KafkaNode
from tests.support.kafka.recovery import Contents, read_contents, write_contents
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]
VERSION = "3.9.1"


@pytest.fixture(scope="module")
def old_tools() -> Iterator[KafkaTools]:
    with KafkaTools(VERSION) as tools:
        yield tools


def kraft(*words: str, status: int = 0) -> str:
    """What a process of the command line says."""
    command = [sys.executable, "-m", "quorum.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def named(nodes: Iterable[KafkaNode]) -> list[str]:
    return [f"{node.node_id}@{node.address}" for node in nodes]


def configure_voters(cluster: KafkaCluster, voters: Iterable[KafkaNode]) -> None:
    """Write the line that the command asks for into every node's configuration."""
    line = f"controller.quorum.voters={','.join(named(voters))}"
    for node in cluster.nodes.values():
        node.properties.write_text(re.sub(r"controller\.quorum\.voters=.*", line, node.properties.read_text()))


def words_for(cluster: KafkaCluster, nodes: Iterable[KafkaNode]) -> list[str]:
    words = ["recover", "static-voters"]
    for node in nodes:
        words += ["--dir", str(node.log_dir), "--config", str(node.properties)]
    for voter in named(nodes):
        words += ["--set", voter]
    return words + [word for broker in cluster.brokers for word in ("--copy", str(broker.log_dir))]


def test_a_survivor_with_static_voters_goes_on(old_tools: KafkaTools, tmp_path: Path) -> None:
    contents = Contents(topics={"orders": 30})
    with KafkaCluster(
        tmp_path / "cluster", old_tools, version=VERSION, static_voters=True, properties=Contents.PROPERTIES
    ) as cluster:
        cluster.start()
        write_contents(cluster, contents)
        before = read_contents(cluster, contents)
        leader = cluster.leader()
        survivor = next(node for node in cluster.controllers if node is not leader)
        lost = [node for node in cluster.controllers if node is not survivor]
        for node in lost:
            node.kill()
            shutil.rmtree(node.log_dir)
        survivor.kill()

        words = [*words_for(cluster, [survivor]), "--missing", ",".join(str(node.node_id) for node in lost)]
        assert f"must be {survivor.node_id}@{survivor.address}" in kraft(*words)
        assert f"controller.quorum.voters={survivor.node_id}@{survivor.address}" in kraft(*words, "--apply")
        kraft("recover", "verify", str(survivor.log_dir))
        for node in cluster.brokers:
            node.kill()
        configure_voters(cluster, [survivor])
        cluster.start(survivor.node_id, *(broker.node_id for broker in cluster.brokers))
        assert read_contents(cluster, contents) == before
        cluster.admin("topics", "--create", "--topic", "after", "--partitions", "1", "--replication-factor", "2")

        cluster.stop()
        configure_voters(cluster, cluster.controllers)  # Kafka formats no controller that is not among them
        for node in lost:
            old_tools.run("storage", "format", "-t", CLUSTER_ID, "-c", str(node.properties))
        kraft(*words_for(cluster, cluster.controllers), "--apply")
        kraft("recover", "verify", *(str(node.log_dir) for node in cluster.controllers))
        cluster.start()
        cluster.leader().kill()
        cluster.admin("topics", "--create", "--topic", "second", "--partitions", "1", "--replication-factor", "2")
        cluster.await_topics("after", "second")
        assert read_contents(cluster, contents) == before
        cluster.start(*(node.node_id for node in cluster.controllers if not node.is_running))
        cluster.end()
        log_dirs = [node.log_dir for node in cluster.nodes.values()]
        assert len({line.hash for line in hash_logs(log_dirs)}) == 1
        kraft("log", "diff", *map(str, log_dirs))
        kraft("check", *map(str, log_dirs))
