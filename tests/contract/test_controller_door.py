"""The Controller service over real gRPC: Sessions, single calls, their bounds and their refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import msgspec
import pytest

from kraft.v1 import access_pb2, controller_pb2_grpc, quorum_pb2, quorum_pb2_grpc
from kraft.v1 import controller_pb2 as pb
from metadata_log.ids import ZERO_TOPIC_ID
from metadata_log.image import AclEntry
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.acls import AclDeletionResult, DeleteAclsResponse
from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.api.topics import (
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DescribedPartition,
    DescribedTopic,
    DescribeTopicsResponse,
)
from quorum.server.grpc import session as session_door
from quorum.transport.channel import open_channel
from quorum.transport.grpc.convert.calls import KIND_BY_NAME, KINDS
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode, served

ENTRY = AclEntry(
    resource_type=2,
    resource_name="orders",
    pattern_type=3,
    principal="User:alice",
    host="*",
    operation=3,
    permission_type=3,
)


def _created(call: ClientCall) -> ClientAnswer:
    assert isinstance(call.request, CreateTopics)
    results = tuple(
        CreatableTopicResult(name=topic.name, error=Error.NONE, topic_id=ZERO_TOPIC_ID) for topic in call.request.topics
    )
    return ClientAnswer(response=CreateTopicsResponse(topics=results), image_offset=Offset(9), image_epoch=Epoch(2))


def _create(request_id: int, name: str = "t") -> pb.Call:
    return pb.Call(request_id=request_id, create_topics=pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name=name)]))


Session = grpc.aio.StreamStreamCall[pb.SessionRequest, pb.SessionResponse]


@asynccontextmanager
async def _session(node: ScriptedNode) -> AsyncIterator[Session]:
    async with served(node) as address:
        channel = open_channel(address)
        try:
            yield controller_pb2_grpc.ControllerStub(channel).Session(None)
        finally:
            await channel.close(None)


async def _answers(session: Session, count: int) -> list[pb.Answer]:
    found: list[pb.Answer] = []
    while len(found) < count:
        message = await session.read()
        assert isinstance(message, pb.SessionResponse)
        found.extend(message.answers)
    assert len(found) == count
    return found


class TestSession:
    def test_answers_come_in_the_order_in_which_they_are_made(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _session(node) as session:
                await session.write(pb.SessionRequest(calls=[_create(1, "a"), _create(2, "b")]))
                await session.write(pb.SessionRequest(calls=[_create(3, "c")]))
                await until(lambda: len(node.calls) == 3, what="three calls at the node")
                for index in (2, 0, 1):
                    node.calls[index].respond(_created(node.calls[index]))
                answers = await _answers(session, 3)
            assert [answer.request_id for answer in answers] == [3, 1, 2]
            assert [answer.create_topics.topics[0].name for answer in answers] == ["c", "a", "b"]
            assert {answer.create_topics.outcome.image_offset for answer in answers} == {9}

        run(main())

    def test_answers_made_in_one_turn_share_a_message(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _session(node) as session:
                await session.write(pb.SessionRequest(calls=[_create(number) for number in range(100)]))
                await until(lambda: len(node.calls) == 100, what="all calls at the node")
                for call in node.calls:
                    call.respond(_created(call))
                message = await session.read()
                assert isinstance(message, pb.SessionResponse)
                assert [answer.request_id for answer in message.answers] == list(range(100))

        run(main())

    @pytest.mark.parametrize("becomes_true", [True, False])
    def test_a_large_answer_is_put_together_while_its_commit_is_awaited(
        self, becomes_true: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[object] = []
        kind = KIND_BY_NAME["create_topics"]

        def response_to(response: object) -> object:
            made.append(response)
            return kind.response_to(response)

        noted = msgspec.structs.replace(kind, response_to=response_to)
        monkeypatch.setattr(session_door, "kind_in", lambda call: noted)
        names = [f"t{number}" for number in range(100)]

        async def main() -> pb.Answer:
            node = ScriptedNode()
            async with _session(node) as session:
                topics = [pb.CreatableTopic(name=name) for name in names]
                await session.write(
                    pb.SessionRequest(calls=[pb.Call(request_id=7, create_topics={"topics": topics}), _create(8)])
                )
                await until(lambda: len(node.calls) == 2, what="the calls at the node")
                large, small = node.calls
                assert large.prepare is not None
                assert small.prepare is not None
                expected = _created(large)
                large.prepare(expected.response)
                small.prepare(_created(small).response)
                assert not made
                await until(lambda: bool(made), what="the message of the large one")
                lost = ClientAnswer(error=Error.REQUEST_TIMED_OUT, message="not seen committed")
                large.respond(expected if becomes_true else lost)
                (answer,) = await _answers(session, 1)
            assert made == [expected.response]
            return answer

        answer = run(main())
        assert answer.request_id == 7
        outcome, told = answer.create_topics.outcome, [topic.name for topic in answer.create_topics.topics]
        if becomes_true:
            assert (outcome.error_code, outcome.image_offset, told) == (Error.NONE, 9, names)
        else:
            assert (outcome.error_code, told) == (Error.REQUEST_TIMED_OUT, [])

    def test_the_context_tells_who_asks_where_and_until_when(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _session(node) as session:
                before = node.now_ms()
                call = _create(1)
                call.timeout_ms = 5_000
                await session.write(pb.SessionRequest(calls=[call, _create(2)]))
                await until(lambda: len(node.calls) == 2, what="two calls at the node")
                contexts = [call.context for call in node.calls]
            assert [context.client_host for context in contexts] == ["127.0.0.1"] * 2
            assert [context.listener for context in contexts] == ["GRPC"] * 2
            deadlines = [context.deadline_ms for context in contexts]
            assert deadlines[0] is not None
            assert deadlines[1] is not None
            assert 5_000 <= deadlines[0] - before < 10_000
            assert 60_000 <= deadlines[1] - before < 65_000

        run(main())

    def test_a_refusal_names_the_leader(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = lambda call: ClientAnswer(
                error=Error.NOT_CONTROLLER,
                message="not here",
                leader_id=2,
                leader_epoch=Epoch(5),
                leader_endpoints=(Endpoint(name="GRPC", host="c2", port=9094),),
            )
            async with _session(node) as session:
                await session.write(pb.SessionRequest(calls=[_create(1)]))
                (answer,) = await _answers(session, 1)
            outcome = answer.create_topics.outcome
            assert (outcome.error_code, outcome.error_message) == (Error.NOT_CONTROLLER, "not here")
            assert (outcome.leader_id, outcome.leader_epoch) == (2, 5)
            assert [(at.host, at.port) for at in outcome.leader_endpoints] == [("c2", 9094)]

        run(main())

    def test_what_cannot_be_understood_is_answered_and_the_rest_is_served(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = _created
            bad_id = pb.DeleteTopicState(topic_id=b"short")
            async with _session(node) as session:
                await session.write(
                    pb.SessionRequest(
                        calls=[
                            pb.Call(request_id=1),
                            pb.Call(request_id=2, delete_topics=pb.DeleteTopicsRequest(topics=[bad_id])),
                            _create(3),
                        ]
                    )
                )
                answers = await _answers(session, 3)
            assert [answer.request_id for answer in answers] == [1, 2, 3]
            assert answers[0].unknown.error_code == Error.UNSUPPORTED_VERSION
            assert answers[1].delete_topics.outcome.error_code == Error.INVALID_REQUEST
            assert "5 bytes" in answers[1].delete_topics.outcome.error_message
            assert answers[2].create_topics.outcome.error_code == Error.NONE

        run(main())

    def test_nothing_more_is_read_while_too_many_calls_wait(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            bound = session_door.MAX_IN_FLIGHT
            async with _session(node) as session:
                await session.write(pb.SessionRequest(calls=[_create(number) for number in range(bound)]))
                await session.write(pb.SessionRequest(calls=[_create(bound)]))
                await until(lambda: len(node.calls) >= bound, what="as many calls as may wait")
                node.calls[0].respond(_created(node.calls[0]))
                await _answers(session, 1)
                await until(lambda: len(node.calls) == bound + 1, what="the next call, when there is room")

        run(main())

    def test_calls_beyond_the_bound_of_a_message_are_refused(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = _created
            bound = session_door.MAX_CALLS_A_MESSAGE
            async with _session(node) as session:
                await session.write(pb.SessionRequest(calls=[_create(number) for number in range(bound + 2)]))
                answers = await _answers(session, bound + 2)
            refused = [a.request_id for a in answers if a.create_topics.outcome.error_code]
            assert refused == [bound, bound + 1]
            assert {a.create_topics.outcome.error_code for a in answers[-2:]} == {Error.THROTTLING_QUOTA_EXCEEDED}
            assert len(node.calls) == bound

        run(main())

    def test_a_client_that_does_not_read_is_not_read_for_ever(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = lambda call: ClientAnswer(
                response=CreateTopicsResponse(error=Error.INVALID_REQUEST, error_message="x" * 100_000)
            )
            async with served(node) as address, open_channel(address) as channel, open_channel(address) as other:
                session = controller_pb2_grpc.ControllerStub(channel).Session(None)
                writing = asyncio.create_task(_write_many(session))
                await _until_no_call_comes(node, quorum_pb2_grpc.QuorumStub(other))
                assert len(node.calls) < 40_000
                assert not writing.done()
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)

        run(main())

    def test_calls_of_a_client_that_is_gone_are_answered_into_the_void(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address:
                channel = open_channel(address)
                session = controller_pb2_grpc.ControllerStub(channel).Session(None)
                await session.write(pb.SessionRequest(calls=[_create(1)]))
                await until(lambda: node.calls, what="the call at the node")
                await channel.close(None)
                await until(lambda: not _tasks("session-"), what="the session's tasks ended")
                node.calls[0].respond(_created(node.calls[0]))
            assert not _tasks("session-")

        run(main())

    def test_the_client_may_end_its_side_and_still_gets_its_answers(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _session(node) as session:
                await session.write(pb.SessionRequest(calls=[_create(1)]))
                await session.done_writing()
                await until(lambda: node.calls, what="the call at the node")
                node.calls[0].respond(_created(node.calls[0]))
                assert [answer.request_id for answer in await _answers(session, 1)] == [1]
                assert await session.read() is grpc.aio.EOF
                assert await session.code() is grpc.StatusCode.OK

        run(main())

    def test_a_large_answer_comes_in_parts(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = lambda call: ClientAnswer(response=_many_topics(25_000))
            async with _session(node) as session:
                ask = pb.Call(request_id=4, describe_topics=pb.DescribeTopicsRequest(all_topics=True))
                await session.write(pb.SessionRequest(calls=[ask]))
                parts: list[pb.Answer] = []
                while not parts or parts[-1].has_more:
                    parts.extend(await _answers(session, 1))
            assert len(parts) > 2
            assert {part.request_id for part in parts} == {4}
            assert [t.name for part in parts for t in part.describe_topics.topics] == [f"t{n}" for n in range(25_000)]

        run(main())


async def _write_many(session: Session) -> None:
    for number in range(0, 1_000_000, 10):
        await session.write(pb.SessionRequest(calls=[_create(number + offset) for offset in range(10)]))


async def _until_no_call_comes(node: ScriptedNode, other: quorum_pb2_grpc.QuorumStub) -> None:
    """Until the server has answered another client many times in a row without taking a call from this one."""
    answered, seen = 0, -1
    while answered < 300:
        await other.DescribeQuorum(quorum_pb2.DescribeQuorumRequest())
        answered = answered + 1 if len(node.calls) == seen else 0
        seen = len(node.calls)


def _many_topics(count: int) -> DescribeTopicsResponse:
    partition = DescribedPartition(
        partition_index=0,
        leader_id=1,
        leader_epoch=0,
        partition_epoch=0,
        replicas=(1,),
        isr=(1,),
        eligible_leader_replicas=(),
        last_known_elr=(),
        offline_replicas=(),
    )
    return DescribeTopicsResponse(
        topics=tuple(
            DescribedTopic(error=Error.NONE, name=f"t{number}", topic_id=ZERO_TOPIC_ID, partitions=(partition,))
            for number in range(count)
        )
    )


def _tasks(prefix: str) -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(prefix) and not task.done()]


class TestSingleCalls:
    def test_a_call_is_answered(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = _created
            async with served(node) as address, open_channel(address) as channel:
                stub = controller_pb2_grpc.ControllerStub(channel)
                answer = await stub.CreateTopics(
                    pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="t")]), timeout=5
                )
            assert [topic.name for topic in answer.topics] == ["t"]
            deadline = node.calls[0].context.deadline_ms
            assert deadline is not None
            assert deadline - node.now_ms() <= 5_500

        run(main())

    def test_every_kind_of_request_has_its_method(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = lambda call: ClientAnswer(error=Error.NOT_CONTROLLER)
            async with served(node) as address, open_channel(address) as channel:
                stub = controller_pb2_grpc.ControllerStub(channel)
                answers = []
                for kind in KINDS:
                    message = type(getattr(pb.Call(), kind.name))
                    fields = (
                        {"incarnation_id": bytes(16)} if "incarnation_id" in message.DESCRIPTOR.fields_by_name else {}
                    )
                    answers.append(await getattr(stub, kind.request.__name__)(message(**fields)))
            assert {answer.outcome.error_code for answer in answers} == {Error.NOT_CONTROLLER}
            assert [type(call.request) for call in node.calls] == [kind.request for kind in KINDS]

        run(main())

    def test_a_bad_request_is_answered_with_kafkas_error(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, open_channel(address) as channel:
                stub = controller_pb2_grpc.ControllerStub(channel)
                answer = await stub.RegisterBroker(pb.RegisterBrokerRequest(incarnation_id=b"x"))
            assert answer.outcome.error_code == Error.INVALID_REQUEST
            assert not node.calls

        run(main())

    def test_an_answer_that_fits_no_message_is_refused(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = lambda call: ClientAnswer(response=_many_topics(50_000))
            async with served(node) as address, open_channel(address) as channel:
                stub = controller_pb2_grpc.ControllerStub(channel)
                answer = await stub.DescribeTopics(pb.DescribeTopicsRequest(all_topics=True))
            assert answer.outcome.error_code == Error.MESSAGE_TOO_LARGE
            assert "ask for less, or on a Session" in answer.outcome.error_message

        run(main())

    def test_an_answer_that_fits_no_message_says_that_it_was_done(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.at_once = lambda call: ClientAnswer(
                response=DeleteAclsResponse(results=(AclDeletionResult(matching=(ENTRY,) * 50_000),))
            )
            async with served(node) as address, open_channel(address) as channel:
                stub = controller_pb2_grpc.ControllerStub(channel)
                answer = await stub.DeleteAcls(access_pb2.DeleteAclsRequest())
            assert answer.outcome.error_code == Error.MESSAGE_TOO_LARGE
            assert "delete_acls was done" in answer.outcome.error_message

        run(main())

    def test_a_message_above_the_limit_is_refused_by_the_connection(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address:
                channel = grpc.aio.insecure_channel(address, options=[("grpc.max_send_message_length", -1)])
                stub = controller_pb2_grpc.ControllerStub(channel)
                huge = pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="x" * (9 * 1024 * 1024 + 1))])
                with pytest.raises(grpc.aio.AioRpcError) as raised:
                    await stub.CreateTopics(huge)
                await channel.close(None)
            assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert not node.calls

        run(main())
