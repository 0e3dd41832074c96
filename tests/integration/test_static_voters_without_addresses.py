"""Static voters that bind every interface and advertise nothing: each has the address of its entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorum.cli.demo.cluster import LOOPBACK, Node, wait_until
from tests.support.kafka_wire import connected_to, requests_of
from tests.support.local_cluster import Cluster
from tests.support.loop import run
from tests.support.standalone import create, leader_of
from tests.support.voter_processes import kraft

HOST = "localhost"


def _described(node: Node) -> dict[int, tuple[str, int]]:
    """Return the controllers' addresses in the answer to DescribeCluster."""

    async def ask() -> Any:
        request = requests_of(60, 1).DescribeClusterRequest
        async with connected_to(LOOPBACK, node.ports["CONTROLLER"]) as client:
            return await client.ask(request(include_cluster_authorized_operations=False, endpoint_type=2))

    return {each.broker_id: (each.host, each.port) for each in run(ask()).brokers}


def test_they_elect_and_are_named_by_their_entries(tmp_path: Path) -> None:
    with Cluster(tmp_path, agents=()) as cluster:
        nodes = list(cluster.controllers.values())
        voters = ",".join(f"{node.node_id}@{HOST}:{node.ports['CONTROLLER']}" for node in nodes)
        for node in nodes:
            del node.properties["controller.quorum.bootstrap.servers"]
            node.properties["controller.quorum.voters"] = voters
            node.properties["listeners"] = node.properties["listeners"].replace(LOOPBACK, "")
            node.write_config()
            words = ("-c", str(node.config_file), "-t", cluster.cluster_id)
            status, out, err = kraft("storage", "format", *words)
            assert status == 0, out + err
        cluster.start()
        create(cluster, ["orders"])
        expected = {node.node_id: (HOST, node.ports["CONTROLLER"]) for node in nodes}
        wait_until("all to be named", lambda: _described(leader_of(cluster)) == expected)
