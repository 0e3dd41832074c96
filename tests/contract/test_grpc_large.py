"""Large requests by gRPC: bounded in elements before they are converted, and one at a time over all listeners."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import grpc
import pytest

from benchmarks import raw_http2
from kraft.v1 import controller_pb2 as pb
from kraft.v1 import controller_pb2_grpc
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.node.process.large_requests import AT_ONCE_BYTES, LargeRequests
from quorum.node.process.turns import TooManyWaitError
from quorum.server.grpc.session import MAX_CALLS_A_MESSAGE, Session
from quorum.server.node import ClientIdentity
from quorum.transport.kafka.reader import MAX_ELEMENTS
from tests.support.grpc_listener import scripted_listener
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

_REFUSED = ClientAnswer(error=Error.NOT_CONTROLLER)


def _create(count: int, name: str = "topic") -> pb.CreateTopicsRequest:
    return pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name=f"{name}-{number}") for number in range(count)])


def _large(name: str) -> pb.CreateTopicsRequest:
    request = _create(4_000, name)
    assert request.ByteSize() > AT_ONCE_BYTES
    return request


class TestElements:
    @pytest.mark.parametrize("kind", ["single call", "session"])
    def test_more_than_the_kafka_listener_reads_are_refused_before_the_node(self, kind: str) -> None:
        async def main() -> int:
            async with scripted_listener(LargeRequests()) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                outcome = await _outcome(stub, _create(MAX_ELEMENTS + 1, "t"), kind)
                assert not node.calls
                return int(outcome.error_code)

        assert run(main()) == Error.INVALID_REQUEST

    @pytest.mark.parametrize("kind", ["single call", "session"])
    def test_one_that_is_refused_for_them_waits_for_its_turn_and_counts(self, kind: str) -> None:
        async def main() -> None:
            large = LargeRequests()
            async with scripted_listener(large) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                first = asyncio.ensure_future(stub.CreateTopics(_large("first")))
                await until(lambda: len(node.calls) == 1, what="the first at the node")
                request = _create(MAX_ELEMENTS + 1, "t")
                refused = asyncio.ensure_future(_outcome(stub, request, kind))
                await until(lambda: large.waiting_bytes >= request.ByteSize(), what="the other to wait")
                assert not refused.done()
                node.calls[0].respond(_REFUSED)
                await first
                assert (await refused).error_code == Error.INVALID_REQUEST
                assert large.served == 2

        run(main())

    @pytest.mark.parametrize("kind", ["single call", "session"])
    def test_what_cannot_be_parsed_waits_for_its_turn_and_counts(self, kind: str) -> None:
        async def main() -> grpc.StatusCode:
            large = LargeRequests()
            async with scripted_listener(large) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                first = asyncio.ensure_future(stub.CreateTopics(_large("first")))
                await until(lambda: len(node.calls) == 1, what="the first at the node")
                topic = b"\x0a\x01\xff" * AT_ONCE_BYTES  # a name that is no text
                request = _length_first(1, topic)
                raw = request if kind == "single call" else _length_first(1, _length_first(10, request))
                path = raw_http2.CREATE_TOPICS if kind == "single call" else raw_http2.SESSION
                refused: Any = channel.stream_stream(path)()
                await refused.write(raw)
                await until(lambda: large.waiting_bytes >= len(request), what="the other to wait")
                assert not refused.done()
                node.calls[0].respond(_REFUSED)
                await first
                code: grpc.StatusCode = await refused.code()
                assert large.served == 2
                return code

        assert run(main()) is grpc.StatusCode.INVALID_ARGUMENT


def _length_first(number: int, raw: bytes) -> bytes:
    size = len(raw)
    return bytes((number << 3 | 2, size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21)) + raw


async def _outcome(stub: Any, request: pb.CreateTopicsRequest, kind: str) -> Any:
    if kind == "single call":
        return (await stub.CreateTopics(request)).outcome
    session = stub.Session(None)
    await session.write(pb.SessionRequest(calls=[pb.Call(request_id=5, create_topics=request)]))
    message = await session.read()
    assert isinstance(message, pb.SessionResponse)
    (answer,) = message.answers
    assert answer.request_id == 5
    return answer.create_topics.outcome


class TestTurns:
    def test_a_second_large_request_waits_and_small_ones_do_not(self) -> None:
        async def main() -> None:
            large = LargeRequests()
            async with scripted_listener(large) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                session = stub.Session(None)
                await session.write(pb.SessionRequest(calls=[pb.Call(request_id=1, create_topics=_large("first"))]))
                await until(lambda: len(node.calls) == 1, what="the first large request at the node")
                single = asyncio.ensure_future(stub.CreateTopics(_large("second")))
                await until(lambda: large.waiting_bytes > 0, what="the second to wait")
                small = [asyncio.ensure_future(stub.CreateTopics(_create(100, f"small-{n}"))) for n in range(20)]
                await until(lambda: len(node.calls) == 21, what="the small ones at the node")
                assert large.served == 1
                node.calls[0].respond(_REFUSED)
                await until(lambda: len(node.calls) == 22, what="the second large request at the node")
                for call in node.calls:
                    call.respond(_REFUSED)
                await asyncio.gather(single, *small)
                assert large.served == 2

        run(main())

    def test_batches_of_a_hundred_topics_are_none_of_them(self) -> None:
        async def main() -> None:
            large = LargeRequests()
            async with scripted_listener(large) as (node, channel):
                session = controller_pb2_grpc.ControllerStub(channel).Session(None)
                name = "a-topic-with-a-name-of-common-length"
                calls = [pb.Call(request_id=n, create_topics=_create(100, name)) for n in range(64)]
                message = pb.SessionRequest(calls=calls)
                assert message.ByteSize() > 4 * AT_ONCE_BYTES
                await session.write(message)
                await until(lambda: len(node.calls) == 64, what="all at the node")
                assert large.served == 0

        run(main())

    def test_too_many_bytes_are_refused_as_throttled(self) -> None:
        async def main() -> list[int]:
            large = LargeRequests(most_waiting_bytes=AT_ONCE_BYTES)
            async with scripted_listener(large) as (node, channel):
                session = controller_pb2_grpc.ControllerStub(channel).Session(None)
                await session.write(pb.SessionRequest(calls=[pb.Call(request_id=1, create_topics=_large("a"))]))
                message = await session.read()
                assert isinstance(message, pb.SessionResponse)
                single = await controller_pb2_grpc.ControllerStub(channel).CreateTopics(_large("b"))
                assert not node.calls
                return [message.answers[0].create_topics.outcome.error_code, single.outcome.error_code]

        assert run(main()) == [Error.THROTTLING_QUOTA_EXCEEDED] * 2

    def test_a_caller_that_is_gone_does_not_hold_the_others_up(self) -> None:
        async def main() -> None:
            large = LargeRequests()
            async with scripted_listener(large) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                first = asyncio.ensure_future(stub.CreateTopics(_large("first")))
                await until(lambda: len(node.calls) == 1, what="the first at the node")
                gone = stub.CreateTopics(_large("gone"))
                await until(lambda: large.waiting_bytes > 0, what="the second to wait")
                gone.cancel()
                await until(lambda: large.waiting_bytes == 0, what="the second dropped")
                node.calls[0].respond(_REFUSED)
                await first
                assert len(node.calls) == 1

        run(main())


class TestWaitingBytes:
    def test_a_message_of_a_session_counts_whole_while_its_calls_wait(self) -> None:
        async def main() -> None:
            large = LargeRequests()
            async with scripted_listener(large) as (node, channel):
                session = controller_pb2_grpc.ControllerStub(channel).Session(None)
                await session.write(pb.SessionRequest(calls=[pb.Call(request_id=0, create_topics=_large("first"))]))
                await until(lambda: len(node.calls) == 1, what="the first at the node")
                calls = [pb.Call(request_id=number, create_topics=_large("t")) for number in range(1, 5)]
                message = pb.SessionRequest(calls=calls)
                await session.write(message)
                await until(lambda: large.waiting_bytes > 0, what="the others to wait")
                assert message.ByteSize() - 8 <= large.waiting_bytes <= message.ByteSize()
                for count in range(1, 5):
                    node.calls[count - 1].respond(_REFUSED)
                    await until(lambda count=count: len(node.calls) == count + 1, what="the next at the node")  # type: ignore[misc]
                assert (large.waiting_bytes, large.served) == (0, 5)

        run(main())

    def test_without_room_all_large_calls_of_a_message_are_refused_and_small_onesscripted_listener(self) -> None:
        async def main() -> None:
            large = LargeRequests(most_waiting_bytes=AT_ONCE_BYTES)
            async with scripted_listener(large) as (node, channel):
                node.at_once = lambda _: _REFUSED
                session = controller_pb2_grpc.ControllerStub(channel).Session(None)
                requests = [_large("a"), _create(1), _large("b"), _large("c")]
                calls = [pb.Call(request_id=n, create_topics=request) for n, request in enumerate(requests)]
                await session.write(pb.SessionRequest(calls=calls))
                answers: dict[int, int] = {}
                while len(answers) < len(calls):
                    message = await session.read()
                    assert isinstance(message, pb.SessionResponse)
                    answers |= {each.request_id: each.create_topics.outcome.error_code for each in message.answers}
                throttled = Error.THROTTLING_QUOTA_EXCEEDED
                assert answers == {0: throttled, 1: Error.NOT_CONTROLLER, 2: throttled, 3: throttled}
                assert large.served == 0

        run(main())

    def test_a_request_that_is_refused_is_dropped_at_once(self) -> None:
        """Without the collection of cycles, which a busy process puts off."""

        async def main() -> None:
            large = LargeRequests(most_waiting_bytes=1)
            seen: list[weakref.ref[Any]] = []

            async def call() -> None:
                raw = LargeRequests()
                seen.append(weakref.ref(raw))
                await large.turn("host", 2)

            with pytest.raises(TooManyWaitError):
                await call()
            assert seen[0]() is None

        gc.disable()
        try:
            run(main())
        finally:
            gc.enable()


class _Context:
    """A Session's context that gives one message, and then nothing."""

    def __init__(self, message: bytes) -> None:
        self.messages = [message]
        self.reads = 0
        self.answers: list[pb.Answer] = []

    async def read(self) -> object:
        self.reads += 1
        return self.messages.pop() if self.messages else await asyncio.Event().wait()

    async def write(self, message: pb.SessionResponse) -> None:
        self.answers += message.answers


