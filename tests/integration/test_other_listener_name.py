"""Controllers whose listener for Kafka's protocol has another name than CONTROLLER: real processes on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.demo.cluster import LOOPBACK, Node, wait_until
from tests.support.kafka_wire import connected_to, requests_of
from tests.support.local_cluster import Cluster
from tests.support.loop import run
from tests.support.standalone import create, leader_of

NAME = "CONTROLPLANE-9090"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Three controllers that ask one another at that listener."""
    with Cluster(tmp_path, agents=()) as cluster:
        for node in cluster.controllers.values():
            for key, value in node.properties.items():
                node.properties[key] = value.replace("CONTROLLER", NAME)
            node.properties["inter.controller.listener.name"] = NAME
        cluster.format()
        cluster.start()
        yield cluster


def controllers_known_at(node: Node) -> dict[int, tuple[str, int]]:
    """Return the controllers' addresses in the answer to DescribeCluster at that listener."""

    async def ask() -> Any:
        async with connected_to(LOOPBACK, node.ports["CONTROLLER"]) as client:
            return await client.ask(
                requests_of(60, 1).DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=2)
            )

    return {each.broker_id: (each.host, each.port) for each in run(ask()).brokers}


def test_the_listener_is_served_and_named_to_others(cluster: Cluster) -> None:
    create(cluster, ["before"])
    leader = leader_of(cluster)
    expected = {each.node_id: (LOOPBACK, each.ports["CONTROLLER"]) for each in cluster.controllers.values()}
    for node in cluster.controllers.values():
        wait_until("all to be named", lambda node=node: controllers_known_at(node) == expected)
    leader.kill()
    wait_until("another leader", lambda: leader_of(cluster) is not leader)
    create(cluster, ["after"])
