"""The Quorum service over real gRPC: what is parked, replaced and dropped, and what each call is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from quorum.node.core.peer_failures import FailureKind, PeerFailure, UnreachedPeer
from quorum.transport.channel import open_channel
from quorum.transport.grpc.convert.fetch_snapshot import fetch_snapshot_request_to, fetch_snapshot_response_from
from tests.support.loop import run, until
from tests.support.quorum_calls import fetch, fetch_message, fetched
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

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
                await stream.write(fetch_message(41, offset=5))
                await until(lambda: node.peers, what="the request at the node")
                call = node.peers[1][0]
                assert call.request == fetch(5)
                assert (call.context.client_host, call.context.listener) == ("127.0.0.1", "GRPC")
                node.answer_peer(1, fetched(8))
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
                await stream.write(fetch_message(1))
                await until(lambda: 1 in node.peers, what="the first request at the node")
                _, answer_the_first = node.peers[1]
                await stream.write(fetch_message(2))
                await until(lambda: 2 in node.peers, what="the second request at the node")
                assert node.gone == [1]
                answer_the_first(fetched(100))
                node.answer_peer(2, fetched(8))
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
                await stream.write(fetch_message(1))
                await until(lambda: node.peers, what="the request at the node")
                if how == "cancelled":
                    stream.cancel()
                elif how == "side ended":
                    await stream.done_writing()
                else:
                    await channel.close(None)
                await until(lambda: node.gone == [1], what="the request dropped")
                await channel.close(None)

        run(main())

    def test_streams_do_not_disturb_each_other(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                first, second = stub.Fetch(None), stub.Fetch(None)
                await first.write(fetch_message(1))
                await until(lambda: 1 in node.peers, what="one request")
                await second.write(fetch_message(1))
                await until(lambda: 2 in node.peers, what="two requests")
                second.cancel()
                await until(lambda: node.gone == [2], what="the second dropped")
                node.answer_peer(1, fetched(8))
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
                    await stream.write(fetch_message(correlation))
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

        run(main())

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
                call = stub.FetchOnce(fetch_message(1))
                await until(lambda: node.peers, what="the request at the node")
                call.cancel()
                await until(lambda: node.gone == [1], what="the request dropped")

        run(main())


class TestFetchSnapshot:
    def test_a_piece_is_asked_for_and_answered(self) -> None:
        end = OffsetAndEpoch(offset=Offset(80), epoch=Epoch(3))
        asked = FetchSnapshotRequest(
            replica=ReplicaKey(node_id=NodeId(7), directory_id=ZERO_DIRECTORY_ID),
            current_leader_epoch=Epoch(4),
            snapshot_id=end,
            position=60,
            max_bytes=100,
        )
        answered = FetchSnapshotResponse(
            leader_id=NodeId(NODE_ID), leader_epoch=Epoch(4), snapshot_id=end, size=100, position=60, data=b"x" * 40
        )

        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                message = fetch_snapshot_request_to(asked, cluster_id="scripted", topic_id=METADATA_TOPIC_ID)
                call = asyncio.ensure_future(stub.FetchSnapshot(message))
                await until(lambda: node.peers, what="the request at the node")
                assert node.peers[1][0].request == asked
                assert node.peers[1][0].context.listener == "GRPC"
                node.answer_peer(1, answered)
                assert fetch_snapshot_response_from(await call) == answered

        run(main())

    def test_it_is_dropped_with_its_call_and_nonsense_is_refused(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with _stub(node) as stub:
                bad = await stub.FetchSnapshot(quorum_pb2.FetchSnapshotRequest())
                assert bad.error_code == Error.INVALID_REQUEST
                assert not node.peers
                topic = quorum_pb2.FetchSnapshotRequest.Topic(topic_id=METADATA_TOPIC_ID, partitions=[{}])
                call = stub.FetchSnapshot(quorum_pb2.FetchSnapshotRequest(topics=[topic]))
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

    def test_describe_quorum_names_the_peers_that_do_not_respond(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            failure = PeerFailure(kind=FailureKind.REFUSED, address="c2:9093")
            node.unreached = (UnreachedPeer(peer=NodeId(2), failure=failure), UnreachedPeer(peer=NodeId(3)))
            async with _stub(node) as stub:
                answer = await stub.DescribeQuorum(quorum_pb2.DescribeQuorumRequest())
            assert [(each.node_id, each.address, each.reason) for each in answer.unreached] == [
                (2, "c2:9093", "connection-refused"),
                (3, "", ""),
            ]
            assert answer.unreached[0].what == "2 at c2:9093: connection refused"

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
