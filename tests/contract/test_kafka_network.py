"""Requests to other controllers by Kafka's protocol over real connections."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from metadata_log.ids import METADATA_TOPIC_ID, NodeId
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Voter
from quorum.api.calls import ClientAnswer
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteResponse,
)
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from quorum.node.core.ports import ControllerCall
from quorum.transport.channel import MESSAGE_LIMIT_BYTES
from quorum.transport.kafka.link import MAX_IN_FLIGHT
from quorum.transport.kafka.wire import answers_of
from tests.support.kafka_peers import (
    ALL_VERSIONS,
    AT,
    BEGIN,
    CLUSTER_ID,
    KEY,
    VOTE,
    any_peer,
    correlation_of,
    outgoing_to,
    peer_network,
    told_versions,
)
from tests.support.kafka_wire import kafka_door
from tests.support.loop import run, until
from tests.support.quorum_calls import fetch
from tests.support.scripted_node import NODE_ID, ScriptedNode

LEADER: dict[str, Any] = {"leader_id": NodeId(NODE_ID), "leader_epoch": Epoch(4), "leader_endpoints": AT}
VOTER = Voter(key=KEY, endpoints=AT)
SNAPSHOT = OffsetAndEpoch(offset=Offset(100), epoch=Epoch(2))


EXCHANGES: list[tuple[Any, Any]] = [
    (VOTE, VoteResponse(vote_granted=True, **LEADER)),
    (BEGIN, BeginQuorumEpochResponse(**LEADER)),
    (
        EndQuorumEpochRequest(
            leader_id=NodeId(3), leader_epoch=Epoch(4), preferred_candidates=(KEY,), leader_endpoints=AT
        ),
        EndQuorumEpochResponse(error=Error.FENCED_LEADER_EPOCH, **LEADER),
    ),
    (
        fetch(3),
        FetchResponse(high_watermark=Offset(9), log_start_offset=Offset(1), records=b"batches", **LEADER),
    ),
    (fetch(3), FetchResponse(diverging=OffsetAndEpoch(offset=Offset(4), epoch=Epoch(2)), **LEADER)),
    (fetch(3), FetchResponse(snapshot_id=SNAPSHOT, log_start_offset=Offset(1), **LEADER)),
    (
        FetchSnapshotRequest(
            replica=KEY, current_leader_epoch=Epoch(4), snapshot_id=SNAPSHOT, position=7, max_bytes=1 << 20
        ),
        FetchSnapshotResponse(snapshot_id=SNAPSHOT, size=1000, position=7, data=b"piece", **LEADER),
    ),
    (
        AddRaftVoterRequest(voter=KEY, endpoints=AT, ack_when_committed=False),
        AddRaftVoterResponse(error=Error.DUPLICATE_VOTER, error_message="it is one", leader_epoch=NO_EPOCH),
    ),
    (RemoveRaftVoterRequest(voter=KEY), RemoveRaftVoterResponse(leader_epoch=NO_EPOCH)),
    (
        UpdateRaftVoterRequest(current_leader_epoch=Epoch(4), voter=VOTER),
        UpdateRaftVoterResponse(error=Error.REQUEST_TIMED_OUT, **LEADER),
    ),
]


@pytest.mark.parametrize(("request_", "response"), EXCHANGES, ids=lambda each: type(each).__name__)
def test_what_is_asked_of_a_controller_listener_comes_there_and_its_answer_back(request_: Any, response: Any) -> None:
    """Both sides are ours; `tests/interop/test_mixed_quorum.py` has Kafka at the other end."""

    async def main() -> None:
        node = ScriptedNode()
        async with kafka_door(node) as door, peer_network() as (network, replies):
            network.send(outgoing_to(door.port, 41, request_))
            await until(lambda: node.peers or replies.failures, what="the request at the node")
            call = node.peers[1][0]
            assert (call.request, call.cluster_id) == (request_, CLUSTER_ID)
            assert call.topic_id == METADATA_TOPIC_ID, "Kafka knows no other name of it"
            node.answer_peer(1, response)
            await until(lambda: replies.responses, what="the answer")
            assert replies.responses == [(NODE_ID, 41, response)]

    run(main())


def test_a_controller_registers_by_it() -> None:
    async def main() -> None:
        node = ScriptedNode()
        answers = [
            ClientAnswer(response=RegisterControllerResponse()),
            ClientAnswer(error=Error.NOT_CONTROLLER, message="not here"),
        ]
        node.at_once = lambda call: answers[len(node.calls) - 1]
        request = RegisterController(controller_id=3, incarnation_id=bytes([5]) * 16, listeners=(), features=())  # type: ignore[arg-type]
        async with kafka_door(node) as door, peer_network() as (network, replies):
            for number in (1, 2):
                at = outgoing_to(door.port, number, None).destination
                network.send_to_controller(
                    ControllerCall(destination=at, correlation=number, request=request, timeout_ms=20_000)
                )
                await until(lambda count=number: len(replies.answers) == count, what="the answer")
            assert [call.request for call in node.calls] == [request, request]
            assert replies.answers == [(1, answers[0]), (2, answers[1])]

    run(main())


def test_a_new_voter_is_asked_what_it_supports() -> None:
    async def main() -> None:
        async with kafka_door(ScriptedNode()) as door, peer_network() as (network, replies):
            network.send(outgoing_to(door.port, 1, ApiVersionsRequest()))
            await until(lambda: replies.responses, what="the answer")
            said = ApiVersionsResponse(leader_epoch=NO_EPOCH, min_kraft_version=0, max_kraft_version=1)
            assert replies.responses == [(NODE_ID, 1, said)]

    run(main())


class TestConnections:
    def test_elections_do_not_wait_behind_a_parked_fetch(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network() as (network, replies):
                network.send(outgoing_to(door.port, 1, fetch(3)))
                await until(lambda: 1 in node.peers, what="the Fetch")
                for number in (2, 3):
                    network.send(outgoing_to(door.port, number, VOTE))
                    await until(lambda key=number: key in node.peers, what="the Vote")
                    node.answer_peer(number, VoteResponse(**LEADER))
                await until(lambda: len(replies.responses) == 2, what="two answers")
                assert door.connections == 2
                assert not replies.failures

        run(main())

    def test_a_second_fetch_replaces_the_first(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network() as (network, replies):
                network.send(outgoing_to(door.port, 1, fetch(3)))
                await until(lambda: 1 in node.peers, what="the Fetch")
                network.send(outgoing_to(door.port, 2, fetch(4)))
                await until(lambda: 2 in node.peers and node.gone == [1], what="the next one, and the first dropped")
                assert replies.failures == [(NODE_ID, 1, False)]
                node.answer_peer(2, FetchResponse(**LEADER))
                await until(lambda: replies.responses, what="its answer")
                assert replies.responses[0][1] == 2

        run(main())

    def test_a_refused_connection_is_a_disconnect_and_a_later_one_works(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door:
                port = door.port
            async with peer_network() as (network, replies):
                network.send(outgoing_to(port, 1, fetch(3)))
                network.send(outgoing_to(port, 2, VOTE))
                await until(lambda: len(replies.failures) == 2, what="two failures")
                assert sorted(replies.failures) == [(NODE_ID, 1, True), (NODE_ID, 2, True)]
                async with kafka_door(node, port=port) as door:
                    network.send(outgoing_to(door.port, 3, VOTE))
                    await until(lambda: node.peers, what="the Vote")

        run(main())

    def test_a_broken_connection_is_a_disconnect(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with peer_network() as (network, replies):
                async with kafka_door(node) as door:
                    network.send(outgoing_to(door.port, 1, fetch(3)))
                    await until(lambda: node.peers, what="the Fetch")
                await until(lambda: replies.failures, what="its end")
                assert replies.failures == [(NODE_ID, 1, True)]

        run(main())

    def test_a_deadline_is_no_disconnect_and_takes_the_connection_along(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network() as (network, replies):
                network.send(outgoing_to(door.port, 1, ApiVersionsRequest()))
                await until(lambda: replies.responses, what="the first answer: all is loaded")
                network.send(outgoing_to(door.port, 2, VOTE, timeout_ms=50))
                network.send(outgoing_to(door.port, 3, VOTE))
                await until(lambda: len(replies.failures) == 2, what="two failures")
                assert sorted(replies.failures) == [(NODE_ID, 2, False), (NODE_ID, 3, False)]
                network.send(outgoing_to(door.port, 4, VOTE))
                await until(lambda: max(node.peers, default=0) >= 2, what="the next one, on another connection")

        run(main())

    def test_more_than_may_be_in_flight_fails(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, peer_network() as (network, replies):
                for number in range(1, MAX_IN_FLIGHT + 2):
                    network.send(outgoing_to(door.port, number, VOTE))
                await until(lambda: replies.failures, what="one too many")
                assert replies.failures == [(NODE_ID, MAX_IN_FLIGHT + 1, False)]

        run(main())

    def test_after_its_end_nothing_is_reported(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door:
                async with peer_network() as (network, replies):
                    network.send(outgoing_to(door.port, 1, fetch(3)))
                    network.send(outgoing_to(door.port, 2, VOTE))
                    await until(lambda: len(node.peers) == 2, what="both")
                await until(lambda: door.connections == 0, what="no connection")
            assert not replies.failures

        run(main())


_BAD: dict[str, Callable[[int], bytes]] = {
    "a negative length": lambda number: struct.pack(">i", -5),
    "no length at all": lambda number: struct.pack(">i", 0),
    "more than any answer has": lambda number: struct.pack(">i", MESSAGE_LIMIT_BYTES + 1),
    "the answer to something else": lambda number: struct.pack(">ii", 4, number + 7),
    "cut short": lambda number: struct.pack(">ii", 5, number) + b"\0",
    "an array longer than memory": lambda number: struct.pack(">iibh", 12, number, 0, 0) + b"\xff\xff\xff\xff\x07",
    "bytes left over": lambda number: struct.pack(">iibhbbb", 10, number, 0, 42, 1, 0, 9),
    "no topic": lambda number: struct.pack(">iibhbb", 9, number, 0, 0, 1, 0),
    "HTTP": lambda number: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("kind", _BAD)
@pytest.mark.parametrize("at_first", [True, False], ids=["to ApiVersions", "to Vote"])
def test_an_answer_that_makes_no_sense_ends_its_connection(kind: str, at_first: bool) -> None:
    def answer(frame: bytes, number: int) -> bytes:
        is_bad = number == 0 if at_first else number > 0
        return _BAD[kind](correlation_of(frame)) if is_bad else told_versions(correlation_of(frame), *ALL_VERSIONS)

    async def main() -> None:
        async with any_peer(answer) as port, peer_network() as (network, replies):
            network.send(outgoing_to(port, 1, VOTE))
            await until(lambda: replies.failures, what="the failure")
            assert replies.failures == [(NODE_ID, 1, False)], "it speaks: it is not gone"
            assert not replies.responses

    run(main())


def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    async def main() -> None:
        async with (
            any_peer(lambda frame, number: told_versions(correlation_of(frame), *ALL_VERSIONS) * 2) as port,
            peer_network() as (network, replies),
        ):
            network.send(outgoing_to(port, 1, VOTE))
            await until(lambda: replies.failures, what="the failure")
            assert replies.failures == [(NODE_ID, 1, False)]

    run(main())


@pytest.mark.parametrize("newest", [3, 4])
def test_an_older_controller_is_asked_again_in_its_own_version(newest: int) -> None:
    """Once: the next request on the connection comes with no other ApiVersions."""
    oldest = answers_of("api_versions", 0)
    versions: list[int] = []

    def answer(frame: bytes, number: int) -> bytes | None:
        key, version = struct.unpack_from(">hh", frame)
        if key == 18:
            versions.append(version)
        if key == 18 and version > newest:
            own = oldest.make("ApiVersion", api_key=18, min_version=0, max_version=newest)
            data = oldest.frame(
                correlation_of(frame), oldest.response(error_code=Error.UNSUPPORTED_VERSION, api_keys=(own,))
            )
            return struct.pack(">i", len(data)) + data
        if key == 18:
            return told_versions(correlation_of(frame), (52, 0, 1), (53, 0, 0))
        assert (key, version) == (53, 0)
        return None

    async def main() -> None:
        async with any_peer(answer) as port, peer_network() as (network, replies):
            network.send(outgoing_to(port, 1, VOTE))
            await until(lambda: len(replies.failures) == 1, what="a pre-vote that it does not know")
            assert replies.failures == [(NODE_ID, 1, False)]
            network.send(outgoing_to(port, 2, BEGIN))
            await until(lambda: len(replies.failures) == 2, what="what it does know, and its end")
            assert replies.failures[-1] == (NODE_ID, 2, True)
            assert versions == [5, newest]

    run(main())


@pytest.mark.parametrize("error", [Error.REBOOTSTRAP_REQUIRED, Error.INVALID_REQUEST])
def test_a_peer_that_rejects_api_versions_is_not_asked_by_itself_again(error: Error) -> None:
    frames: list[bytes] = []

    def answer(frame: bytes, number: int) -> bytes:
        frames.append(frame)
        return told_versions(correlation_of(frame), error=error)

    async def main() -> None:
        async with any_peer(answer) as port, peer_network() as (network, replies):
            with capture_logs() as logs:
                for number in (1, 2):
                    network.send(outgoing_to(port, number, VOTE))
                    await until(lambda count=number: len(replies.failures) == count, what="the failure")
            assert replies.failures == [(NODE_ID, 1, False), (NODE_ID, 2, False)], "it speaks: it is not gone"
            assert len(frames) == 2, "one for each request"
            assert [error.name in line["why"] for line in logs] == [True, True]

    run(main())
