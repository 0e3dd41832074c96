"""The protocol to another controller: gRPC if it listens there, otherwise Kafka's; an unnamed endpoint is probed."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from metadata_log.ids import METADATA_TOPIC_ID
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.raft_messages import FetchResponse
from quorum.node.core.ports import ControllerCall, OutgoingRequest
from quorum.raft.ready import Destination
from quorum.transport.network import PeerNetwork
from quorum.transport.protocol_finder import speaks_kafka
from tests.support.kafka_peers import (
    any_peer,
    outgoing_to,
    peer_network,
)
from tests.support.kafka_wire import kafka_door
from tests.support.loop import run, until
from tests.support.network_replies import Replies
from tests.support.quorum_calls import fetch, fetched
from tests.support.scripted_node import NODE_ID, ScriptedNode, served


class TestWhichProtocol:
    def test_grpc_where_there_is_a_listener_of_it(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, peer_network() as (network, replies):
                port = int(address.rpartition(":")[2])
                both = (
                    Endpoint(name="CONTROLLER", host="127.0.0.1", port=1),
                    Endpoint(name="GRPC", host="127.0.0.1", port=port),
                )
                outgoing = outgoing_to(port, 1, fetch(3))
                await self._ask(network, replies, node, _moved(outgoing, both))

        run(main())

    def test_kafkas_where_it_is_said_so_and_grpc_where_there_is_no_other(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with (
                served(node) as address,
                kafka_door(node) as door,
                peer_network("CONTROLLER") as (network, replies),
            ):
                nobody = Endpoint(name="GRPC", host="127.0.0.1", port=1)
                kafkas = Endpoint(name="CONTROLLER", host="127.0.0.1", port=door.port)
                outgoing = outgoing_to(door.port, 1, fetch(3))
                await self._ask(network, replies, node, _moved(outgoing, (nobody, kafkas)))
                port = int(address.rpartition(":")[2])
                replies.responses.clear()
                outgoing = outgoing_to(port, 2, fetch(3), name="GRPC")
                await self._ask(network, replies, node, outgoing)

        run(main())

    def test_kafkas_at_a_listener_of_any_other_name(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network() as (network, replies):
                await self._ask(network, replies, node, outgoing_to(door.port, 1, fetch(3), name="CONTROLPLANE-9090"))

        run(main())

    def test_the_controllers_own_name_comes_before_another_of_kafkas_protocol(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network("PLANE") as (network, replies):
                nobody = [Endpoint(name=name, host="127.0.0.1", port=1) for name in ("GRPC", "CONTROLLER", "")]
                plane = Endpoint(name="PLANE", host="127.0.0.1", port=door.port)
                await self._ask(network, replies, node, _moved(outgoing_to(1, 1, fetch(3)), (*nobody, plane)))

        run(main())

    @pytest.mark.parametrize(("asked", "named"), [("CONTROLPLANE-9090", "CONTROLPLANE-9090"), ("", "PLANE")])
    def test_a_leader_is_named_by_the_listener_that_was_asked(self, asked: str, named: str) -> None:
        """A response in Kafka's protocol holds no listener name, and brokers learn of a leader only under that name."""

        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network("PLANE") as (network, replies):
                network.send(outgoing_to(door.port, 1, fetch(3), name=asked))
                await until(lambda: node.peers, what="the request at the node")
                leader = (Endpoint(name="CONTROLLER", host="c7.example", port=9093),)
                node.answer_peer(max(node.peers), msgspec.structs.replace(fetched(3), leader_endpoints=leader))
                await until(lambda: replies.responses, what="the answer")
                answer = replies.responses[0][2]
                assert isinstance(answer, FetchResponse)
                assert answer.leader_endpoints == (Endpoint(name=named, host="c7.example", port=9093),)

        run(main())

    @pytest.mark.parametrize("kind", ["grpc", "kafka"])
    def test_an_address_without_a_name_is_looked_at(self, kind: str) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, kafka_door(node) as door, peer_network() as (network, replies):
                port = int(address.rpartition(":")[2]) if kind == "grpc" else door.port
                await self._ask(network, replies, node, outgoing_to(port, 1, fetch(3), name=""))

        run(main())

    def test_an_address_that_speaks_something_else_later_is_looked_at_again(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with peer_network() as (network, replies):
                async with kafka_door(node) as door:
                    port = door.port
                    await self._until_asked(network, replies, node, port)
                async with served(node, port=port):
                    await self._until_asked(network, replies, node, port)

        run(main())

    async def _ask(self, network: PeerNetwork, replies: Replies, node: ScriptedNode, outgoing: OutgoingRequest) -> None:
        network.send(outgoing)
        await until(lambda: node.peers, what="the request at the node")
        node.answer_peer(max(node.peers), fetched(3))
        await until(lambda: replies.responses, what="the answer")
        assert not replies.failures

    async def _until_asked(self, network: PeerNetwork, replies: Replies, node: ScriptedNode, port: int) -> None:
        """Repeat the request after each failure, as Raft does."""
        for number in range(100, 200):
            failed = len(replies.failures)
            network.send(outgoing_to(port, number, fetch(3), name=""))
            await until(lambda count=failed: node.peers or len(replies.failures) > count, what="it to be asked")
            if node.peers:
                node.answer_peer(max(node.peers), fetched(3))
                await until(lambda key=number: any(each[1] == key for each in replies.responses), what="the answer")
                return
            await asyncio.sleep(0.01)
        raise AssertionError("nobody was asked")


def _moved(outgoing: OutgoingRequest, endpoints: tuple[Endpoint, ...]) -> OutgoingRequest:
    return OutgoingRequest(
        destination=Destination(node_id=NODE_ID, endpoints=endpoints),
        correlation=outgoing.correlation,
        cluster_id=outgoing.cluster_id,
        topic_id=METADATA_TOPIC_ID,
        request=outgoing.request,
        timeout_ms=outgoing.timeout_ms,
    )


def test_a_look_tells_kafkas_protocol_from_others_and_from_nobody() -> None:
    async def main() -> None:
        node = ScriptedNode()
        async with kafka_door(node) as door, served(node) as address:
            at = Endpoint(name="", host="127.0.0.1", port=door.port)
            assert await speaks_kafka(at)
            assert not await speaks_kafka(_at(int(address.rpartition(":")[2])))
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await speaks_kafka(at)

    run(main())


def _at(port: int) -> Endpoint:
    return Endpoint(name="", host="127.0.0.1", port=port)


def test_nobody_at_an_address_without_a_name_is_a_disconnect() -> None:
    async def main() -> None:
        async with kafka_door(ScriptedNode()) as door:
            port = door.port
        async with peer_network() as (network, replies):
            network.send(outgoing_to(port, 1, fetch(3), name=""))
            await until(lambda: replies.failures, what="the failure")
            assert replies.failures == [(NODE_ID, 1, True)]

    run(main())


def test_who_says_nothing_at_an_address_without_a_name_is_not_held_for_dead() -> None:
    async def main() -> None:
        async with any_peer(lambda frame, number: b"") as port, peer_network() as (network, replies):
            network.send(outgoing_to(port, 1, fetch(3), name="", timeout_ms=50))
            await until(lambda: replies.failures, what="the failure")
            assert replies.failures == [(NODE_ID, 1, False)]

    run(main())


def test_a_leader_at_an_address_without_a_name_is_registered_with() -> None:
    """The leader is a static voter, at kraft.version 0."""

    async def main() -> None:
        node = ScriptedNode()
        answer = ClientAnswer(response=RegisterControllerResponse())
        node.at_once = lambda call: answer
        request = RegisterController(controller_id=3, incarnation_id=bytes([5]) * 16, listeners=(), features=())  # type: ignore[arg-type]
        async with kafka_door(node) as door, peer_network() as (network, replies):
            at = Destination(node_id=NODE_ID, endpoints=(_at(door.port),))
            call = ControllerCall(destination=at, correlation=1, request=request, timeout_ms=20_000)
            network.send_to_controller(call)
            await until(lambda: replies.answers, what="the answer")
            assert replies.answers == [(1, answer)]
        async with peer_network() as (network, replies):
            network.send_to_controller(call)
            await until(lambda: replies.answers, what="none")
            assert replies.answers == [(1, None)]

    run(main())
