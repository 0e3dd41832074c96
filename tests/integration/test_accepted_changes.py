"""The log of a controller names each accepted change, by gRPC and by Kafka's protocol."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from metadata_log.ids import id_text
from quorum.cli.demo.cluster import LOOPBACK, Node, wait_until
from tests.support.kafka_requests import envelope
from tests.support.kafka_wire import connected_to, request_bytes, requests_of, written
from tests.support.loop import run
from tests.support.standalone import create, standalone, start
from tests.support.voter_processes import Controllers

ALICE = b"\0\0\5User\6alice\0\0"
_CHANGE = re.compile(r"\] change .*principal=(\S+) client=(\S+) .*request=(\S+) resource='?(.*?)'? offset=(\d+)")


def _changes(node: Node) -> list[tuple[str, ...]]:
    """Principal, client, request and resource of each line, in the order of the offsets."""
    found = [match.groups() for match in _CHANGE.finditer(node.log_file.read_text())]
    offsets = [int(groups[-1]) for groups in found]
    assert offsets == sorted(set(offsets))
    return [groups[:-1] for groups in found]


def _delete(name: str) -> Any:
    return requests_of(20, 4).DeleteTopicsRequest(topic_names=(name,), timeout=timedelta(seconds=10))


async def _delete_by_kafkas_protocol(port: int, own: str, forwarded: str) -> None:
    """Delete one topic as a client of this listener, and the other as a broker that forwards User:alice's request."""
    within = request_bytes(20, 4, written(_delete(forwarded)))[4:]
    async with connected_to(LOOPBACK, port) as client:
        answer = await client.ask(_delete(own))
        assert [each.error_code.value for each in answer.responses] == [0]
        answer = await client.ask(envelope(request_data=within, request_principal=ALICE))
        assert answer.error_code.value == 0


def test_both_listeners(tmp_path: Path) -> None:
    with standalone(tmp_path) as cluster:
        node = cluster.controllers[1]
        start(node)
        ids = {name: id_text(each) for name, each in create(cluster, ["orders", "users"]).items()}
        run(_delete_by_kafkas_protocol(node.ports["CONTROLLER"], "orders", "users"))
        anonymous = ("User:ANONYMOUS", LOOPBACK)
        expected: list[tuple[str, ...]] = [
            (*anonymous, "CreateTopics", f"topic orders (id {ids['orders']})"),
            (*anonymous, "CreateTopics", f"topic users (id {ids['users']})"),
            (*anonymous, "DeleteTopics", f"topic orders (id {ids['orders']})"),
            ("User:alice", "10.1.2.3", "DeleteTopics", f"topic users (id {ids['users']})"),
        ]
        wait_until("the lines", lambda: [each for each in _changes(node) if "Topics" in each[2]] == expected)
        assert tuple(each[2] for each in _changes(node) if each[3].startswith("broker 101 ("))[:2] == (
            "RegisterBroker",
            "BrokerHeartbeat",
        )


def test_voters(tmp_path: Path) -> None:
    with Controllers(tmp_path, 2) as controllers:
        controllers.format(1, "--standalone")
        controllers.format(2, "--no-initial-controllers")
        controllers.start(1, 2)
        wait_until(
            "controller 2 to be added", lambda: controllers.quorum("add-controller", "-i", "2")[0] == 0, timeout_s=60
        )
        leader = controllers.nodes[1]
        (added,) = wait_until("the line", lambda: [each for each in _changes(leader) if each[2] == "AddRaftVoter"])
        assert re.fullmatch(r"voter 2 \(directory \S{22}\)", added[3])
        registrations = [each for each in _changes(leader) if each[2] == "RegisterController"]
        assert any(each[3].startswith("controller 2 (") for each in registrations)
