"""Large requests of many connections at once: between any two, the loop and with it Raft has its turn."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.node.process.large_requests import AT_ONCE_BYTES, Done, GiveUp, LargeRequests
from quorum.server.kafka.apis import Apis
from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import connected, kafka_door, request_bytes, requests_of, written
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

DELETE_TOPICS = requests_of(20, 5)


def _deletion(size: int) -> Any:
    """Return a DeleteTopics with `size` bytes of unknown names."""
    names = tuple(f"{number:0100d}" for number in range(size // 100))
    return DELETE_TOPICS.DeleteTopicsRequest(topic_names=names, timeout=timedelta(seconds=1))


class _Served:
    """The requests that a `LargeRequests` serves, rejects and drops; the test responds by hand."""

    def __init__(self, large: LargeRequests) -> None:
        self.large = large
        self.seen: list[str] = []
        self.done: dict[str, Done] = {}

    def add(self, name: str, address: str = "a", size: int = 1) -> GiveUp:
        def serve(done: Done) -> GiveUp:
            self.seen.append(name)
            self.done[name] = done
            return lambda: self.seen.append(f"{name} given up")

        return self.large.add(address, size, serve, lambda why: self.seen.append(f"{name} refused: {why}"))

    async def until(self, name: str) -> None:
        await until(lambda: name in self.seen, what=name)


def test_the_next_waits_for_the_answer_to_the_one_before() -> None:
    async def main() -> None:
        served = _Served(LargeRequests())
        served.add("one")
        served.add("two")
        assert not served.seen, "none at once"
        await served.until("one")
        for _ in range(100):
            await asyncio.sleep(0)
        assert served.seen == ["one"]
        served.done["one"]()
        assert served.seen == ["one"], "not in the same round"
        await served.until("two")
        served.done["two"]()

    run(main())


def test_addresses_take_turns() -> None:
    async def main() -> list[str]:
        served = _Served(LargeRequests())
        for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
            served.add(name, name[0])
        for _ in range(6):
            name = await _newest(served)
            served.done.pop(name)()
        return served.seen

    assert run(main()) == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def _newest(served: _Served) -> str:
    await until(lambda: served.done, what="a request served")
    return next(iter(served.done))


def test_the_one_that_is_not_answered_is_not_waited_for() -> None:
    async def main() -> None:
        served = _Served(LargeRequests())
        served.add("never answered")
        served.add("next")
        await served.until("next")
        served.done["never answered"]()  # too late to matter
        assert served.seen == ["never answered", "next"]

    run(main())


def test_what_is_given_up_is_not_served() -> None:
    async def main() -> list[str]:
        served = _Served(LargeRequests())
        served.add("one")
        give_up = served.add("two", size=7)
        served.add("three")
        assert served.large.waiting_bytes == 9
        give_up()
        give_up()
        assert served.large.waiting_bytes == 2
        await served.until("one")
        served.done["one"]()
        await served.until("three")
        return served.seen

    assert run(main()) == ["one", "three"]


def test_what_is_given_up_later_is_given_up_where_it_waits() -> None:
    async def main() -> list[str]:
        served = _Served(LargeRequests())
        give_up = served.add("one")
        await served.until("one")
        give_up()
        return served.seen

    assert run(main()) == ["one", "one given up"]


def test_too_many_bytes_are_refused_to_the_address_that_has_most() -> None:
    async def main() -> list[str]:
        served = _Served(LargeRequests(most_waiting_bytes=10))
        served.add("a1", "a", 4)
        served.add("a2", "a", 4)
        served.add("b1", "b", 3)
        return list(served.seen)

    assert run(main()) == ["a2 refused: more than 10 bytes of large requests wait"]


def _answer(call: ClientCall) -> None:
    response = call.request.rejected(Error.NOT_CONTROLLER)  # type: ignore[attr-defined]
    call.respond(ClientAnswer(response=response))


def test_large_requests_of_two_connections_both_come_to_the_node() -> None:
    async def main() -> None:
        node = ScriptedNode()
        async with kafka_door(node) as door, connected(door.port) as client, connected(door.port) as other:
            await client.send(_deletion(2 * AT_ONCE_BYTES))
            await other.send(_deletion(3 * AT_ONCE_BYTES))
            await until(lambda: len(node.calls) == 1, what="the first request at the node")
            await client.send_bytes(request_bytes(18, 4, written(api_versions(4))))
            _answer(node.calls[0])
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
