"""Files of Kafka's own controllers, with other ports and directories: formatted, started, one of them leads."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import LOOPBACK, Node, wait_until
from tests.support.kafka_configs import stock_properties
from tests.support.port_rows import free_row
from tests.support.voter_processes import CLUSTER_ID, kraft
from tests.support.warm_nodes import WarmNode

STATIC, DYNAMIC = "stock-3.9-controller.properties", "stock-4-controller.properties"


def _node(name: str, root: Path, node_id: int, voters: dict[int, int]) -> Node:
    port = voters[node_id]
    listed = ",".join(f"{each}@localhost:{at}" for each, at in voters.items())
    finding = {"controller_quorum_voters": listed} if name == STATIC else {}
    if name == DYNAMIC:
        finding = {
            "controller_quorum_bootstrap_servers": f"localhost:{port}",
            "advertised_listeners": f"CONTROLLER://localhost:{port}",
        }
    changes = {"node_id": str(node_id), "listeners": f"CONTROLLER://:{port}", "log_dirs": str(root / "data"), **finding}
    node = WarmNode(
        "controller", node_id, root, {"CONTROLLER": port, "GRPC": port + 1}, stock_properties(name, **changes)
    )
    node.write_config()
    return node


@pytest.fixture
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Node]]:
    """Formatted controllers, as many as the parameter says, each with a copy of the named file."""
    name, count = request.param
    with free_row(2 * count) as first:  # for each controller its port, and the one that follows, which becomes GRPC's
        voters = {node_id: first + 2 * (node_id - 1) for node_id in range(1, count + 1)}
        made = [_node(name, tmp_path / f"node-{node_id}", node_id, voters) for node_id in voters]
        try:
            for node in made:
                words = ("-c", str(node.config_file), "-t", CLUSTER_ID, *(["--standalone"] if name == DYNAMIC else []))
                status, out, err = kraft("storage", "format", *words)
                assert status == 0, out + err
            yield made
        finally:
            for node in made:
                node.signal(9)


@pytest.mark.parametrize("nodes", [(STATIC, 1), (DYNAMIC, 1), (STATIC, 3)], indirect=True)
def test_they_listen_and_one_of_them_leads(nodes: list[Node]) -> None:
    for node in nodes:
        node.start()
    for node in nodes:
        node.wait_listening()
    wait_until("a leader", lambda: any(" active controller " in node.log_file.read_text() for node in nodes))
    for node in nodes:
        assert node.stop() == 0
        said = node.log_file.read_text()
        lines = [line for line in said.splitlines() if " keys not used " in line]
        assert len(lines) == 1
        assert "log.retention.hours,log.segment.bytes,num.io.threads" in lines[0]
        port = node.ports["GRPC"]
        assert f"listens at GRPC://:{port}: listeners has no GRPC, so that it takes the host of CONTROLLER" in said


@pytest.mark.parametrize("nodes", [(STATIC, 1)], indirect=True)
def test_a_taken_port_beside_the_listener_is_an_error_that_says_what_to_set(nodes: list[Node]) -> None:
    (node,) = nodes
    for _ in itertools.repeat(None, 10):  # a stranger may take the first port meanwhile
        with socket.socket() as taken:
            taken.bind((LOOPBACK, node.ports["GRPC"]))
            taken.listen()
            node.start()
            assert node.wait() == 1
        last = node.last_lines(1)
        if "cannot listen at CONTROLLER" not in last:
            break
    port = node.ports["GRPC"]
    assert f"cannot listen at GRPC://:{port}: another process listens there already. listeners has no GRPC" in last
    assert "add GRPC://:PORT to listeners, and GRPC to controller.listener.names" in last
