"""Misdirected clients at a CONTROLLER listener: a gRPC client gets gRPC's endpoint, others are disconnected."""

from __future__ import annotations

import asyncio
import struct
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from kraft.v1 import controller_pb2, controller_pb2_grpc
from metadata_log.voters import Endpoint
from quorum.api.voter_messages import UpgradeKRaftVersionRequest
from quorum.client.errors import WrongListenerError
from quorum.client.voter_changes import ask_at
from quorum.node.process.listeners import ListenError
from quorum.server.grpc.listen import listen
from quorum.server.kafka.listen import KafkaListener, listen_kafka
from quorum.server.kafka.offered_versions import OFFERED
from quorum.transport.channel import open_channel
from quorum.transport.misdirected import refusal, right_address
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode

GRPC = Endpoint(name="GRPC", host="::1", port=9094)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


async def _held() -> KafkaListener:
    return await listen_kafka(Endpoint(name="CONTROLLER", host="127.0.0.1", port=0), ScriptedNode(), 3, GRPC)


async def _told(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    told = await reader.read()
    writer.close()
    return told


def test_what_reads_requests_is_there_before_the_listener_is() -> None:
    """An import at the first request would take the interpreter from elections. Tested in a separate process."""
    program = f"""
import asyncio, sys
from metadata_log.voters import Endpoint
from quorum.server.kafka.listen import listen_kafka
from tests.support.scripted_node import ScriptedNode
NEWEST = "kio.schema.fetch.v{OFFERED[1].last}.request"
async def main():
    print(NEWEST in sys.modules)
    at = Endpoint(name="CONTROLLER", host="127.0.0.1", port=0)
    door = await listen_kafka(at, ScriptedNode(), 1, at)
    print(NEWEST in sys.modules)
    await door.close()
asyncio.run(main())
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, check=True, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]


def _headers_frame() -> bytes:
    return b"\0\0\1" + bytes((1, 4)) + struct.pack(">I", 1) + b"\x82"


def test_a_grpc_call_fails_with_the_right_address() -> None:
    async def main() -> None:
        held = await _held()
        async with open_channel(f"127.0.0.1:{held.port}") as channel:
            stub = controller_pb2_grpc.ControllerStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await stub.CreateTopics(controller_pb2.CreateTopicsRequest(), timeout=5)
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
        assert right_address(raised.value.details()) == "[::1]:9094"
        await held.close()

    run(main())


def test_a_change_of_the_voters_that_came_there_was_not_made() -> None:
    async def main() -> None:
        held = await _held()
        with pytest.raises(WrongListenerError) as raised:
            await ask_at(f"127.0.0.1:{held.port}", UpgradeKRaftVersionRequest(kraft_version=1), None, 5)
        assert raised.value.right_address == "[::1]:9094"
        await held.close()

    run(main())


def test_the_refusal_waits_for_the_request() -> None:
    async def main() -> None:
        held = await _held()
        settings = b"\0\0\0\4\0\0\0\0\0"
        told = await _told(held.port, PREFACE[:10], PREFACE[10:] + settings, _headers_frame())
        await held.close()
        assert told.startswith(settings)
        goaway = told[len(settings) :]
        assert goaway[3] == 7
        assert goaway[17:].decode() == refusal("CONTROLLER", 3, GRPC)
        assert "[::1]:9094" in goaway[17:].decode()

    run(main())


@pytest.mark.parametrize("first", [b"PRIX", b"GET / HTTP/1.1\r\n\r\n", b"\x16\3\1\2\0\1"])
def test_anybody_else_is_closed(first: bytes) -> None:
    async def main() -> None:
        held = await _held()
        assert await _told(held.port, first) == b""
        await held.close()

    run(main())


def test_who_says_nothing_is_closed_with_the_port() -> None:
    async def main() -> None:
        held = await _held()
        reader, writer = await asyncio.open_connection("127.0.0.1", held.port)
        writer.write(PREFACE)
        await reader.readexactly(9)
        await held.close()
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    run(main())


def test_a_port_in_use_is_named() -> None:
    async def main() -> None:
        held = await _held()
        taken = Endpoint(name="CONTROLLER", host="127.0.0.1", port=held.port)
        with pytest.raises(ListenError, match=f"CONTROLLER://127.0.0.1:{held.port}"):
            await listen_kafka(taken, ScriptedNode(), 4, GRPC)
        with pytest.raises(ListenError, match="another process listens there"):
            await listen(Endpoint(name="GRPC", host="127.0.0.1", port=held.port), ScriptedNode())
        await held.close()

    run(main())


def test_other_failures_name_no_address() -> None:
    assert right_address(None) is None
    assert right_address("Connection refused") is None
