"""`kraft check` on a cluster of real Kafka while it lives: topics made and deleted, a leader and a broker killed.

What it says of a healthy cluster is nothing, whatever moment it meets; and it changes nothing on the disks. `kraft
recover inspect` says who uses the directories, and to ask them.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.life import BROKER_KILLED, KafkaLife

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

_AFTER_A_KILL = {"torn_tail", "uncommitted_tail", "index_remnant"}
"""The findings that a kill -9 may leave, which the node repairs when it starts."""
_LOOKS = 8


@pytest.fixture(scope="module")
def living(kafka_life: KafkaLife, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A copy of the cluster, all of it running."""
    with kafka_life.cluster.copied_to(tmp_path_factory.mktemp("living") / "cluster") as cluster:
        cluster.start()
        yield cluster


def _check(nodes: list[KafkaNode]) -> tuple[int, list[dict[str, object]]]:
    words = ["check", *(str(node.log_dir) for node in nodes), "-o", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "quorum.cli.main", *words], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    found: list[dict[str, object]] = json.loads(done.stdout)["findings"]
    return done.returncode, found


def _serious(found: list[dict[str, object]]) -> list[dict[str, object]]:
    return [one for one in found if one["severity"] != "note"]


def test_stopped_and_crashed_nodes(kafka_life: KafkaLife, capsys: pytest.CaptureFixture[str]) -> None:
    before = _content(kafka_life.log_dirs)
    assert run(["check", *map(str, kafka_life.log_dirs), "-o", "json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)["findings"]
    # The broker that was away still has directories of what was deleted; nothing else may be said.
    assert {(one["kind"], one["node_id"]) for one in _serious(found)} <= {("partition_stale", BROKER_KILLED)}
    assert _content(kafka_life.log_dirs) == before, "a check only reads"
    assert run(["check", str(kafka_life.crashed), "-o", "json"]) in (0, 1)
    assert {one["kind"] for one in json.loads(capsys.readouterr().out)["findings"]} <= _AFTER_A_KILL


def test_it_is_silent_at_every_moment(living: KafkaCluster) -> None:
    checks = 0
    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(_make_and_delete_topics, living)
        while not writing.done():
            status, found = _check(list(living.nodes.values()))
            assert _serious(found) == []
            assert status == 0
            checks += 1
        writing.result()
    assert checks > 0
    assert all(node.is_running for node in living.nodes.values())


def test_inspect_names_who_runs_and_finds_no_loss(living: KafkaCluster) -> None:
    leader = living.leader()
    nodes = [leader, *living.brokers]
    for _ in range(_LOOKS):
        words = ["recover", "inspect", *(str(node.log_dir) for node in nodes), "-o", "json"]
        done = subprocess.run(
            [sys.executable, "-m", "quorum.cli.main", *words], capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        found = json.loads(done.stdout)
        used = {copy["node_id"]: copy["in_use_by_pid"] for copy in found["copies"]}
        assert used == {node.node_id: node.process.pid for node in nodes}
        assert [copy["fault"] for copy in found["copies"]] == [None] * len(nodes)
        assert found["repairs"] == []
        assert found["conflicts"] == []
        assert found["situation"].startswith(f"This quorum has running nodes: node {leader.node_id} (")
        assert "kafka-metadata-quorum.sh" in found["steps"][0]["commands"][0]


def test_after_kill_9_of_the_leader_and_of_a_broker(living: KafkaCluster) -> None:
    leader = living.leader()
    leader.kill()
    living.nodes[BROKER_KILLED].kill()
    dead = [leader.log_dir, living.nodes[BROKER_KILLED].log_dir]
    before = _content(dead)
    _, found = _check(list(living.nodes.values()))
    assert {one["kind"] for one in _serious(found)} <= _AFTER_A_KILL
    assert _content(dead) == before
    living.leader()
    living.start(leader.node_id, BROKER_KILLED)
    _, found = _check(list(living.nodes.values()))
    assert _serious(found) == []


def _make_and_delete_topics(cluster: KafkaCluster) -> None:
    for number in range(6):
        name = f"brief-{number}"
        cluster.admin("topics", "--create", "--topic", name, "--partitions", "3")
        if number % 2:
            cluster.await_topics(name)
            cluster.admin("topics", "--delete", "--topic", name)


def _content(directories: list[Path]) -> dict[str, tuple[str, int]]:
    """Every file's hash and time of change."""
    return {
        str(file): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for directory in directories
        for file in sorted(directory.rglob("*"))
        if file.is_file()
    }
