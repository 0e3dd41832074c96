"""Long answers by gRPC: few are made at a time, and a Session whose answers are not read takes no more calls."""

from __future__ import annotations

import asyncio

import pytest

from kraft.v1 import controller_pb2 as pb
from metadata_log.ids import METADATA_TOPIC_ID
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.api.topics import DescribedTopic, DescribeTopicsResponse
from quorum.node.process.large_requests import LargeRequests
from quorum.node.process.long_answers import LongAnswers
from quorum.server.grpc.controller_service import ControllerService
from quorum.server.grpc.session import MOST_HELD, Session
from quorum.server.node import ClientIdentity
from quorum.transport.grpc.convert.calls import KIND_BY_NAME
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

_CALLER = ClientIdentity(host="127.0.0.2", listener="GRPC", authorizer=None)
_WEIGHT = 1_000


class _Context:
    """A Session's context that gives one message; what it writes is taken while `is_read`."""

    def __init__(self, message: bytes) -> None:
        self.messages = [message]
        self.answers = 0
        self.is_read = asyncio.Event()

    async def read(self) -> object:
        return self.messages.pop() if self.messages else await asyncio.Event().wait()

    async def write(self, message: pb.SessionResponse) -> None:
        await self.is_read.wait()
        self.answers += len(message.answers)


class _Single:
    """A single call's context."""

    def peer(self) -> str:
        return "ipv4:127.0.0.2:4711"

    def time_remaining(self) -> None:
        return None


def _long(_: ClientCall) -> ClientAnswer:
    topic = DescribedTopic(name="t", topic_id=METADATA_TOPIC_ID, error=Error.NONE)
    return ClientAnswer(response=DescribeTopicsResponse(topics=(topic,) * (_WEIGHT - 1)))


def _describes(count: int) -> bytes:
    call = pb.Call(describe_topics=pb.DescribeTopicsRequest(all_topics=True))
    return pb.SessionRequest(calls=[call] * count).SerializeToString()


def test_a_session_that_does_not_read_its_answers_takes_no_more_calls() -> None:
    async def main() -> None:
        count, node, context = 1_000, ScriptedNode(), _Context(_describes(1_000))
        node.at_once = _long
        serving = asyncio.ensure_future(Session(context, node, _CALLER, LargeRequests()).serve())
        await until(lambda: len(node.calls) * _WEIGHT >= MOST_HELD, what="as many answers as are held")
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(node.calls) * _WEIGHT <= MOST_HELD + 2 * _WEIGHT
        context.is_read.set()
        await until(lambda: context.answers == count, what="all answered")
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    run(main())


@pytest.mark.parametrize("kind", ["single calls", "sessions"])
def test_few_long_answers_are_made_at_a_time(kind: str) -> None:
    async def main() -> None:
        node, large = ScriptedNode(), LargeRequests()
        if kind == "sessions":
            contexts = [_Context(_describes(2)) for _ in range(20)]
            asked = [asyncio.ensure_future(Session(each, node, _CALLER, large).serve()) for each in contexts]
        else:
            door, request = ControllerService(node, large), pb.DescribeTopicsRequest(all_topics=True)
            asked = [
                asyncio.ensure_future(door.serve(KIND_BY_NAME["describe_topics"], request, _Single()))
                for _ in range(40)
            ]
        await until(lambda: len(node.calls) == 8, what="the first at the node")
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(node.calls) == 8
        for number in range(40):
            await until(lambda number=number: len(node.calls) > number, what="the next at the node")  # type: ignore[misc]
            node.calls[number].respond(_long(node.calls[number]))
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    run(main())


class TestLongAnswers:
    def test_long_ones_are_expected_after_a_long_one(self) -> None:
        async def main() -> None:
            longs = LongAnswers(most_weight=10_000)
            (await longs.turn("a", "describe"))(9_000)
            first = await longs.turn("a", "describe")
            assert longs.unanswered == 9_000
            second = asyncio.ensure_future(longs.turn("a", "describe"))
            await asyncio.sleep(0)
            assert not second.done()
            first(1)
            (await second)(1)
            assert longs.unanswered == 0

        run(main())

    def test_addresses_take_turns(self) -> None:
        async def main() -> list[str]:
            longs, seen = LongAnswers(most_weight=1), list[str]()
            first = await longs.turn("a", "describe")

            async def ask(name: str) -> None:
                answered = await longs.turn(name[0], "describe")
                seen.append(name)
                answered(1)

            asked = [asyncio.ensure_future(ask(name)) for name in ("a1", "a2", "b1")]
            await asyncio.sleep(0)
            first(1)
            await asyncio.gather(*asked)
            return seen

        assert run(main()) == ["a1", "b1", "a2"]

    def test_who_is_gone_holds_nothing(self) -> None:
        async def main() -> None:
            longs = LongAnswers(most_weight=1)
            first = await longs.turn("a", "describe")
            gone = asyncio.ensure_future(longs.turn("a", "describe"))
            await asyncio.sleep(0)
            first(1)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            assert longs.unanswered == 0

        run(main())
