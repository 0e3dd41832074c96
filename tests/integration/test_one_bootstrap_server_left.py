"""Two of three bootstrap servers are dead, and the third does not lead: clients and observers still find the leader.

They find the next leader, too. Real processes: five controllers, two agents.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quorum.api.topics import CreatableReplicaAssignment
from quorum.cli.demo.cluster import Node, wait_until
from quorum.client.client import Client
from tests.support.command_json import document
from tests.support.local_cluster import Cluster
from tests.support.standalone import create, leader_of

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(180)]

BOOTSTRAP, LEFT = (1, 2, 3), 3
LEADERS = (4, 5)
"""Of five voters these and the bootstrap server that is left are a majority."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """All of it runs but agent 12, controller 4 leads, and 1 and 2 are dead."""
    root: Path = tmp_path_factory.mktemp("bootstrap")
    with Cluster(root, controllers=(*BOOTSTRAP, *LEADERS), agents=(11, 12)) as running:
        for agent in running.agents.values():
            agent.properties["controller.quorum.bootstrap.servers"] = ",".join(_addresses(running, BOOTSTRAP))
        running.format()
        for node in running.nodes:
            if node.node_id != 12:
                node.start()
        for node in running.nodes:
            if node.node_id != 12:
                node.wait_listening()
        wait_until("agent 11 to be unfenced", lambda: _is_unfenced(running, 11))
        create(running, ["before"])
        _hand_over(running, LEADERS[0])
        for node_id in set(BOOTSTRAP) - {LEFT}:
            running.controllers[node_id].kill()
        yield running


def _addresses(cluster: Cluster, nodes: Sequence[int]) -> list[str]:
    return [cluster.controllers[node].grpc_address for node in nodes]


def _hand_over(cluster: Cluster, to: int) -> None:
    leader = leader_of(cluster)
    cluster.run("quorum", "transfer", "--bootstrap-controller", leader.grpc_address, "--to", str(to))
    assert leader_of(cluster).node_id == to


def _create(addresses: Sequence[str], name: str, broker: int) -> None:
    """Create a topic on that broker, which is unfenced, by a client that knows nothing but these addresses."""

    async def main() -> None:
        async with Client(list(addresses), timeout_s=20) as client:
            where = CreatableReplicaAssignment(partition_index=0, broker_ids=(broker,))
            await client.create_topic(name, assignments=[where])
            (topic,) = await client.describe_topics([name])
            assert topic.partitions[0].leader_id == broker

    asyncio.run(main())


def _wait_partition(agent: Node, name: str) -> None:
    wait_until(f"{agent.name} to have {name}", (agent.log_dir / f"{name}-0" / "partition.metadata").exists)


@pytest.mark.parametrize("order", list(itertools.permutations(BOOTSTRAP)), ids=lambda order: "".join(map(str, order)))
def test_a_client_finds_the_leader(cluster: Cluster, order: tuple[int, ...]) -> None:
    name = "by-" + "".join(map(str, order))
    _create(_addresses(cluster, order), name, 11)
    _wait_partition(cluster.agents[11], name)


def test_an_observer_that_starts_finds_the_leader_and_the_next_one(cluster: Cluster) -> None:
    agent = cluster.agents[12]
    agent.start()
    agent.wait_listening()
    everywhere = _addresses(cluster, BOOTSTRAP)
    wait_until("agent 12 to be unfenced", lambda: _is_unfenced(cluster, 12))
    _create(everywhere, "on-12", 12)
    _wait_partition(agent, "on-12")
    _hand_over(cluster, LEADERS[1])
    for broker in (11, 12):
        _create(everywhere, f"later-on-{broker}", broker)
        _wait_partition(cluster.agents[broker], f"later-on-{broker}")


def test_the_quorum_is_described_by_its_leader_with_these_observers(cluster: Cluster) -> None:
    described = cluster.run("quorum", "describe", "--bootstrap-controller", ",".join(_addresses(cluster, BOOTSTRAP)))
    lines = {line.split()[0]: line.split()[-1] for line in described.splitlines() if line.split()}
    assert {lines[str(node)] for node in (11, 12)} == {"Observer"}
    assert lines[str(leader_of(cluster).node_id)] == "Leader"


def _is_unfenced(cluster: Cluster, broker: int) -> bool:
    said = cluster.run("agent", "describe", "--agent", cluster.agents[broker].grpc_address, "-o", "json")
    return document(said)["is_fenced"] is False
