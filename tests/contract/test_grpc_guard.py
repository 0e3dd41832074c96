"""The gRPC listener against strangers: voters keep their places, half requests are few, malformed ones end calls."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import pytest

from benchmarks import raw_http2
from kraft.v1 import common_pb2, controller_pb2_grpc, quorum_pb2, quorum_pb2_grpc
from kraft.v1 import controller_pb2 as pb
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.offsets import Offset
from metadata_log.voters import Endpoint
from quorum.api.quorum_description import ReplicaDescription
from quorum.node.config.door_limits import LARGEST_INT32, DoorLimits
from quorum.node.process.grpc_guard import (
    KEPT_FOR_SINGLE_CALLS,
    KEPT_FOR_VOTERS,
    SMALL_BYTES,
    Guard,
    host_of,
)
from quorum.node.process.receiving import MOST_RECEIVED, Receiving
from quorum.node.process.refusals import Refusals
from quorum.node.process.voter_hosts import VoterHosts
from quorum.server.grpc.listen import listen
from quorum.transport.channel import REQUEST_LIMIT_BYTES, open_channel
from tests.support.loop import run, until
from tests.support.quorum_calls import fetch_message
from tests.support.scripted_node import NODE_ID, ScriptedNode

VOTER = "127.0.0.1"
STRANGER = "127.0.0.2"
_MANY_S = 3600.0


class _Served:
    def __init__(
        self, node: ScriptedNode, refusals: Refusals, receiving: Receiving, voters: VoterHosts, port: int
    ) -> None:
        self.voters = voters
        self.node = node
        self.counts = refusals.counts
        self.receiving = receiving
        self.port = port

    def channel(self) -> grpc.aio.Channel:
        return open_channel(f"127.0.0.1:{self.port}")

    def stranger(self) -> socket.socket:
        connection = raw_http2.connect("127.0.0.1", self.port, STRANGER)
        connection.sendall(raw_http2.greeting())
        return connection


@asynccontextmanager
async def _served(
    *,
    voter: str = VOTER,
    streams: int = 1_000,
    slow_s: float = _MANY_S,
    limits: DoorLimits | None = None,
    per_host: int = LARGEST_INT32,
) -> AsyncIterator[_Served]:
    """Serve a node whose only voter has the address `voter`; `streams` of strangers may be open."""
    node, refusals, receiving = ScriptedNode(), Refusals(NODE_ID), Receiving(slow_s=slow_s)
    node.voters = (
        ReplicaDescription(
            replica=ReplicaKey(node_id=NodeId(1), directory_id=ZERO_DIRECTORY_ID),
            log_end_offset=Offset(0),
            last_fetch_timestamp_ms=-1,
            last_caught_up_timestamp_ms=-1,
            endpoints=(Endpoint(name="GRPC", host=voter, port=9094),),
        ),
    )
    voters = VoterHosts.of(node.describe_quorum)
    guard = Guard(
        "GRPC",
        voters,
        refusals,
        most_open=streams + KEPT_FOR_SINGLE_CALLS,
        most_per_host=per_host,
        receiving=receiving,
    )
    server, port = await listen(Endpoint(name="GRPC", host="127.0.0.1", port=0), node, limits, guard=guard)
    try:
        yield _Served(node, refusals, receiving, voters, port)
    finally:
        await server.stop(None)


def _vote() -> quorum_pb2.VoteRequest:
    partition = quorum_pb2.VoteRequest.Partition(replica_id=1, replica_epoch=4)
    topic = quorum_pb2.VoteRequest.Topic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return quorum_pb2.VoteRequest(topics=[topic])


async def _voter_is_served(served: _Served) -> None:
    """Vote and Fetch of a voter come to the node."""
    before = len(served.node.peers)
    async with served.channel() as channel:
        stub = quorum_pb2_grpc.QuorumStub(channel)
        vote = stub.Vote(_vote())
        fetch = stub.Fetch(None)
        await fetch.write(fetch_message(1))
        await until(lambda: len(served.node.peers) == before + 2, what="Vote and Fetch at the node")
        vote.cancel()
        fetch.cancel()
        await until(lambda: len(served.node.peers) == before, what="both dropped")


class TestPlaces:
    def test_sessions_of_strangers_leave_voters_and_single_calls_their_places(self) -> None:
        async def main() -> None:
            async with _served(streams=20) as served:
                strangers = [served.stranger() for _ in range(3)]
                for stranger in strangers:
                    stranger.sendall(b"".join(raw_http2.call(1 + 2 * n, raw_http2.SESSION) for n in range(10)))
                await until(lambda: served.counts["GRPC", "limit"] == 10, what="ten Sessions refused")
                await _voter_is_served(served)
                strangers[0].sendall(raw_http2.call(21, raw_http2.CREATE_TOPICS) + raw_http2.part_of_message(21, 0, 0))
                await until(lambda: len(served.node.calls) == 1, what="a stranger's single call at the node")
                for stranger in strangers:
                    stranger.close()

        run(main())

    def test_voters_have_a_bound_too(self) -> None:
        async def main() -> None:
            async with _served(streams=-KEPT_FOR_SINGLE_CALLS) as served, AsyncExitStack() as stack:
                calls = []
                for _ in range(KEPT_FOR_VOTERS // 64 + 1):
                    channel = await stack.enter_async_context(served.channel())
                    calls += [quorum_pb2_grpc.QuorumStub(channel).Vote(_vote()) for _ in range(64)]
                await until(lambda: served.counts["GRPC", "limit"] == 64, what="those beyond the bound refused")
                await until(lambda: len(served.node.peers) == KEPT_FOR_VOTERS, what="the others at the node")
                for call in calls:
                    call.cancel()

        run(main())

    def test_calls_from_one_address_have_a_bound_unless_it_is_a_voter(self) -> None:
        async def main() -> None:
            async with _served(per_host=2) as served:
                stranger = served.stranger()
                stranger.sendall(b"".join(raw_http2.call(1 + 2 * n, raw_http2.SESSION) for n in range(5)))
                await until(lambda: served.counts["GRPC", "limit"] == 3, what="three Sessions refused")
                async with served.channel() as channel:
                    sessions = [controller_pb2_grpc.ControllerStub(channel).Session(None) for _ in range(5)]
                    for session in sessions:
                        assert await session.initial_metadata() is not None
                assert served.counts["GRPC", "limit"] == 3
                stranger.close()

        run(main())

    def test_a_voter_is_known_by_its_host_name_too(self) -> None:
        async def main() -> None:
            async with _served(voter="localhost", streams=-KEPT_FOR_SINGLE_CALLS) as served:
                assert VOTER not in served.voters
                await until(lambda: VOTER in served.voters, what="its name to be resolved, in the background")
                await _voter_is_served(served)

        run(main())

    def test_connections_have_a_bound(self) -> None:
        async def main() -> None:
            async with _served(limits=DoorLimits(max_connections=9)) as served:
                strangers = [raw_http2.connect("127.0.0.1", served.port) for _ in range(8)]
                loop = asyncio.get_running_loop()
                firsts = await asyncio.gather(*(loop.run_in_executor(None, _first, each) for each in strangers))
                assert firsts.count(b"") == 5, "closed at once"
                for stranger in strangers:
                    stranger.close()

        run(main())


def _first(connection: socket.socket) -> bytes:
    """Return the first byte of the server's settings, or nothing if the server closes."""
    try:
        return connection.recv(1)
    except ConnectionError:
        return b""


