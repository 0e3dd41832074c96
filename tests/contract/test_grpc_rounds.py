"""Very many small calls by gRPC: the loop turns between them, and what waits for that is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import grpc
import pytest

from benchmarks import raw_http2
from kraft.v1 import controller_pb2 as pb
from kraft.v1 import controller_pb2_grpc
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.node.process.large_requests import AT_ONCE_BYTES, LargeRequests
from quorum.node.process.raw_messages import MOST_AT_ONCE
from quorum.node.process.rounds import LEAST_COST, ROUND_BYTES, SMALL_BYTES, Rounds
from tests.support.grpc_listener import scripted_listener
from tests.support.loop import run, until

_REFUSED = ClientAnswer(error=Error.NOT_CONTROLLER)
_MOST_A_TURN = 2 * ROUND_BYTES // LEAST_COST
"""Calls, or elements: two shares, of small calls and of others."""


async def _most_in_a_turn(count: Callable[[], int]) -> int:
    """Return the most that was added in one turn of the loop, once cancelled."""
    most = before = 0
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(0)
            most, before = max(most, count() - before), count()
    return most


def _most_calls_and_topics(raw: bytes, count: int) -> tuple[int, int]:
    """Return how many calls and topics came to the node in one turn, at most, of these messages of `count` calls."""

    async def main() -> tuple[int, int]:
        async with scripted_listener(LargeRequests()) as (node, channel):
            topics = 0

            def answer(call: Any) -> ClientAnswer:
                nonlocal topics
                topics += len(getattr(call.request, "topics", ()))
                return _REFUSED

            node.at_once = answer
            ticking = [
                asyncio.ensure_future(_most_in_a_turn(partial(len, node.calls))),
                asyncio.ensure_future(_most_in_a_turn(lambda: topics)),
            ]
            session = channel.stream_stream(raw_http2.SESSION)()
            await session.write(raw)
            await until(lambda: len(node.calls) == count, what="all at the node")
            await asyncio.sleep(0)
            for each in ticking:
                each.cancel()
            calls, most_topics = await asyncio.gather(*ticking)
            return calls, most_topics

    return run(main())


def _calls(request: pb.CreateTopicsRequest | pb.DeleteTopicsRequest, count: int) -> bytes:
    call = pb.Call()
    name = "create_topics" if isinstance(request, pb.CreateTopicsRequest) else "delete_topics"
    getattr(call, name).SetInParent()
    getattr(call, name).MergeFrom(request)
    return pb.SessionRequest(calls=[call] * count).SerializeToString()


def _creates(topics: int, name: str = "") -> pb.CreateTopicsRequest:
    return pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name=name)] * topics)


def test_the_elements_of_one_messages_small_calls_count_together() -> None:
    raw = _calls(_creates(250), 1_000)
    assert len(raw) > 8 * AT_ONCE_BYTES
    _, topics = _most_calls_and_topics(raw, 1_000)
    assert topics <= _MOST_A_TURN + 250


def test_each_call_counts_however_few_bytes_it_has() -> None:
    raw = _calls(pb.DeleteTopicsRequest(), 8_000)
    assert len(raw) <= AT_ONCE_BYTES
    calls, _ = _most_calls_and_topics(raw, 8_000)
    assert calls <= _MOST_A_TURN


def test_calls_of_small_messages_wait_for_their_rounds() -> None:
    async def main() -> None:
        rounds = Rounds(round_bytes=0, small_bytes=10 * LEAST_COST)
        async with scripted_listener(LargeRequests(rounds=rounds)) as (node, channel):
            raw = _calls(pb.DeleteTopicsRequest(), 200)
            assert len(raw) <= SMALL_BYTES
            session = channel.stream_stream(raw_http2.SESSION)()
            await session.write(raw)
            await until(lambda: len(node.calls) == 10, what="as many as a round admits at the node")
            await until(lambda: rounds.waiting_bytes, what="the others to wait")
            rounds.round_bytes = 1
            await until(lambda: len(node.calls) == 200, what="all at the node")

    run(main())


@pytest.mark.parametrize("kind", ["single call", "session"])
def test_few_bytes_of_very_many_elements_take_the_turn_of_a_large_request(kind: str) -> None:
    async def main() -> None:
        large = LargeRequests()
        async with scripted_listener(large) as (node, channel):
            node.at_once = lambda _: _REFUSED
            stub = controller_pb2_grpc.ControllerStub(channel)
            for topics, served in ((MOST_AT_ONCE, 0), (MOST_AT_ONCE + 1, 1)):
                request = _creates(topics)
                assert request.ByteSize() <= AT_ONCE_BYTES
                if kind == "single call":
                    await stub.CreateTopics(request)
                else:
                    session = stub.Session(None)
                    await session.write(pb.SessionRequest(calls=[pb.Call(create_topics=request)]))
                    await session.read()
                assert large.served == served

    run(main())


class TestWaitingBytes:
    def test_the_newest_of_the_address_that_has_most_is_refused(self) -> None:
        async def main() -> list[str]:
            rounds, seen = Rounds(round_bytes=0, most_waiting_bytes=10_000), list[str]()
            for name, size in (("a1", 4_000), ("b1", 3_000), ("a2", 2_000), ("b2", 3_000), ("a3", 5_000)):
                rounds.add(name[0], size, partial(seen.append, name), partial(seen.append))
                assert rounds.waiting_bytes <= 10_000
            return seen

        why = "more than 10000 bytes of requests wait"
        assert run(main()) == [why, why]

    def test_what_is_given_up_holds_nothing(self) -> None:
        async def main() -> None:
            rounds = Rounds(round_bytes=0)
            waiting = asyncio.ensure_future(rounds.turn("host", 2_000, held=9_000))
            await until(lambda: rounds.waiting_bytes == 9_000, what="it to wait")
            waiting.cancel()
            await until(lambda: rounds.waiting_bytes == 0, what="nothing to wait")

        run(main())

    @pytest.mark.parametrize("kind", ["single call", "session"])
    def test_what_waits_is_raw_and_is_refused_beyond_the_bound(self, kind: str) -> None:
        async def main() -> None:
            rounds = Rounds(round_bytes=0, most_waiting_bytes=20_000)
            async with scripted_listener(LargeRequests(rounds=rounds)) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                request = pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="x" * 15_000)])
                message = pb.SessionRequest(calls=[pb.Call(create_topics=request)])
                first: Any = stub.Session(None)
                await first.write(message)
                await until(lambda: rounds.waiting_bytes == message.ByteSize(), what="the first to wait, whole")
                if kind == "single call":
                    outcome = (await stub.CreateTopics(request)).outcome
                    assert outcome.error_code == Error.THROTTLING_QUOTA_EXCEEDED
                else:
                    second: Any = stub.Session(None)
                    await second.write(message)
                    assert await second.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                rounds.round_bytes = 1
                await until(lambda: len(node.calls) == 1, what="the first at the node")

        run(main())

    def test_the_calls_behind_one_that_was_taken_wait_raw(self) -> None:
        """A parsed call takes thirty times its bytes, and would wait without being counted."""

        async def main() -> None:
            rounds = Rounds()
            async with scripted_listener(LargeRequests(rounds=rounds)) as (node, channel):

                def refuse(_: Any) -> ClientAnswer:
                    if len(node.calls) == 1:
                        rounds.round_bytes = 0
                    return _REFUSED

                node.at_once = refuse
                raw = _calls(_creates(MOST_AT_ONCE), 4)
                session = channel.stream_stream(raw_http2.SESSION)()
                await session.write(raw)
                await until(lambda: rounds.waiting_bytes, what="the others to wait")
                assert len(node.calls) == 1
                assert rounds.waiting_bytes > 3 * _creates(MOST_AT_ONCE).ByteSize()
                rounds.round_bytes = 1
                await until(lambda: len(node.calls) == 4, what="all at the node")

        run(main())
