"""The bounds of the door of Kafka's protocol, over real connections: who is not waited for, and who makes room."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager

import pytest

from quorum.server.kafka.bounds import Limits
from tests.support.kafka_requests import api_versions, describe_quorum
from tests.support.kafka_wire import KafkaClient, connected, kafka_door, request_bytes, written
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

_QUORUM = request_bytes(55, 2, written(describe_quorum(2)))


class TestBounds:
    def test_who_has_been_idle_for_longest_makes_room_for_a_new_connection(self) -> None:
        async def main() -> None:
            limits = Limits(max_connections=3)
            async with (
                kafka_door(ScriptedNode(), limits) as door,
                connected(door.port) as known,
                connected(door.port) as stranger,
            ):
                assert (await known.ask(api_versions(4))).error_code.value == 0
                async with connected(door.port) as third, connected(door.port) as fourth:
                    assert await stranger.is_closed()
                    for client in (known, third, fourth):
                        assert (await client.ask(api_versions(4))).error_code.value == 0
                    assert door.connections == 3

        run(main())

    def test_an_accept_beyond_the_descriptors_for_connections_is_closed_at_once(self) -> None:
        async def main() -> None:
            with ExitStack() as sockets:
                beyond = sorted(sockets.enter_context(socket.socket()).fileno() for _ in range(11))[-1]
            async with AsyncExitStack() as stack:
                door = await stack.enter_async_context(kafka_door(ScriptedNode(), Limits(first_kept=beyond)))
                clients = [await stack.enter_async_context(connected(door.port)) for _ in range(8)]
                for client in clients:
                    await client.send(api_versions(4))
                served = sum([not await client.is_closed() for client in clients])
                assert 0 < served == door.connections < 8
                assert door.refusals.counts == {("CONTROLLER", "limit"): 8 - served}

        run(main())

    def test_connections_from_one_address_have_a_bound(self) -> None:
        async def main() -> None:
            async with (
                kafka_door(ScriptedNode(), Limits(max_connections_per_ip=1)) as door,
                connected(door.port) as first,
                connected(door.port) as second,
            ):
                assert await second.is_closed()
                assert (await first.ask(api_versions(4))).error_code.value == 0
                first.close()
                await until(lambda: door.connections == 0, what="the first to be gone")
                async with connected(door.port) as third:
                    assert (await third.ask(api_versions(4))).error_code.value == 0
                assert door.refusals.counts == {("CONTROLLER", "limit"): 1}

        run(main())

    def test_requests_that_do_not_get_whole_make_room_oldest_first(self) -> None:
        async def main() -> None:
            limits = Limits(max_received_bytes=300_000)
            part = struct.pack(">i", 200_000) + bytes(199_000)
            async with (
                kafka_door(ScriptedNode(), limits) as door,
                connected(door.port) as first,
                connected(door.port) as second,
            ):
                assert (await first.ask(api_versions(4))).error_code.value == 0
                await first.send_bytes(part)
                await until(lambda: door.received_bytes >= len(part), what="the first part to be there")
                await second.send_bytes(part)
                assert await first.is_closed()
                assert door.connections == 1

        run(main())

    def test_a_request_that_takes_too_long_is_not_waited_for(self) -> None:
        async def main() -> None:
            limits = Limits(frame_s=0.05, sweep_s=0.02)
            async with (
                kafka_door(ScriptedNode(), limits) as door,
                connected(door.port) as slow,
                connected(door.port) as idle,
            ):
                await slow.send_bytes(_QUORUM[:20])
                assert await slow.is_closed()
                assert (await idle.ask(api_versions(4))).error_code.value == 0

        run(main())

    @pytest.mark.parametrize("first", [_QUORUM[:1], _QUORUM[:3], b"PRI * HTTP/2.0"])
    def test_who_sends_a_few_bytes_is_not_waited_for(self, first: bytes) -> None:
        async def main() -> None:
            limits = Limits(frame_s=0.05, sweep_s=0.02)
            async with kafka_door(ScriptedNode(), limits) as door, connected(door.port) as slow:
                await slow.send_bytes(first)
                assert await slow.is_closed()
                assert door.connections == 0

        run(main())

    def test_who_asks_for_nothing_goes_after_a_while(self) -> None:
        async def main() -> None:
            limits = Limits(idle_s=0.05, sweep_s=0.02)
            async with kafka_door(ScriptedNode(), limits) as door, connected(door.port) as stranger:
                assert await stranger.is_closed()
                assert door.connections == 0

        run(main())

    def test_who_reads_no_answers_goes_when_there_are_too_many(self) -> None:
        async def main() -> None:
            # The system takes any part of a response: as few as 4 bytes of it were left, and nothing more is sent then.
            limits = Limits(max_unsent_bytes=0)
            async with (
                kafka_door(ScriptedNode(), limits) as door,
                connected(door.port) as other,
                _narrow(door.port) as deaf,
            ):
                assert (await other.ask(api_versions(4))).error_code.value == 0
                _stop_reading(deaf)
                asking = asyncio.get_running_loop().create_task(_ask_on(deaf))
                await until(lambda: door.connections == 1, what="who does not read to go")
                assert (await other.ask(api_versions(4))).error_code.value == 0
                asking.cancel()

        run(main())

    def test_what_is_sent_to_a_door_whose_answers_are_not_read_stays_with_the_sender(self) -> None:
        async def main() -> None:
            async with kafka_door(ScriptedNode()) as door, _narrow(door.port) as deaf:
                _stop_reading(deaf)
                asking = asyncio.get_running_loop().create_task(_ask_on(deaf))
                await until(lambda: door.unsent_bytes > 0, what="an answer to wait")
                deaf.writer.write(bytes(8 << 20))
                for _ in range(100):
                    await asyncio.sleep(0)
                assert door.received_bytes < 1 << 20
                assert door.unsent_bytes < 10_000
                assert door.connections == 1
                asking.cancel()

        run(main())


@asynccontextmanager
async def _narrow(port: int) -> AsyncIterator[KafkaClient]:
    """A connection of small segments and a small window, or the system would hold megabytes of answers on its way."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    client = KafkaClient(*await asyncio.open_connection(sock=sock))
    try:
        yield client
    finally:
        client.close()


def _stop_reading(client: KafkaClient) -> None:
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]


async def _ask_on(client: KafkaClient) -> None:
    """Ask for versions for as long as the connection takes it."""
    request = request_bytes(18, 4, written(api_versions(4))) * 1000
    while not client.writer.is_closing():
        await client.send_bytes(request)