class TestReceiving:
    def test_few_requests_of_strangers_are_received_at_a_time(self) -> None:
        async def main() -> None:
            async with _served() as served:
                stranger = served.stranger()
                _send_halves(stranger, 60)
                await until(lambda: served.receiving.waiting == 60 - MOST_RECEIVED, what="the others to wait")
                assert served.receiving.received == MOST_RECEIVED
                await _voter_is_served(served)
                assert not served.node.calls
                stranger.close()
                await until(lambda: served.receiving.received + served.receiving.waiting == 0, what="all gone")

        run(main())

    def test_slow_ones_make_room_for_those_that_wait(self) -> None:
        async def main() -> None:
            async with _served(slow_s=0.02) as served:
                stranger = served.stranger()
                _send_halves(stranger, MOST_RECEIVED)
                await until(lambda: served.receiving.received == MOST_RECEIVED, what="halves of requests")
                stranger.sendall(raw_http2.call(99, raw_http2.CREATE_TOPICS) + raw_http2.part_of_message(99, 0, 0))
                await until(lambda: len(served.node.calls) == 1, what="the whole request at the node")
                assert served.counts == {("GRPC", "slow"): 1}
                stranger.close()

        run(main())

    def test_hundreds_of_one_address_do_not_keep_another_out(self) -> None:
        async def main() -> None:
            async with _served(slow_s=0.05) as served:
                strangers = [served.stranger() for _ in range(3)]
                for stranger in strangers:
                    _send_halves(stranger, 100)
                await until(lambda: served.receiving.waiting > 200, what="the others to wait")
                other = raw_http2.connect("127.0.0.1", served.port, "127.0.0.3")
                other.sendall(raw_http2.greeting())
                before = served.counts["GRPC", "slow"]
                other.sendall(raw_http2.call(1, raw_http2.CREATE_TOPICS) + raw_http2.part_of_message(1, 0, 0))
                await until(lambda: served.node.calls, what="the request of another address at the node")
                assert served.counts["GRPC", "slow"] - before <= 3 * MOST_RECEIVED
                for each in (*strangers, other):
                    each.close()

        run(main())

    def test_a_message_beyond_the_limit_is_refused_by_its_head(self) -> None:
        async def main() -> grpc.StatusCode:
            async with _served() as served, served.channel() as channel:
                large = pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="x" * REQUEST_LIMIT_BYTES)])
                with pytest.raises(grpc.aio.AioRpcError) as raised:
                    await controller_pb2_grpc.ControllerStub(channel).CreateTopics(large)
                assert not served.node.calls
                return raised.value.code()

        assert run(main()) is grpc.StatusCode.RESOURCE_EXHAUSTED

    @pytest.mark.parametrize("kind", ["single", "stream"])
    def test_requests_among_controllers_are_small(self, kind: str) -> None:
        async def main() -> grpc.StatusCode:
            async with _served() as served, served.channel() as channel:
                stub = quorum_pb2_grpc.QuorumStub(channel)
                large = SMALL_BYTES // 16
                call: Any
                if kind == "single":
                    endpoint = common_pb2.Endpoint(name="x" * 16, host="h", port=1)
                    call = stub.AddRaftVoter(quorum_pb2.AddRaftVoterRequest(listeners=[endpoint] * large))
                else:
                    call = stub.Fetch(None)
                    await call.write(quorum_pb2.FetchRequest(cluster_id="x" * 16 * large))
                    await call.done_writing()
                code: grpc.StatusCode = await call.code()
                assert not served.node.peers
                assert served.counts == {("GRPC", "limit"): 1}
                return code

        assert run(main()) is grpc.StatusCode.RESOURCE_EXHAUSTED


