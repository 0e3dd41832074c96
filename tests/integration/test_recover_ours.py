"""Our own quorum brought back: from a surviving controller, and from an agent's copy when no controller is left."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.replicas.hashes import hash_logs
from quorum.cli.demo.cluster import LOOPBACK, Node, wait_until
from quorum.cli.main import run
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.journal.log_directories import find_place
from tests.support.local_cluster import Cluster
from tests.support.standalone import create, leader_id, listed, start

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Three controllers and an agent that run, and hold the same topics, every one of them."""
    with Cluster(tmp_path / "cluster", agents=(11,)) as made:
        made.format()
        made.start()
        create(made, [f"topic-{number}" for number in range(8)])
        controllers = made.controllers.values()
        # An acknowledged topic is on a majority: the third may not even have found the leader yet.
        wait_until("all to hold the same", lambda: len({copy_of(node).end for node in controllers}) == 1, timeout_s=60)
        yield made


def copy_of(node: Node) -> Copy:
    files = OsFiles()
    return read_copy(files, find_place(files, str(node.log_dir)))


def kill(*nodes: Node) -> None:
    for node in nodes:
        node.kill()


def destroy(*nodes: Node) -> None:
    for node in nodes:
        shutil.rmtree(node.log_dir)


def goes_on(cluster: Cluster, node: Node, before: object) -> None:
    """Check that the repaired controller leads alone, lists the topics and creates new ones, and the agent follows."""
    assert run(["recover", "verify", str(node.log_dir)]) == 0
    start(node)
    assert listed(cluster) == before
    create(cluster, ["after"])
    end = int(copy_of(node).end.offset)
    agent = cluster.agents[11]
    wait_until("the agent to follow", lambda: copy_of(agent).end.offset >= end, timeout_s=60, every_s=0.2)
    assert cluster.stop() == {node.name: 0, agent.name: 0}
    assert len({line.hash for line in hash_logs([node.log_dir, agent.log_dir])}) == 1
    assert run(["check", str(node.log_dir), str(agent.log_dir)]) == 0


def standalone(survivor: Node, agent: Node) -> list[str]:
    words = ["recover", "standalone", "--dir", str(survivor.log_dir), "--copy", str(agent.log_dir)]
    return [*words, "--missing", "rest"]


def test_a_survivor_of_ours_becomes_the_quorum(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    before = listed(cluster)
    agent = cluster.agents[11]
    first, *others = cluster.controllers.values()
    kill(first)
    wait_until("another to lead", lambda: leader_id(cluster) in [node.node_id for node in others])
    assert run(standalone(first, agent)) == 1
    said = capsys.readouterr().err
    assert "a leader answers at" in said
    leads = next(node for node in others if node.node_id == leader_id(cluster))
    tool = "Use `kraft quorum add-controller` and `kraft quorum remove-controller` with --bootstrap-controller"
    assert f"{tool} {LOOPBACK}:{leads.ports['GRPC']}; or stop" in said
    assert "kafka-metadata-quorum" not in said
    kill(*others)
    survivor = max(others, key=lambda node: copy_of(node).rank)
    destroy(*(node for node in cluster.controllers.values() if node is not survivor))
    assert run([*standalone(survivor, agent), "--apply"]) == 0
    said = capsys.readouterr().out
    assert "kraft storage format --config node.properties --cluster-id" in said
    at = f"--bootstrap-controller {LOOPBACK}:{survivor.ports['GRPC']}"
    assert f"kraft quorum add-controller {at} --command-config node.properties" in said
    assert f"kraft quorum describe {at}" in said
    goes_on(cluster, survivor, before)


def test_a_controller_of_ours_is_made_from_an_agents_copy(cluster: Cluster) -> None:
    before = listed(cluster)
    first, *_ = cluster.controllers.values()
    agent = cluster.agents[11]
    end = max(int(copy_of(node).end.offset) for node in cluster.controllers.values())
    wait_until("the agent to have it all", lambda: copy_of(agent).end.offset >= end, timeout_s=60, every_s=0.2)
    kill(*cluster.controllers.values())
    destroy(*cluster.controllers.values())
    words = [
        "recover",
        "from-broker",
        "--broker-dir",
        str(agent.log_dir),
        "--dir",
        str(first.log_dir),
        "--node-id",
        "1",
    ]
    for name in ("CONTROLLER", "GRPC"):
        words += ["--endpoint", f"{name}://{LOOPBACK}:{first.ports[name]}"]
    assert run([*words, "--missing", "rest", "--apply"]) == 0
    goes_on(cluster, first, before)
