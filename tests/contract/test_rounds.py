"""Requests of very many connections at once: a round of the loop reads some of them, then Raft has its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from kraft.v1 import controller_pb2 as pb
from kraft.v1 import controller_pb2_grpc
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.node.process.large_requests import LargeRequests
from quorum.node.process.rounds import SMALL_BYTES, Rounds
from quorum.server.grpc.listen import listen
from quorum.server.kafka.listen import KafkaListener, listen_kafka
from quorum.transport.channel import open_channel
from tests.support.kafka_requests import create_topics, fetch
from tests.support.kafka_wire import GRPC, connected, request_bytes, written
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

_COUNT = 50
_CREATE = request_bytes(19, 7, written(create_topics(7)), client_id="x" * (SMALL_BYTES + 1))


def test_a_round_reads_so_many_bytes_and_the_others_wait_in_order() -> None:
    async def main() -> list[str]:
        loop, rounds, seen = asyncio.get_running_loop(), Rounds(round_bytes=10_000), list[str]()

        def serve(name: str) -> None:
            seen.append(name)
            loop.call_soon(seen.append, "others")

        assert [rounds.admits(5_000), rounds.admits(5_000), rounds.admits(2_000)] == [True, True, False]
        give_up = {name: rounds.add("host", 6_000, partial(serve, name), seen.append) for name in "abcd"}
        assert not rounds.admits(2_000), "those that wait are first"
        assert rounds.admits(SMALL_BYTES), "few bytes do not wait"
        give_up["c"]()
        await until(lambda: seen.count("others") == 3, what="three of four served")
        assert rounds.later == 4
        await until(lambda: rounds.admits(2_000), what="a round for others")
        return seen

    assert run(main()) == ["a", "b", "others", "others", "d", "others"]


def test_addresses_take_turns() -> None:
    async def main() -> list[str]:
        rounds, seen = Rounds(round_bytes=1), list[str]()
        assert rounds.admits(2_000)
        for name in ("a1", "a2", "a3", "b1", "c1"):
            rounds.add(name[0], 2_000, partial(seen.append, name), seen.append)
        await until(lambda: len(seen) == 5, what="all served")
        return seen

    assert run(main()) == ["a1", "b1", "c1", "a2", "a3"]


def test_what_was_served_is_given_up_where_it_waits() -> None:
    async def main() -> None:
        rounds, seen = Rounds(round_bytes=1), list[str]()

        def serve() -> object:
            seen.append("served")
            return lambda: seen.append("given up")

        assert rounds.admits(2_000)
        give_up = rounds.add("host", 1, serve, seen.append)  # type: ignore[arg-type]
        await until(lambda: seen, what="served")
        give_up()
        assert seen == ["served", "given up"]

    run(main())


@asynccontextmanager
async def _kafka_door(node: ScriptedNode, rounds: Rounds) -> AsyncIterator[KafkaListener]:
    at = Endpoint(name="CONTROLLER", host="127.0.0.1", port=0)
    door = await listen_kafka(at, node, 3, GRPC, large=LargeRequests(rounds=rounds))
    try:
        yield door
    finally:
        await door.close()


def test_many_connections_of_kafkas_protocol_wait_for_their_rounds() -> None:
    async def main() -> None:
        node, rounds = ScriptedNode(), Rounds(round_bytes=0)
        async with _kafka_door(node, rounds) as door, AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connected(door.port)) for _ in range(_COUNT)]
            for client in clients:
                client.writer.write(_CREATE)
            await until(lambda: rounds.later == _COUNT, what="all to wait")
            assert not node.calls
            rounds.round_bytes = 1
            await until(lambda: len(node.calls) == _COUNT, what="all at the node")
            assert rounds.later == _COUNT

    run(main())


def test_no_round_makes_requests_among_controllers_wait() -> None:
    async def main() -> None:
        node, rounds = ScriptedNode(), Rounds(round_bytes=0)
        async with (
            _kafka_door(node, rounds) as door,
            connected(door.port) as stranger,
            connected(door.port) as voter,
        ):
            await stranger.send_bytes(_CREATE)
            await until(lambda: rounds.later == 1, what="the stranger's request to wait")
            await voter.send_bytes(request_bytes(1, 17, written(fetch(17))))
            await until(lambda: node.peers, what="the voter's Fetch at the node")
            assert not node.calls

    run(main())


def test_many_sessions_wait_for_their_rounds() -> None:
    async def main() -> None:
        node, rounds = ScriptedNode(), Rounds(round_bytes=0)
        large = LargeRequests(rounds=rounds)
        server, port = await listen(Endpoint(name="GRPC", host="127.0.0.1", port=0), node, large=large)
        create = pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="t" * (SMALL_BYTES + 1))])
        message = pb.SessionRequest(calls=[pb.Call(request_id=1, create_topics=create)])
        async with open_channel(f"127.0.0.1:{port}") as channel:
            stub = controller_pb2_grpc.ControllerStub(channel)
            sessions = [stub.Session(None) for _ in range(_COUNT)]
            await asyncio.gather(*(session.write(message) for session in sessions))
            await until(lambda: rounds.later == _COUNT, what="all sessions to wait")
            single = [asyncio.ensure_future(stub.CreateTopics(create)) for _ in range(_COUNT)]
            await until(lambda: rounds.later == 2 * _COUNT, what="all single calls to wait")
            assert not node.calls
            rounds.round_bytes = 1
            await until(lambda: len(node.calls) == 2 * _COUNT, what="all at the node")
            for call in node.calls:
                call.respond(ClientAnswer(error=Error.NOT_CONTROLLER))
            await asyncio.gather(*single)
        await server.stop(None)

    run(main())
