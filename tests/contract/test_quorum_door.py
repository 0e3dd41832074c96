"""The Quorum service and the outgoing network over real gRPC: what is parked, replaced, dropped, who is suspected."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from metadata_log.ids import METADATA_TOPIC_ID, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.controller.requests import RegisterController, RegisterControllerResponse
from quorum.errors import Error
from quorum.node.ports import ClientAnswer, ControllerCall, OutgoingRequest, PeerResponse
from quorum.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.raft.ready import Destination
from quorum.transport.channel import open_channel
from quorum.transport.convert.fetch import fetch_request_to
from quorum.transport.grpc_network import GrpcNetwork
from tests.support.loop import run, until
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

KEY = ReplicaKey(node_id=NodeId(2))


def _fetch(offset: int = 0) -> FetchRequest:
    return FetchRequest(
        replica=KEY,
        current_leader_epoch=Epoch(3),
        fetch_offset=Offset(offset),
        last_fetched_epoch=Epoch(0),
        max_bytes=1 << 20,
        max_wait_ms=500,
    )


def _fetch_message(correlation_id: int, offset: int = 0) -> quorum_pb2.FetchRequest:
    return fetch_request_to(
        _fetch(offset), cluster_id="scripted", topic_id=METADATA_TOPIC_ID, correlation_id=correlation_id
    )


def _fetched(high_watermark: int) -> FetchResponse:
    return FetchResponse(leader_epoch=Epoch(3), leader_id=NodeId(NODE_ID), high_watermark=Offset(high_watermark))


Stub = Any


@asynccontextmanager
async def _stub(node: ScriptedNode) -> AsyncIterator[Stub]:
    async with served(node) as address, open_channel(address) as channel:
        stub: Stub = quorum_pb2_grpc.QuorumStub(channel)
        yield stub


class TestFetch:
    def test_a_request_is_parked_until_the_node_answers(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                stream = stub.Fetch(None)
                await stream.write(_fetch_message(41, offset=5))
                await until(lambda: node.peers, what="the request at the node")
                assert node.peers[1][0].request == _fetch(5)
                node.answer_peer(1, _fetched(8))
                answer: Any = await stream.read()
            assert answer.correlation_id == 41
            assert answer.topics[0].topic_id == METADATA_TOPIC_ID
            assert answer.topics[0].partitions[0].high_watermark == 8

        run(main())

    def test_a_second_request_replaces_the_first(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                stream = stub.Fetch(None)
                await stream.write(_fetch_message(1))
                await until(lambda: 1 in node.peers, what="the first request at the node")
                _, answer_the_first = node.peers[1]
                await stream.write(_fetch_message(2))
                await until(lambda: 2 in node.peers, what="the second request at the node")
                assert node.gone == [1]
                answer_the_first(_fetched(100))
                node.answer_peer(2, _fetched(8))
                answer: Any = await stream.read()
            assert (answer.correlation_id, answer.topics[0].partitions[0].high_watermark) == (2, 8)

        run(main())

    @pytest.mark.parametrize("how", ["cancelled", "connection closed", "side ended"])
    def test_a_stream_that_ends_drops_what_is_parked(self, how: str) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address:
                channel = open_channel(address)
                stream = quorum_pb2_grpc.QuorumStub(channel).Fetch(None)
                await stream.write(_fetch_message(1))
                await until(lambda: node.peers, what="the request at the node")
                if how == "cancelled":
                    stream.cancel()
                elif how == "side ended":
                    await stream.done_writing()
                else:
                    await channel.close(None)
                await until(lambda: node.gone == [1], what="the request dropped", deadline_s=5)
                await channel.close(None)

        run(main())

    def test_streams_do_not_disturb_each_other(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                first, second = stub.Fetch(None), stub.Fetch(None)
                await first.write(_fetch_message(1))
                await until(lambda: 1 in node.peers, what="one request")
                await second.write(_fetch_message(1))
                await until(lambda: 2 in node.peers, what="two requests")
                second.cancel()
                await until(lambda: node.gone == [2], what="the second dropped")
                node.answer_peer(1, _fetched(8))
                answer: Any = await first.read()
                assert answer.correlation_id == 1

        run(main())

    def test_a_replica_that_does_not_read_has_one_answer_kept_for_it(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                stream = stub.Fetch(None)
                large = FetchResponse(leader_epoch=Epoch(3), records=b"x" * (8 << 20))
                for correlation in range(1, 31):
                    await stream.write(_fetch_message(correlation))
                    await until(lambda number=correlation: number in node.peers, what="the request at the node")
                    node.answer_peer(correlation, large)
                await stream.done_writing()
                answers: list[int] = []
                try:
                    while isinstance(answer := await stream.read(), quorum_pb2.FetchResponse):
                        answers.append(answer.correlation_id)
                except grpc.aio.AioRpcError:
                    answers.append(-1)
            assert len(answers) < 10, "it was not buffered: most were replaced by the next"
            assert answers == sorted(answers) or answers[-1] == -1

        run(main(), deadline_s=60)

    def test_a_request_that_cannot_be_understood_is_answered(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                stream = stub.Fetch(None)
                await stream.write(quorum_pb2.FetchRequest(correlation_id=6))
                answer: Any = await stream.read()
                single = await stub.FetchOnce(quorum_pb2.FetchRequest(correlation_id=7))
            assert (answer.correlation_id, answer.error_code) == (6, Error.INVALID_REQUEST)
            assert (single.correlation_id, single.error_code) == (7, Error.INVALID_REQUEST)
            assert not node.peers

        run(main())

    def test_the_single_form_is_dropped_with_its_call(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                call = stub.FetchOnce(_fetch_message(1))
                await until(lambda: node.peers, what="the request at the node")
                call.cancel()
                await until(lambda: node.gone == [1], what="the request dropped")

        run(main())


class TestOtherCalls:
    def test_bad_requests_are_answered_with_kafkas_error(self) -> None:
        async def main() -> None:
            async with _stub(ScriptedNode()) as stub:
                codes = [
                    (await stub.Vote(quorum_pb2.VoteRequest())).error_code,
                    (await stub.BeginQuorumEpoch(quorum_pb2.BeginQuorumEpochRequest())).error_code,
                    (await stub.EndQuorumEpoch(quorum_pb2.EndQuorumEpochRequest())).error_code,
                ]
            assert codes == [Error.INVALID_REQUEST] * 3

        run(main())

    def test_describe_quorum_checks_what_it_is_asked_for(self) -> None:
        async def main() -> None:
            topic = quorum_pb2.DescribeQuorumRequest.Topic
            partition = quorum_pb2.DescribeQuorumRequest.Partition
            async with _stub(ScriptedNode()) as stub:
                asked = [
                    quorum_pb2.DescribeQuorumRequest(),
                    quorum_pb2.DescribeQuorumRequest(
                        topics=[topic(topic_id=METADATA_TOPIC_ID, partitions=[partition()])]
                    ),
                    quorum_pb2.DescribeQuorumRequest(topics=[topic(topic_id=b"\7" * 16, partitions=[partition()])]),
                    quorum_pb2.DescribeQuorumRequest(
                        topics=[topic(topic_id=METADATA_TOPIC_ID, partitions=[partition(partition_index=1)])]
                    ),
                    quorum_pb2.DescribeQuorumRequest(topics=[topic(), topic()]),
                ]
                answers = [await stub.DescribeQuorum(request) for request in asked]
            assert [answer.error_code for answer in answers] == [
                Error.NONE,
                Error.NONE,
                Error.UNKNOWN_TOPIC_ID,
                Error.UNKNOWN_TOPIC_OR_PARTITION,
                Error.INVALID_REQUEST,
            ]
            (partition_answer,) = answers[0].topics[0].partitions
            assert (partition_answer.leader_id, partition_answer.leader_epoch) == (NODE_ID, 3)

        run(main())

    def test_describe_quorum_of_a_follower_says_that_it_is_none(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            node.leader_id = 9
            async with _stub(node) as stub:
                answer = await stub.DescribeQuorum(quorum_pb2.DescribeQuorumRequest())
            assert answer.topics[0].partitions[0].error_code == Error.NOT_LEADER_OR_FOLLOWER
            assert answer.topics[0].partitions[0].leader_id == 9

        run(main())

    def test_health_tells_the_truth(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            status = health_pb2.HealthCheckResponse
            async with served(node) as address, open_channel(address) as channel:
                health = health_pb2_grpc.HealthStub(channel)

                async def check(service: str) -> int:
                    code: int = (await health.Check(health_pb2.HealthCheckRequest(service=service))).status
                    return code

                services = ("", "kraft.v1.Controller", "kraft.v1.Quorum")
                assert [await check(service) for service in services] == [status.SERVING] * 3
                watch = health.Watch(health_pb2.HealthCheckRequest(service=""))
                assert (await watch.read()).status == status.SERVING
                node.leader_id = None
                assert (await watch.read()).status == status.NOT_SERVING
                assert await check("kraft.v1.Controller") == status.NOT_SERVING
                assert await check("kraft.v1.Quorum") == status.SERVING
                node.failure = "the disk is gone"
                assert await check("kraft.v1.Quorum") == status.NOT_SERVING
                with pytest.raises(grpc.aio.AioRpcError) as raised:
                    await check("nobody")
                assert raised.value.code() is grpc.StatusCode.NOT_FOUND

        run(main())

    def test_reflection_lists_the_services(self) -> None:
        async def main() -> None:
            async with served(ScriptedNode()) as address, open_channel(address) as channel:
                stream = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
                await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
                answer = await stream.read()
                stream.cancel()
            names = {service.name for service in answer.list_services_response.service}
            assert {"kraft.v1.Quorum", "kraft.v1.Controller", "grpc.health.v1.Health"} <= names

        run(main())


class Replies:
    """Collects what a network reports."""

    def __init__(self) -> None:
        self.responses: list[tuple[int, int, PeerResponse]] = []
        self.failures: list[tuple[int, int, bool]] = []
        self.answers: list[tuple[int, ClientAnswer | None]] = []
        self.failed_at = 0.0

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """See the port."""
        self.responses.append((destination_id, correlation, response))

    def on_peer_failure(self, destination_id: int, correlation: int, *, disconnected: bool) -> None:
        """See the port."""
        self.failures.append((destination_id, correlation, disconnected))
        self.failed_at = time.monotonic()

    def on_controller_answer(self, correlation: int, answer: ClientAnswer | None) -> None:
        """See the port."""
        self.answers.append((correlation, answer))


@asynccontextmanager
async def _network() -> AsyncIterator[tuple[GrpcNetwork, Replies]]:
    network, replies = GrpcNetwork(), Replies()
    network.attach(replies)
    try:
        yield network, replies
    finally:
        await network.close()


def _destination(address: str, node_id: int = NODE_ID) -> Destination:
    host, _, port = address.rpartition(":")
    return Destination(node_id=node_id, endpoints=(Endpoint(name="GRPC", host=host, port=int(port)),))


def _outgoing(address: str, correlation: int, request: Any, *, timeout_ms: int = 5_000) -> OutgoingRequest:
    return OutgoingRequest(
        destination=_destination(address),
        correlation=correlation,
        cluster_id="scripted",
        topic_id=TopicId(METADATA_TOPIC_ID),
        request=request,
        timeout_ms=timeout_ms,
    )


class TestNetwork:
    def test_each_request_gets_its_answer(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            epoch, leader = Epoch(4), NodeId(NODE_ID)
            exchanges: list[tuple[Any, Any]] = [
                (
                    VoteRequest(
                        candidate=KEY,
                        voter=KEY,
                        candidate_epoch=epoch,
                        last_epoch=epoch,
                        last_epoch_end_offset=Offset(1),
                        pre_vote=True,
                    ),
                    VoteResponse(leader_epoch=epoch, vote_granted=True),
                ),
                (
                    BeginQuorumEpochRequest(leader_id=leader, leader_epoch=epoch, voter=KEY),
                    BeginQuorumEpochResponse(leader_epoch=epoch, leader_id=leader),
                ),
                (
                    EndQuorumEpochRequest(leader_id=leader, leader_epoch=epoch, preferred_candidates=(KEY,)),
                    EndQuorumEpochResponse(leader_epoch=epoch, error=Error.FENCED_LEADER_EPOCH),
                ),
                (_fetch(3), _fetched(3)),
            ]
            async with served(node) as address, _network() as (network, replies):
                for number, (request, response) in enumerate(exchanges, start=1):
                    network.send(_outgoing(address, number, request))
                    await until(lambda key=number: key in node.peers, what="the request at the node")
                    call = node.peers[number][0]
                    assert (call.request, call.cluster_id, call.topic_id) == (request, "scripted", METADATA_TOPIC_ID)
                    node.answer_peer(number, response)
                    await until(lambda count=number: len(replies.responses) == count, what="the answer")
                    assert replies.responses[-1] == (NODE_ID, number, response)
            assert not replies.failures

        run(main())

    def test_a_refused_connection_is_a_disconnect(self) -> None:
        async def main() -> None:
            async with served(ScriptedNode()) as address:
                pass
            async with _network() as (network, replies):
                network.send(_outgoing(address, 1, _fetch()))
                vote = VoteRequest(
                    candidate=KEY,
                    voter=KEY,
                    candidate_epoch=Epoch(1),
                    last_epoch=Epoch(0),
                    last_epoch_end_offset=Offset(0),
                )
                network.send(_outgoing(address, 2, vote))
                await until(lambda: len(replies.failures) == 2, what="two failures", deadline_s=2)
            assert sorted(replies.failures) == [(NODE_ID, 1, True), (NODE_ID, 2, True)]

        run(main())

    def test_a_deadline_is_no_disconnect(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                network.send(_outgoing(address, 1, _fetch(), timeout_ms=100))
                vote = BeginQuorumEpochRequest(leader_id=NodeId(1), leader_epoch=Epoch(1), voter=KEY)
                network.send(_outgoing(address, 2, vote, timeout_ms=100))
                await until(lambda: len(replies.failures) == 2, what="two failures", deadline_s=2)
                assert sorted(replies.failures) == [(NODE_ID, 1, False), (NODE_ID, 2, False)]
                network.send(_outgoing(address, 3, _fetch()))
                await until(lambda: len(node.peers) == 1 and 1 in node.gone, what="the next Fetch, on the same stream")

        run(main())

    def test_an_answer_after_its_deadline_is_not_taken_for_the_next(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                network.send(_outgoing(address, 1, _fetch(), timeout_ms=50))
                await until(lambda: replies.failures and 1 in node.peers, what="the first failed")
                node.answer_peer(1, _fetched(1))
                network.send(_outgoing(address, 2, _fetch()))
                await until(lambda: 2 in node.peers, what="the second at the node")
                node.answer_peer(2, _fetched(2))
                await until(lambda: replies.responses, what="an answer")
            assert replies.responses == [(NODE_ID, 2, _fetched(2))]

        run(main())

    def test_a_second_fetch_fails_the_first_without_suspicion(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                network.send(_outgoing(address, 1, _fetch()))
                await until(lambda: 1 in node.peers, what="the first at the node")
                network.send(_outgoing(address, 2, _fetch(9)))
                await until(lambda: 2 in node.peers, what="the second at the node")
                node.answer_peer(2, _fetched(9))
                await until(lambda: replies.responses, what="the answer")
            assert replies.failures == [(NODE_ID, 1, False)]
            assert replies.responses == [(NODE_ID, 2, _fetched(9))]

        run(main())

    def test_a_peer_without_a_grpc_listener_fails(self) -> None:
        async def main() -> None:
            kafka_only = Destination(node_id=4, endpoints=(Endpoint(name="CONTROLLER", host="h", port=1),))
            async with _network() as (network, replies):
                network.send(
                    OutgoingRequest(
                        destination=kafka_only,
                        correlation=1,
                        cluster_id="c",
                        topic_id=METADATA_TOPIC_ID,
                        request=_fetch(),
                        timeout_ms=1,
                    )
                )
                network.send_to_controller(
                    ControllerCall(destination=kafka_only, correlation=2, request=_registration(), timeout_ms=1)
                )
                assert not replies.failures, "never within the call"
                await until(lambda: replies.failures and replies.answers, what="both failures")
            assert replies.failures == [(4, 1, False)]
            assert replies.answers == [(2, None)]

        run(main())

    def test_a_controllers_own_request_is_answered(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            answer = ClientAnswer(response=RegisterControllerResponse(), image_offset=Offset(5), image_epoch=Epoch(1))
            node.at_once = lambda call: answer
            async with served(node) as address:
                async with _network() as (network, replies):
                    network.send_to_controller(
                        ControllerCall(
                            destination=_destination(address), correlation=8, request=_registration(), timeout_ms=2_000
                        )
                    )
                    await until(lambda: replies.answers, what="the answer")
                assert replies.answers == [(8, answer)]
            async with _network() as (network, replies):
                network.send_to_controller(
                    ControllerCall(
                        destination=_destination(address), correlation=9, request=_registration(), timeout_ms=2_000
                    )
                )
                await until(lambda: replies.answers, what="that there is none")
            assert replies.answers == [(9, None)]

        run(main())


def _registration() -> RegisterController:
    return RegisterController(controller_id=1, incarnation_id=bytes(16), listeners=(), features=())  # type: ignore[arg-type]


_ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{_ROOT}:{_ROOT / 'proto'}"}
_SERVER = (
    sys.executable,
    "-c",
    """
import asyncio, uvloop
from tests.support.loop import until
from tests.support.scripted_node import ScriptedNode, served
async def main():
    node = ScriptedNode()
    async with served(node) as address:
        print(address, flush=True)
        await until(lambda: node.peers, what="a Fetch", deadline_s=20)
        print("parked", flush=True)
        await asyncio.Event().wait()
uvloop.run(main())
""",
)


class TestKilledPeer:
    def test_the_death_of_a_process_is_told_within_milliseconds(self) -> None:
        async def main() -> None:
            process = await asyncio.create_subprocess_exec(
                *_SERVER, stdout=asyncio.subprocess.PIPE, limit=1 << 16, cwd=_ROOT, env=_ENVIRONMENT
            )
            assert process.stdout is not None
            address = (await process.stdout.readline()).decode().strip()
            async with _network() as (network, replies):
                network.send(_outgoing(address, 1, _fetch()))
                assert (await process.stdout.readline()).strip() == b"parked"
                killed_at = time.monotonic()
                process.kill()
                await until(lambda: replies.failures, what="the failure", deadline_s=2)
            await process.wait()
            assert replies.failures == [(NODE_ID, 1, True)]
            assert replies.failed_at - killed_at < 0.25

        run(main())
