"""gRPC's events reach the loop in each pass, however many there are."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import grpc
import pytest
import uvloop

from quorum.transport.grpc.event_loop import ServerLoop, Ts, pending_bytes
from tests.support.loop import until

_STREAMS: Final = 12
_PASSES: Final = 100
_MOST: Final = 4 * _STREAMS
"""More events than this cannot come during a pass: a stream reads once and writes once at a time, on both ends."""
_LAST: Final = 10
"""Passes that are judged, at the end. The remedy counts the bytes in at least one of any eight passes."""


class _Watched(ServerLoop):
    """Remembers gRPC's readers, by descriptor, as they are registered."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[int, Callable[..., Any]] = {}

    def add_reader(self, fd: Any, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        self.readers[fd.fileno()] = callback
        super().add_reader(fd, callback, *args)


async def _busy_passes(count: int, watch: Callable[[], None]) -> None:
    """Let the loop turn so often; in each pass it has other work, while gRPC's thread has time for its events."""
    for _ in range(count):
        threading.Event().wait(0.005)
        watch()
        await asyncio.sleep(0)


def _least_pending(loop_factory: Callable[[], _Watched]) -> int:
    """Return the fewest bytes of gRPC that waited in a pass, while 12 streams sent as much as they could."""

    async def echo(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            yield request

    async def chat(channel: grpc.aio.Channel) -> None:
        call = channel.stream_stream("/test/Echo")()
        while True:
            await call.write(b"x")
            await call.read()

    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, _Watched)
        server = grpc.aio.server()
        handlers = {"Echo": grpc.stream_stream_rpc_method_handler(echo)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        (descriptor,) = loop.readers
        channels = [
            grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=(("grpc.use_local_subchannel_pool", 1),))
            for _ in range(_STREAMS)
        ]
        chats = [asyncio.create_task(chat(channel)) for channel in channels]
        waiting: list[int] = []
        await _busy_passes(_PASSES, lambda: waiting.append(pending_bytes(descriptor)))
        for each in chats:
            each.cancel()
        await asyncio.gather(*chats, return_exceptions=True)
        await asyncio.gather(*(channel.close() for channel in channels))
        await server.stop(0)
        return min(waiting[-_LAST:])

    return uvloop.run(main(), loop_factory=loop_factory)


class _AsGrpcHasIt(_Watched):
    """The loop without the remedy."""

    def add_reader(self, fd: Any, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        self.readers[fd.fileno()] = callback
        uvloop.Loop.add_reader(self, fd, callback, *args)


@pytest.mark.parametrize(("loop", "piles_up"), [(_AsGrpcHasIt, True), (_Watched, False)], ids=["gRPC's", "ours"])
def test_bytes_of_passes_do_not_pile_up(loop: Callable[[], _Watched], piles_up: bool) -> None:
    """The first case shows that gRPC still needs the remedy; if it fails, the remedy can go.

    A pass that is not counted may leave bytes, so the fewest are judged: none is left from before a counted pass.
    """
    assert (_least_pending(loop) > _MOST) is piles_up


def test_a_reader_that_fails_at_an_event_is_called_for_those_behind_it() -> None:
    """gRPC's does so at an event of a loop that is closed: only its own byte is gone."""

    class Queue:
        def __init__(self) -> None:
            self.socket, self.writer = socket.socketpair()
            self.events: list[int] = []
            self.seen: list[int] = []

        def _handle_events(self) -> None:
            self.socket.recv(1)
            while self.events:
                event = self.events.pop(0)
                if event == 0:
                    raise RuntimeError("Event loop is closed")
                self.seen.append(event)

    async def main() -> list[int]:
        queue, loop = Queue(), asyncio.get_running_loop()
        failures: list[str] = []
        loop.set_exception_handler(lambda _, context: failures.append(str(context["exception"])))
        loop.add_reader(queue.socket, queue._handle_events)
        queue.events += [1, 0, 2, 0, 3]
        queue.writer.send(b"xxxxx")
        await until(lambda: len(queue.seen) == 3, what="every event to be seen")
        assert failures == ["Event loop is closed"] * 2
        loop.remove_reader(queue.socket)
        queue.socket.close()
        queue.writer.close()
        return queue.seen

    assert uvloop.run(main(), loop_factory=ServerLoop) == [1, 2, 3]


def test_a_lookup_that_its_connection_left_behind_fails_in_silence() -> None:
    """uvloop leaves it behind if the connection attempt is cancelled."""

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        failures: list[str] = []
        loop.set_exception_handler(lambda _, context: failures.append(context["message"]))
        for error in (socket.gaierror(-2, "Name or service not known"), OSError("another failure")):
            future: asyncio.Future[None] = loop.create_future()
            future.set_exception(error)
            del future

        async def fail() -> None:
            raise socket.gaierror(-2, "Name or service not known")

        task = loop.create_task(fail())
        await until(task.done, what="the task to fail")
        del task
        gc.collect()
        return failures

    said = uvloop.run(main(), loop_factory=ServerLoop)
    assert said == ["Future exception was never retrieved", "Task exception was never retrieved"]


def test_other_readers_are_left_alone() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        reader, writer = socket.socketpair()
        got = asyncio.Event()
        loop.add_reader(reader, got.set)
        writer.send(b"12345")
        await got.wait()
        loop.remove_reader(reader)
        assert reader.recv(16) == b"12345"
        reader.close()
        writer.close()

    uvloop.run(main(), loop_factory=ServerLoop)
