"""Kafka's own tools ask our controllers, at their CONTROLLER listeners."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorum.cli.demo.cluster import Cluster, wait_until
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(200)]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("ours") / "cluster", agents=()) as cluster:
        cluster.format()
        cluster.start()
        yield cluster


def _addresses(ours: Cluster) -> str:
    """Return the addresses of those that run: a tool that meets a dead one may wait a minute for it."""
    running = [node for node in ours.controllers.values() if node.is_running]
    return ",".join(f"127.0.0.1:{node.ports['CONTROLLER']}" for node in running)


def _describe(ours: Cluster, tools: KafkaTools, what: str) -> str:
    """Return what the tool prints; it may be asked before there is a leader."""

    def said() -> str:
        try:
            return tools.run("metadata-quorum", "--bootstrap-controller", _addresses(ours), "describe", what)
        except ToolFailedError:
            return ""

    return wait_until(f"kafka-metadata-quorum describe {what}", said, timeout_s=90)


def _status(ours: Cluster, tools: KafkaTools) -> dict[str, str]:
    return dict(line.split(":", 1) for line in _describe(ours, tools, "--status").splitlines() if line)


def test_the_quorum_is_described(ours: Cluster, kafka_tools: KafkaTools) -> None:
    """Nodes that start together may elect several leaders in turn.

    A new leader reports no high watermark until it has committed in its epoch.
    """

    def told() -> tuple[dict[str, str], list[list[str]]] | None:
        status = _status(ours, kafka_tools)
        rows = [line.split() for line in _describe(ours, kafka_tools, "--replication").splitlines() if line][1:]
        leads = [int(row[0]) for row in rows if row[-1] == "Leader"]
        return (status, rows) if int(status["HighWatermark"]) > 0 and leads == [int(status["LeaderId"])] else None

    status, rows = wait_until("one leader to answer both", told, timeout_s=60)
    assert status["ClusterId"].strip() == ours.cluster_id
    leader_id = int(status["LeaderId"])
    assert leader_id in ours.controllers
    for node_id, node in ours.controllers.items():
        assert f'"id": {node_id}' in status["CurrentVoters"]
        assert f"CONTROLLER://127.0.0.1:{node.ports['CONTROLLER']}" in status["CurrentVoters"]
    assert {(int(row[0]), row[-1]) for row in rows} == {
        (node_id, "Leader" if node_id == leader_id else "Follower") for node_id in ours.controllers
    }


def test_the_next_leader_is_found_when_one_dies(ours: Cluster, kafka_tools: KafkaTools) -> None:
    status = _status(ours, kafka_tools)
    dead = int(status["LeaderId"])
    ours.controllers[dead].kill()

    def next_leader() -> bool:
        said = _describe(ours, kafka_tools, "--status")
        return f"LeaderId:               {dead}" not in said and "LeaderId:" in said

    wait_until("another leader", next_leader, timeout_s=60)
