"""The agent's gRPC listener against large requests: they are parsed in turns, and counted before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from kraft.v1 import agent_pb2 as pb
from kraft.v1 import agent_pb2_grpc
from quorum.node.process.grpc_guard import Guard
from quorum.node.process.large_requests import LargeRequests
from quorum.node.process.refusals import Refusals
from quorum.node.process.voter_hosts import VoterHosts
from quorum.transport.channel import open_channel
from tests.support.loop import run, until

_FETCH = "/kraft.v1.Agent/FetchPartitions"


class _Door(agent_pb2_grpc.AgentServicer):
    """Answers once it may."""

    def __init__(self) -> None:
        self.requests: list[pb.FetchPartitionsRequest] = []
        self.may_answer = asyncio.Event()

    async def FetchPartitions(self, request: Any, context: Any) -> pb.FetchPartitionsResponse:
        """See the contract."""
        del context
        self.requests.append(request)
        await self.may_answer.wait()
        return pb.FetchPartitionsResponse()


@asynccontextmanager
async def _served(large: LargeRequests) -> AsyncIterator[tuple[_Door, Refusals, grpc.aio.Channel]]:
    door, refusals = _Door(), Refusals(11)
    server = grpc.aio.server(interceptors=[Guard("GRPC", VoterHosts(tuple), refusals, large=large)])
    agent_pb2_grpc.add_AgentServicer_to_server(door, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with open_channel(f"127.0.0.1:{port}") as channel:
            yield door, refusals, channel
    finally:
        await server.stop(None)


def _read(count: int) -> bytes:
    partitions = [pb.FetchPartitionsRequest.FetchPartition(partition_index=number) for number in range(count)]
    topic = pb.FetchPartitionsRequest.FetchTopic(topic_id=bytes(16), partitions=partitions)
    return pb.FetchPartitionsRequest(broker_id=12, topics=[topic]).SerializeToString()


def test_a_large_read_waits_for_the_one_before_and_a_small_one_does_not() -> None:
    async def main() -> None:
        large = LargeRequests()
        async with _served(large) as (door, _, channel):
            fetch = channel.unary_unary(_FETCH)
            first = asyncio.ensure_future(fetch(_read(10_000)))
            await until(lambda: len(door.requests) == 1, what="the first at the agent")
            second = asyncio.ensure_future(fetch(_read(10_000)))
            await until(lambda: large.waiting_bytes > 0, what="the second to wait")
            small = asyncio.ensure_future(fetch(_read(100)))
            await until(lambda: len(door.requests) == 2, what="the small one at the agent")
            assert len(door.requests[1].topics[0].partitions) == 100
            door.may_answer.set()
            await asyncio.gather(first, second, small)
            assert (large.served, len(door.requests)) == (2, 3)

    run(main())


def test_one_of_very_many_elements_is_refused_in_its_turn() -> None:
    async def main() -> grpc.StatusCode:
        large = LargeRequests()
        async with _served(large) as (door, refusals, channel):
            call: Any = channel.unary_unary(_FETCH)(b"\x1a\0" * (1 << 19))
            code: grpc.StatusCode = await call.code()
            assert not door.requests
            assert (large.served, refusals.counts["GRPC", "limit"]) == (1, 1)
            return code

    assert run(main()) is grpc.StatusCode.INVALID_ARGUMENT