def _send_halves(stranger: socket.socket, count: int) -> None:
    for number in range(count):
        stream = 1 + 2 * number
        stranger.sendall(
            raw_http2.call(stream, raw_http2.CREATE_TOPICS) + raw_http2.part_of_message(stream, 1 << 22, 9)
        )


@pytest.mark.parametrize(
    "path",
    [
        raw_http2.SESSION,
        raw_http2.CREATE_TOPICS,
        "/kraft.v1.Quorum/Fetch",
        "/kraft.v1.Quorum/Vote",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ],
)
def test_a_message_that_cannot_be_parsed_ends_its_call_without_a_traceback(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> grpc.StatusCode:
        async with _served() as served, served.channel() as channel:
            call = channel.stream_stream(path)()
            await call.write(b"\xff\xff\xff")
            await call.done_writing()
            code = await call.code()
            assert served.counts == {("GRPC", "malformed"): 1}
            return code

    with caplog.at_level(logging.DEBUG):
        assert run(main()) is grpc.StatusCode.INVALID_ARGUMENT
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


def test_a_call_without_a_request_is_malformed() -> None:
    async def main() -> grpc.StatusCode:
        async with _served() as served, served.channel() as channel:
            call = channel.stream_unary(raw_http2.CREATE_TOPICS)()
            await call.done_writing()
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await call
            return raised.value.code()

    assert run(main()) is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("peer", ["ipv6:%5B::ffff:10.0.0.7%5D:4711", "ipv4:10.0.0.7:4711"])
def test_an_ipv4_address_has_one_form(peer: str) -> None:
    assert host_of(peer) == "10.0.0.7"
