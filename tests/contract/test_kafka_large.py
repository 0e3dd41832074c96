"""Large requests of many connections at once: the loop, and with it Raft, has its turn between any two."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from quorum.server.kafka.apis import Apis
from quorum.server.kafka.large_requests import AT_ONCE_BYTES, LargeRequests
from tests.support.kafka_wire import connected, kafka_door, requests_of
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

DELETE_TOPICS = requests_of(20, 5)


def _deletion(size: int) -> Any:
    """By names that never were: so many bytes of them."""
    names = tuple(f"{number:0100d}" for number in range(size // 100))
    return DELETE_TOPICS.DeleteTopicsRequest(topic_names=names, timeout=timedelta(seconds=1))


def test_each_has_a_round_of_its_own() -> None:
    async def main() -> list[str]:
        loop, large, seen = asyncio.get_running_loop(), LargeRequests(), list[str]()

        def serve(name: str) -> None:
            seen.append(name)
            loop.call_soon(seen.append, "others")

        given_up = {name: large.add(lambda name=name: serve(name)) for name in "abcd"}  # type: ignore[misc]
        given_up["c"]()
        assert not seen
        await until(lambda: seen.count("others") == 3, what="three of four served")
        large.add(lambda: serve("e"))
        await until(lambda: seen.count("others") == 4, what="the last one served")
        return seen

    assert run(main()) == ["a", "others", "b", "others", "d", "others", "e", "others"]


def test_what_is_given_up_later_is_given_up_where_it_waits() -> None:
    async def main() -> list[str]:
        large, seen = LargeRequests(), list[str]()

        def serve() -> Any:
            seen.append("served")
            return lambda: seen.append("given up")

        give_up = large.add(serve)
        await until(lambda: bool(seen), what="served")
        give_up()
        return seen

    assert run(main()) == ["served", "given up"]


def test_large_requests_of_two_connections_both_come_to_the_node() -> None:
    async def main() -> None:
        node = ScriptedNode()
        async with kafka_door(node) as door, connected(door.port) as client, connected(door.port) as other:
            await client.send(_deletion(2 * AT_ONCE_BYTES))
            await other.send(_deletion(3 * AT_ONCE_BYTES))
            await until(lambda: len(node.calls) == 2, what="both requests at the node")
            assert sorted(len(call.request.topics) for call in node.calls) == [655, 983]  # type: ignore[attr-defined]

    run(main())


def test_a_request_that_cannot_be_taken_costs_its_connection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    serve = Apis.serve

    def fails(self: Apis, connection: Any, caller: Any, frame: bytes) -> Any:
        if len(frame) > AT_ONCE_BYTES:
            raise ArithmeticError("planted")
        return serve(self, connection, caller, frame)

    monkeypatch.setattr(Apis, "serve", fails)

    async def main() -> None:
        node = ScriptedNode()
        async with kafka_door(node) as door, connected(door.port) as client, connected(door.port) as other:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
            await client.send(_deletion(2 * AT_ONCE_BYTES))
            assert await client.reader.read() == b""
            await other.send(_deletion(100))
            await until(lambda: len(node.calls) == 1, what="the request of the other connection")

    run(main())
