"""Large requests by gRPC: bounded in elements before they are converted, and one at a time over all listeners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from kraft.v1 import controller_pb2 as pb
from kraft.v1 import controller_pb2_grpc
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.server.grpc.elements import check_elements
from quorum.server.grpc.listen import listen
from quorum.server.large_requests import AT_ONCE_BYTES, LargeRequests
from quorum.transport.channel import open_channel
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.kafka.reader import MAX_ELEMENTS
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

_REFUSED = ClientAnswer(error=Error.NOT_CONTROLLER)


@asynccontextmanager
async def _served(large: LargeRequests) -> AsyncIterator[tuple[ScriptedNode, grpc.aio.Channel]]:
    node = ScriptedNode()
    server, port = await listen(Endpoint(name="GRPC", host="127.0.0.1", port=0), node, large=large)
    try:
        async with open_channel(f"127.0.0.1:{port}") as channel:
            yield node, channel
    finally:
        await server.stop(None)


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
            async with _served(LargeRequests()) as (node, channel):
                stub = controller_pb2_grpc.ControllerStub(channel)
                request = _create(MAX_ELEMENTS + 1, "t")
                outcome: Any
                if kind == "session":
                    session = stub.Session(None)
                    await session.write(pb.SessionRequest(calls=[pb.Call(request_id=5, create_topics=request)]))
                    message = await session.read()
                    assert isinstance(message, pb.SessionResponse)
                    (answer,) = message.answers
                    assert answer.request_id == 5
                    outcome = answer.create_topics.outcome
                else:
                    outcome = (await stub.CreateTopics(request)).outcome
                assert not node.calls
                return int(outcome.error_code)

        assert run(main()) == Error.INVALID_REQUEST

    def test_structs_count_at_every_depth(self) -> None:
        partition = pb.CreatableReplicaAssignment(partition_index=1, broker_ids=range(16))
        request = pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="t", assignments=[partition] * 4)] * 3)
        check_elements(request, 3 + 3 * 4 + 12 * 2)
        with pytest.raises(BadMessage, match="divide it"):
            check_elements(request, 3 + 3 * 4 + 12 * 2 - 1)


class TestTurns:
    def test_a_second_large_request_waits_and_small_ones_do_not(self) -> None:
        async def main() -> None:
            large = LargeRequests()
            async with _served(large) as (node, channel):
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
            async with _served(large) as (node, channel):
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
            async with _served(large) as (node, channel):
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
            async with _served(large) as (node, channel):
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
