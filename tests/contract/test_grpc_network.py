"""The outgoing network over real gRPC: which answer is whose, and who is suspected when none comes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from metadata_log.ids import METADATA_TOPIC_ID, NodeId, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.node.core.ports import ControllerCall, OutgoingRequest
from quorum.raft.ready import Destination
from quorum.transport.grpc.network import GrpcNetwork
from tests.support.loop import run, until
from tests.support.network_replies import Replies
from tests.support.quorum_calls import KEY, fetch, fetched
from tests.support.scripted_node import NODE_ID, ScriptedNode, served


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
                (fetch(3), fetched(3)),
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
                network.send(_outgoing(address, 1, fetch()))
                vote = VoteRequest(
                    candidate=KEY,
                    voter=KEY,
                    candidate_epoch=Epoch(1),
                    last_epoch=Epoch(0),
                    last_epoch_end_offset=Offset(0),
                )
                network.send(_outgoing(address, 2, vote))
                await until(lambda: len(replies.failures) == 2, what="two failures")
            assert sorted(replies.failures) == [(NODE_ID, 1, True), (NODE_ID, 2, True)]

        run(main())

    def test_a_deadline_is_no_disconnect(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                network.send(_outgoing(address, 1, fetch(), timeout_ms=100))
                vote = BeginQuorumEpochRequest(leader_id=NodeId(1), leader_epoch=Epoch(1), voter=KEY)
                network.send(_outgoing(address, 2, vote, timeout_ms=100))
                await until(lambda: len(replies.failures) == 2, what="two failures")
                assert sorted(replies.failures) == [(NODE_ID, 1, False), (NODE_ID, 2, False)]
                network.send(_outgoing(address, 3, fetch()))
                await until(lambda: len(node.peers) == 1 and 1 in node.gone, what="the next Fetch, on the same stream")

        run(main())

    def test_an_answer_after_its_deadline_is_not_taken_for_the_next(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                network.send(_outgoing(address, 1, fetch(), timeout_ms=50))
                await until(lambda: replies.failures and 1 in node.peers, what="the first failed")
                node.answer_peer(1, fetched(1))
                network.send(_outgoing(address, 2, fetch()))
                await until(lambda: 2 in node.peers, what="the second at the node")
                node.answer_peer(2, fetched(2))
                await until(lambda: replies.responses, what="an answer")
            assert replies.responses == [(NODE_ID, 2, fetched(2))]

        run(main())

    def test_a_second_fetch_fails_the_first_without_suspicion(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with served(node) as address, _network() as (network, replies):
                network.send(_outgoing(address, 1, fetch()))
                await until(lambda: 1 in node.peers, what="the first at the node")
                network.send(_outgoing(address, 2, fetch(9)))
                await until(lambda: 2 in node.peers, what="the second at the node")
                node.answer_peer(2, fetched(9))
                await until(lambda: replies.responses, what="the answer")
            assert replies.failures == [(NODE_ID, 1, False)]
            assert replies.responses == [(NODE_ID, 2, fetched(9))]

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
                        request=fetch(),
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
                await until(lambda: replies.answers, what="the missing response")
            assert replies.answers == [(9, None)]

        run(main())


def _registration() -> RegisterController:
    return RegisterController(controller_id=1, incarnation_id=bytes(16), listeners=(), features=())  # type: ignore[arg-type]


_ROOT = Path(__file__).resolve().parents[2]


_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(_ROOT)}


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
    def test_the_death_of_a_process_is_told_long_before_the_deadline(self) -> None:
        async def main() -> None:
            process = await asyncio.create_subprocess_exec(
                *_SERVER, stdout=asyncio.subprocess.PIPE, limit=1 << 16, cwd=_ROOT, env=_ENVIRONMENT
            )
            assert process.stdout is not None
            address = (await process.stdout.readline()).decode().strip()
            async with _network() as (network, replies):
                network.send(_outgoing(address, 1, fetch(), timeout_ms=600_000))
                assert (await process.stdout.readline()).strip() == b"parked"
                process.kill()
                await until(lambda: replies.failures, what="the failure")
            await process.wait()
            assert replies.failures == [(NODE_ID, 1, True)]

        run(main())
