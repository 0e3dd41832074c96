"""The health pages beside clients that connect and stay silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from metadata_log.voters import Endpoint
from quorum.node.config.door_limits import HTTP_PLACES
from quorum.node.process.http_server import PLACES_FOR_LOOPBACK, HttpServer, Places
from quorum.node.process.listeners import is_loopback
from quorum.node.process.metrics import NodeMetrics
from quorum.node.process.refusals import Refusals
from tests.support.loop import run, until
from tests.support.scripted_node import NODE_ID, ScriptedNode


@asynccontextmanager
async def _served(refusals: Refusals) -> AsyncIterator[int]:
    server = HttpServer(ScriptedNode().view, NodeMetrics(refusals), refusals)
    await server.start(Endpoint(name="HTTP", host="127.0.0.1", port=0))
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, failure: failures.append(failure))
    try:
        yield server.port
    finally:
        await server.stop()
    assert not failures


async def _alive(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /livez HTTP/1.1\r\n\r\n")
    try:
        return await reader.read()
    finally:
        writer.close()


def test_a_probe_is_answered_beside_150_silent_connections() -> None:
    async def main() -> None:
        refusals = Refusals(NODE_ID)
        async with _served(refusals) as port:
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(150)]
            for _ in range(31):
                assert (await _alive(port)).startswith(b"HTTP/1.1 200 OK")
            assert refusals.counts["HTTP", "limit"] >= 150 - HTTP_PLACES
            first, _ = silent[0]
            assert await first.read() == b"", "the longest-open one was closed"
            for _, writer in silent:
                writer.close()

    run(main())


def test_a_client_that_sends_no_header_is_not_waited_for() -> None:
    async def main() -> None:
        refusals = Refusals(NODE_ID)
        async with _served(refusals) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /livez")
            assert await reader.read() == b""
            await until(lambda: refusals.counts["HTTP", "slow"] == 1, what="counted")
            writer.close()

    run(main())


class _Client:
    def __init__(self) -> None:
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


def test_other_hosts_leave_loopback_its_places() -> None:
    places = Places()
    remote = [_Client() for _ in range(200)]
    gone = [places.enter(client, is_remote=True) for client in remote]
    kept = HTTP_PLACES - PLACES_FOR_LOOPBACK
    assert gone == [None] * kept + remote[: 200 - kept]
    local = [_Client() for _ in range(PLACES_FOR_LOOPBACK)]
    assert [places.enter(client, is_remote=False) for client in local] == [None] * PLACES_FOR_LOOPBACK
    assert places.enter(_Client(), is_remote=False) is remote[200 - kept]
    assert places.enter(_Client(), is_remote=True) is remote[201 - kept]
    assert not any(client.is_aborted for client in local)
    places.leave(local[0])
    assert places.enter(_Client(), is_remote=False) is None
    places.leave(remote[0])  # it has left already


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1", "localhost"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.0.0.1", "fe80::1%eth0", "::ffff:10.0.0.1", "c1.example"])
def test_everything_else_is_another_host(host: str) -> None:
    assert not is_loopback(host)
