"""Real addresses that do not respond: the reason that each protocol reports, as data."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from metadata_log.ids import METADATA_TOPIC_ID
from metadata_log.voters import Endpoint
from quorum.node.core.peer_failures import FailureKind, PeerFailure
from quorum.node.core.ports import OutgoingRequest
from quorum.raft.ready import Destination
from quorum.transport.failures import foreign_protocol, of_system
from tests.support.kafka_peers import CLUSTER_ID, VOTE, any_peer, peer_network, told_versions
from tests.support.kafka_wire import kafka_door
from tests.support.loop import run, until
from tests.support.quorum_calls import fetch
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

PROTOCOLS = pytest.mark.parametrize("name", ["GRPC", "CONTROLLER", ""])
REQUESTS = pytest.mark.parametrize("request_", [VOTE, fetch(3)], ids=lambda each: type(each).__name__)


async def _failure_of(request: Any, at: tuple[Endpoint, ...], timeout_ms: int = 20_000) -> PeerFailure:
    async with peer_network() as (network, replies):
        network.send(
            OutgoingRequest(
                destination=Destination(node_id=NODE_ID, endpoints=at),
                correlation=1,
                cluster_id=CLUSTER_ID,
                topic_id=METADATA_TOPIC_ID,
                request=request,
                timeout_ms=timeout_ms,
            )
        )
        await until(lambda: replies.reasons, what="the failure")
        return replies.reasons[0]


def _at(name: str, port: int, host: str = "127.0.0.1") -> tuple[Endpoint, ...]:
    return (Endpoint(name=name, host=host, port=port),)


@asynccontextmanager
async def _says(first: bytes) -> AsyncIterator[int]:
    """A server that says so much to each client, whatever the client says, and closes."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(first)
        writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@PROTOCOLS
@REQUESTS
def test_a_refused_connection(name: str, request_: Any) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nothing listens, and no other process takes the port meanwhile
        port = bound.getsockname()[1]
        found = run(_failure_of(request_, _at(name, port)))
    assert (found.kind, found.address, found.disconnected) == (FailureKind.REFUSED, f"127.0.0.1:{port}", True)


@PROTOCOLS
@REQUESTS
def test_a_name_that_is_not_known(name: str, request_: Any) -> None:
    found = run(_failure_of(request_, _at(name, 9093, host="c2..example")))
    assert (found.kind, found.address) == (FailureKind.UNKNOWN_NAME, "c2..example:9093")


@PROTOCOLS
@REQUESTS
def test_a_socket_that_takes_the_connection_and_stays_silent(name: str, request_: Any) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        found = run(_failure_of(request_, _at(name, port), timeout_ms=100))
    assert (found.kind, found.address) == (FailureKind.NO_RESPONSE, f"127.0.0.1:{port}")
    assert (found.after_ms, found.disconnected) == (100, False)


def test_a_voter_without_an_address() -> None:
    assert run(_failure_of(VOTE, ())).kind is FailureKind.NO_ADDRESS


@pytest.mark.parametrize(
    ("name", "first", "detail"),
    [
        ("CONTROLLER", bytes.fromhex("15030300020246"), "TLS"),
        ("CONTROLLER", b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        ("CONTROLLER", bytes.fromhex("000012040000000000") + bytes(18), "gRPC"),
        ("GRPC", bytes.fromhex("15030300020246"), "gRPC"),
        ("GRPC", b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
    ],
)
def test_another_protocol(name: str, first: bytes, detail: str) -> None:
    async def main() -> PeerFailure:
        async with _says(first) as port:
            return await _failure_of(VOTE, _at(name, port))

    found = run(main())
    assert found.kind is FailureKind.OTHER_PROTOCOL, found
    assert detail in found.detail


def test_a_grpc_listener_that_is_taken_for_kafkas() -> None:
    async def main() -> PeerFailure:
        async with served(ScriptedNode()) as address:
            return await _failure_of(VOTE, _at("CONTROLLER", int(address.rpartition(":")[2])))

    found = run(main())
    assert (found.kind, found.detail) == (FailureKind.OTHER_PROTOCOL, "gRPC, not Kafka's protocol")


def test_a_controller_listener_that_is_taken_for_a_grpc_listener() -> None:
    async def main() -> PeerFailure:
        async with kafka_door(ScriptedNode()) as door:
            return await _failure_of(VOTE, _at("GRPC", door.port))

    found = run(main())
    assert found.kind is FailureKind.OTHER_PROTOCOL
    assert found.detail.startswith("Kafka's protocol; its gRPC is at ")


@pytest.mark.parametrize(
    ("answer", "kind", "detail"),
    [
        (lambda frame, number: told_versions(number + 1, (18, 0, 4)), FailureKind.UNSUPPORTED_VERSION, "vote (52)"),
        (lambda frame, number: told_versions(77, (18, 0, 4)), FailureKind.BAD_RESPONSE, "request 77"),
        (lambda frame, number: None, FailureKind.CLOSED, "before its first response"),
    ],
)
def test_a_peer_that_responds_otherwise(
    answer: Callable[[bytes, int], bytes | None], kind: FailureKind, detail: str
) -> None:
    async def main() -> PeerFailure:
        async with any_peer(answer) as port:
            return await _failure_of(VOTE, _at("CONTROLLER", port))

    found = run(main())
    assert found.kind is kind
    assert detail in found.detail


def test_the_systems_errors() -> None:
    unknown = of_system(socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "c2:1")
    assert unknown == PeerFailure(
        kind=FailureKind.UNKNOWN_NAME, address="c2:1", detail="Name or service not known", disconnected=False
    )
    no_route = of_system(OSError(113, "No route to host"), "c2:1")
    assert (no_route.kind, no_route.detail) == (FailureKind.UNREACHABLE, "no route to host")
    several = OSError("Multiple exceptions: [Errno 111] Connect call failed (1), [Errno 111] Connect call failed (2)")
    assert of_system(several, "c2:1").kind is FailureKind.REFUSED


def test_kafkas_protocol_is_no_foreign_one() -> None:
    assert foreign_protocol(told_versions(1, (18, 0, 4))[:16]) is None
    assert foreign_protocol(b"") is None