class _Raw(bytes):
    """Bytes that say when they are gone."""

    gone = 0

    def __del__(self) -> None:
        _Raw.gone += 1


def test_a_session_without_room_drops_its_message_at_once_and_reads_no_more_for_a_while() -> None:
    async def main() -> None:
        calls = [pb.Call(request_id=number, create_topics=_large("t")) for number in range(3)]
        context = _Context(_Raw(pb.SessionRequest(calls=calls).SerializeToString()))
        node, large, gone = ScriptedNode(), LargeRequests(most_waiting_bytes=1), _Raw.gone
        caller = ClientIdentity(host="127.0.0.2", listener="GRPC", authorizer=None)
        serving = asyncio.ensure_future(Session(context, node, caller, large, throttled_s=3600.0).serve())
        await until(lambda: len(context.answers) == 3, what="all refused")
        assert [each.create_topics.outcome.error_code for each in context.answers] == [
            Error.THROTTLING_QUOTA_EXCEEDED
        ] * 3
        assert _Raw.gone == gone + 1
        assert context.reads == 1
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    gc.disable()
    try:
        run(main())
    finally:
        gc.enable()


def test_a_message_of_very_many_calls_ends_its_session() -> None:
    async def main() -> grpc.StatusCode:
        async with scripted_listener(LargeRequests()) as (node, channel):
            session = channel.stream_stream(raw_http2.SESSION)()
            await session.write(b"\x0a\0" * (2 * MAX_CALLS_A_MESSAGE + 1))
            code: grpc.StatusCode = await session.code()
            assert not node.calls
            return code

    assert run(main()) is grpc.StatusCode.INVALID_ARGUMENT
