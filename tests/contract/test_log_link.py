"""The connection over which one controller of ours fetches the log from another: what goes over it, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from metadata_log.ids import METADATA_TOPIC_ID
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.errors import Error
from quorum.raft.messages import FetchResponse
from quorum.raft.ready import Destination
from quorum.server.kafka.listen import KafkaDoor
from quorum.transport.channel import MESSAGE_LIMIT_BYTES
from quorum.transport.kafka.log_fetch_frames import request_frame
from quorum.transport.network import PeerNetwork
from tests.support.kafka_peers import any_peer, outgoing_to
from tests.support.kafka_requests import fetch as kafka_fetch
from tests.support.kafka_wire import connected, kafka_door, request_bytes, written
from tests.support.loop import run, until
from tests.support.network_replies import Replies
from tests.support.quorum_calls import fetch
from tests.support.quorum_calls import fetched as fetched_from
from tests.support.scripted_node import NODE_ID, ScriptedNode, served

AT = (Endpoint(name="CONTROLLER", host="c7.example", port=9093),)


def fetched(high_watermark: int) -> FetchResponse:
    return msgspec.structs.replace(fetched_from(high_watermark), leader_endpoints=AT)


class _Peer:
    """A network and the node behind both doors that it asks."""

    def __init__(self, node: ScriptedNode, network: PeerNetwork, replies: Replies, places: tuple[int, int]) -> None:
        self.node = node
        self.network = network
        self.replies = replies
        self._places = places
        self._correlation = 0

    def ask(self, offset: int = 3, *, timeout_ms: int = 20_000) -> int:
        """Send a Fetch; its correlation."""
        self._correlation += 1
        controller, grpc = self._places
        endpoints = (
            Endpoint(name="CONTROLLER", host="127.0.0.1", port=controller),
            Endpoint(name="GRPC", host="127.0.0.1", port=grpc),
        )
        outgoing = outgoing_to(grpc, self._correlation, fetch(offset), timeout_ms=timeout_ms)
        destination = Destination(node_id=NODE_ID, endpoints=endpoints)
        self.network.send(msgspec.structs.replace(outgoing, destination=destination, topic_id=METADATA_TOPIC_ID))
        return self._correlation

    async def asked(self) -> tuple[int, str]:
        """The request at the node: its id and the listener that it came to."""
        await until(lambda: self.node.peers, what="the request at the node")
        request_id = max(self.node.peers)
        return request_id, self.node.peers[request_id][0].context.listener

    async def told(self, correlation: int) -> FetchResponse:
        """The answer that came."""
        await until(lambda: any(each[1] == correlation for each in self.replies.responses), what="the answer")
        (response,) = (each[2] for each in self.replies.responses if each[1] == correlation)
        assert isinstance(response, FetchResponse)
        return response

    async def round(self, answer: FetchResponse | None = None) -> tuple[str, FetchResponse]:
        """One Fetch and its answer: where it came in, and what was told."""
        correlation = self.ask()
        request_id, listener = await self.asked()
        self.node.answer_peer(request_id, answer or fetched(3))
        return listener, await self.told(correlation)

    async def until_linked(self) -> None:
        """Fetches go on until one comes by the connection of its own."""
        async with asyncio.timeout(20):
            while (await self.round())[0] != "CONTROLLER":  # noqa: ASYNC110  (what is waited for is asked)
                await asyncio.sleep(0.01)


@asynccontextmanager
async def _network() -> AsyncIterator[tuple[PeerNetwork, Replies]]:
    network, replies = PeerNetwork(links_logs=True), Replies()
    network.attach(replies)
    try:
        yield network, replies
    finally:
        await network.close()


@asynccontextmanager
async def _peer() -> AsyncIterator[tuple[_Peer, KafkaDoor]]:
    node = ScriptedNode()
    async with served(node) as address, kafka_door(node) as door, _network() as (network, replies):
        yield _Peer(node, network, replies, (door.port, int(address.rpartition(":")[2]))), door


class TestWhatGoesOverIt:
    def test_the_first_fetch_goes_by_grpc_and_then_they_have_a_connection_of_their_own(self) -> None:
        async def main() -> None:
            async with _peer() as (peer, door):
                assert (await peer.round())[0] == "GRPC"
                await peer.until_linked()
                records = bytes(range(256)) * 4000
                answer = msgspec.structs.replace(fetched(9), records=records)
                listener, told = await peer.round(answer)
                assert (listener, told) == ("CONTROLLER", msgspec.structs.replace(answer, leader_endpoints=()))
                assert door.connections == 1
                assert not peer.replies.failures

        run(main())

    @pytest.mark.parametrize(
        "answer",
        [
            msgspec.structs.replace(fetched(9), error=Error.NOT_LEADER_OR_FOLLOWER),
            msgspec.structs.replace(fetched(9), diverging=OffsetAndEpoch(offset=Offset(1), epoch=3)),  # type: ignore[arg-type]
            msgspec.structs.replace(fetched(9), snapshot_id=OffsetAndEpoch(offset=Offset(1), epoch=3)),  # type: ignore[arg-type]
        ],
    )
    def test_what_is_more_than_records_is_asked_again_by_grpc(self, answer: FetchResponse) -> None:
        async def main() -> None:
            async with _peer() as (peer, _):
                await peer.until_linked()
                correlation = peer.ask()
                for expected in ("CONTROLLER", "GRPC"):
                    request_id, listener = await peer.asked()
                    assert listener == expected
                    peer.node.answer_peer(request_id, answer)
                assert await peer.told(correlation) == answer
                await peer.until_linked()

        run(main())

    def test_without_being_asked_to_nobody_makes_one(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, kafka_door(node) as door:
                network, replies = PeerNetwork(), Replies()
                network.attach(replies)
                peer = _Peer(node, network, replies, (door.port, int(address.rpartition(":")[2])))
                for _ in range(5):
                    assert (await peer.round())[0] == "GRPC"
                assert door.connections == 0
                await network.close()

        run(main())

    def test_a_second_fetch_replaces_the_first(self) -> None:
        async def main() -> None:
            async with _peer() as (peer, _):
                await peer.until_linked()
                first = peer.ask(3)
                first_id, _ = await peer.asked()
                second = peer.ask(4)
                await until(lambda: peer.node.gone == [first_id], what="the first to be dropped")
                assert peer.replies.failures == [(NODE_ID, first, False)]
                request_id, listener = await peer.asked()
                assert (listener, peer.node.peers[request_id][0].request.fetch_offset) == ("CONTROLLER", 4)  # type: ignore[union-attr]
                peer.node.answer_peer(request_id, fetched(4))
                assert (await peer.told(second)).high_watermark == 4

        run(main())


class TestItsEnd:
    def test_one_that_breaks_says_that_the_process_is_gone(self) -> None:
        async def main() -> None:
            async with _peer() as (peer, door):
                await peer.until_linked()
                correlation = peer.ask()
                request_id, _ = await peer.asked()
                await door.close()
                await until(lambda: peer.replies.failures, what="the failure")
                assert peer.replies.failures == [(NODE_ID, correlation, True)]
                await until(lambda: peer.node.gone == [request_id], what="the request to be dropped")
                assert (await peer.round())[0] == "GRPC"

        run(main())

    def test_silence_is_no_sign_of_death_and_ends_it(self) -> None:
        async def main() -> None:
            async with _peer() as (peer, door):
                await peer.until_linked()
                correlation = peer.ask(timeout_ms=50)
                request_id, _ = await peer.asked()
                await until(lambda: peer.replies.failures, what="the failure")
                assert peer.replies.failures == [(NODE_ID, correlation, False)]
                await until(lambda: peer.node.gone == [request_id], what="the request to be dropped")
                assert (await peer.round())[0] == "GRPC"
                await until(lambda: door.connections == 0, what="the connection to be closed")

        run(main())

    @pytest.mark.parametrize("said", [None, b"\0\0\0\1x", b"\xff\xff\xff\xff"])
    def test_who_does_not_understand_it_is_asked_by_grpc_and_not_held_for_dead(self, said: bytes | None) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with (
                served(node) as address,
                any_peer(lambda frame, number: said) as port,
                _network() as (network, replies),
            ):
                peer = _Peer(node, network, replies, (port, int(address.rpartition(":")[2])))
                async with asyncio.timeout(20):
                    while not replies.failures:
                        correlation = peer.ask()
                        await until(lambda: node.peers or replies.failures, what="an end")
                        if node.peers:
                            node.answer_peer(max(node.peers), fetched(3))
                            await peer.told(correlation)
                assert replies.failures == [(NODE_ID, correlation, False)]
                for _ in range(3):
                    assert (await peer.round())[0] == "GRPC"

        run(main())

    def test_nobody_at_the_other_listener_changes_nothing(self) -> None:
        async def main() -> None:
            async with kafka_door(ScriptedNode()) as door:
                closed = door.port
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                peer = _Peer(node, network, replies, (closed, int(address.rpartition(":")[2])))
                for _ in range(5):
                    assert (await peer.round())[0] == "GRPC"
                assert not replies.failures

        run(main())


def _bytes(correlation_id: int = 1, offset: int = 3) -> bytes:
    return request_frame(
        fetch(offset), cluster_id="scripted", topic_id=METADATA_TOPIC_ID, correlation_id=correlation_id
    )


class TestAtTheDoor:
    def test_in_any_pieces_it_is_answered(self) -> None:
        """One that does not come whole at first is served as any broker's."""

        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, connected(door.port) as client:
                for offset in (3, 4):
                    for byte in _bytes(offset, offset):
                        await client.send_bytes(bytes((byte,)))
                    await until(lambda: node.peers, what="the request at the node")
                    request_id = max(node.peers)
                    assert node.peers[request_id][0].request.fetch_offset == offset  # type: ignore[union-attr]
                    node.answer_peer(request_id, fetched(offset))
                    assert int.from_bytes((await client.frame())[:4], "big") == offset

        run(main())

    def test_who_asks_for_something_else_there_is_closed(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, connected(door.port) as client:
                await client.send_bytes(_bytes())
                await until(lambda: node.peers, what="the request at the node")
                await client.send_bytes(request_bytes(1, 18, written(kafka_fetch(18))))
                assert await client.is_closed()
                await until(lambda: node.gone and door.connections == 0, what="the first to be dropped")

        run(main())

    def test_who_asks_on_and_does_not_read_is_closed(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            large = msgspec.structs.replace(fetched(9), records=bytes(MESSAGE_LIMIT_BYTES - 4096))
            async with kafka_door(node) as door, connected(door.port) as client:
                for number in range(20):
                    await client.send_bytes(_bytes(number))
                    await until(lambda: node.peers or door.connections == 0, what="the request, or the end")
                    if not node.peers:
                        break
                    node.answer_peer(max(node.peers), large)
                assert number < 10
                assert door.connections == 0

        run(main())
