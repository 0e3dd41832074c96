"""Controllers' requests to each other at the Kafka listener: the node's input, and the responses."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter
from quorum.api.brokers import FeatureRange, Listener
from quorum.api.calls import ClientAnswer, PeerCall, PeerResponse
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from quorum.node.core.topic_id_fencing import Refusal
from quorum.server.kafka.bounds import Limits
from tests.support.kafka_exchange import exchange
from tests.support.kafka_requests import CLUSTER_ID, fetch
from tests.support.kafka_voter_requests import (
    ID,
    OTHER_ID,
    add_raft_voter,
    begin_quorum_epoch,
    controller_registration,
    end_quorum_epoch,
    remove_raft_voter,
    update_raft_voter,
    vote,
)
from tests.support.kafka_wire import connected, kafka_door
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

RECORDED = Path(__file__).parents[1] / "fixtures" / "wire" / "voters.jsonl"
AT = (Endpoint(name="CONTROLLER", host="c2.example", port=9093), Endpoint(name="GRPC", host="c2.example", port=9094))
LEADER: dict[str, Any] = {"leader_id": NodeId(2), "leader_epoch": Epoch(5), "leader_endpoints": AT}
NOBODY = DirectoryId(bytes(16))


def _key(node_id: int, directory_id: bytes) -> ReplicaKey:
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(directory_id))


def _asked(request: Any, response: PeerResponse) -> tuple[PeerCall, Any]:
    """Return the node's request, and the encoded response."""

    async def main() -> tuple[PeerCall, Any]:
        node = ScriptedNode()
        async with kafka_door(node) as door, connected(door.port) as client:
            await client.send(request)
            await until(lambda: node.peers, what="the node to be asked")
            call = node.peers[1][0]
            node.answer_peer(1, response)
            return call, await client.answer(type(request).__api_key__, type(request).__version__, 1)

    call, said = run(main())
    assert (call.cluster_id, call.topic_id, call.partition) == (CLUSTER_ID, METADATA_TOPIC_ID, 0)
    return call, said


class TestElections:
    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_a_vote(self, version: int) -> None:
        call, said = _asked(vote(version), VoteResponse(vote_granted=True, **LEADER))
        is_keyed = version > 0
        assert call.request == VoteRequest(
            candidate=_key(2, ID.bytes if is_keyed else NOBODY),
            voter=_key(3, OTHER_ID.bytes) if is_keyed else _key(-1, NOBODY),
            candidate_epoch=Epoch(5),
            last_epoch=Epoch(4),
            last_epoch_end_offset=Offset(17),
            pre_vote=version > 1,
        )
        self._check(said, version)
        assert said.topics[0].partitions[0].vote_granted

    @pytest.mark.parametrize("version", [0, 1])
    def test_a_leader_makes_itself_known(self, version: int) -> None:
        call, said = _asked(begin_quorum_epoch(version), BeginQuorumEpochResponse(**LEADER))
        assert call.request == BeginQuorumEpochRequest(
            leader_id=NodeId(2),
            leader_epoch=Epoch(5),
            voter=_key(3, OTHER_ID.bytes) if version else _key(-1, NOBODY),
            leader_endpoints=(Endpoint(name="CONTROLLER", host="c2", port=9093),) if version else (),
        )
        self._check(said, version)

    @pytest.mark.parametrize("version", [0, 1])
    def test_a_leader_resigns(self, version: int) -> None:
        call, said = _asked(end_quorum_epoch(version), EndQuorumEpochResponse(**LEADER))
        assert call.request == EndQuorumEpochRequest(
            leader_id=NodeId(2),
            leader_epoch=Epoch(5),
            preferred_candidates=(_key(3, OTHER_ID.bytes if version else NOBODY), _key(1, NOBODY)),
            leader_endpoints=(Endpoint(name="CONTROLLER", host="c2", port=9093),) if version else (),
        )
        self._check(said, version)

    def _check(self, said: Any, version: int) -> None:
        (topic,) = said.topics
        (partition,) = topic.partitions
        assert (said.error_code.value, topic.topic_name) == (0, "__cluster_metadata")
        assert (partition.error_code.value, partition.leader_id, partition.leader_epoch) == (0, 2, 5)
        if version:
            assert [(at.node_id, at.host, at.port) for at in said.node_endpoints] == [(2, "c2.example", 9093)]

    def test_a_leader_that_cannot_be_reached_by_this_protocol_is_not_named(self) -> None:
        only_grpc = {**LEADER, "leader_endpoints": AT[1:]}
        _, said = _asked(vote(2), VoteResponse(error=Error.FENCED_LEADER_EPOCH, **only_grpc))
        partition = said.topics[0].partitions[0]
        assert (partition.error_code.value, partition.leader_id, partition.leader_epoch) == (74, -1, 5)
        assert said.node_endpoints == ()

    @pytest.mark.parametrize(
        ("error", "spelt"),
        [
            (Error.INCONSISTENT_CLUSTER_ID, Error.INCONSISTENT_CLUSTER_ID),
            (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_REQUEST),
        ],
    )
    @pytest.mark.parametrize("asked", [vote(2), begin_quorum_epoch(1), end_quorum_epoch(1)])
    def test_another_quorum_is_refused_at_the_top(self, asked: Any, error: Error, spelt: Error) -> None:
        _, said = _asked(asked, VoteResponse(error=error, leader_epoch=Epoch(5)))
        assert (said.error_code.value, said.topics) == (spelt, ())

    @pytest.mark.parametrize("kind", [vote, begin_quorum_epoch, end_quorum_epoch])
    def test_another_topic_does_not_reach_the_node(self, kind: Any) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, connected(door.port) as client:
                for words in ({"topic_name": "orders"}, {"topics": ()}, {"partitions": ()}):
                    said = await client.ask(kind(1, **words))
                    assert (said.error_code.value, said.topics) == (42, ())
            assert not node.peers

        run(main())

    def test_nobody_waits_for_an_answer_to_a_broken_connection(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door, connected(door.port) as client:
                await client.send(vote(2))
                await until(lambda: node.peers, what="the node to be asked")
                client.close()
                await until(lambda: node.gone == [1], what="the request to be dropped")

        run(main())


class TestVoters:
    @pytest.mark.parametrize("version", [0, 1])
    def test_one_is_added(self, version: int) -> None:
        response = AddRaftVoterResponse(error=Error.DUPLICATE_VOTER, error_message="it is one", **LEADER)
        call, said = _asked(add_raft_voter(version), response)
        assert call.request == AddRaftVoterRequest(
            voter=_key(4, ID.bytes),
            endpoints=(
                Endpoint(name="CONTROLLER", host="c4", port=9093),
                Endpoint(name="GRPC", host="c4", port=9094),
            ),
            ack_when_committed=version == 0,
        )
        assert (said.error_code.value, said.error_message) == (126, "it is one")

    def test_one_is_removed(self) -> None:
        call, said = _asked(remove_raft_voter(), RemoveRaftVoterResponse(**LEADER))
        assert call.request == RemoveRaftVoterRequest(voter=_key(4, ID.bytes))
        assert (said.error_code.value, said.error_message) == (0, None)

    def test_one_tells_where_it_listens(self) -> None:
        call, said = _asked(update_raft_voter(), UpdateRaftVoterResponse(error=Error.REQUEST_TIMED_OUT, **LEADER))
        voter = Voter(
            key=_key(4, ID.bytes),
            endpoints=(
                Endpoint(name="CONTROLLER", host="c4", port=9093),
                Endpoint(name="GRPC", host="c4", port=9094),
            ),
            min_kraft_version=0,
            max_kraft_version=1,
        )
        assert call.request == UpdateRaftVoterRequest(current_leader_epoch=Epoch(5), voter=voter)
        assert said.error_code.value == 7
        at = said.current_leader
        assert (at.leader_id, at.leader_epoch, at.host, at.port) == (2, 5, "c2.example", 9093)

    def test_one_that_asks_while_nobody_leads_is_told_of_nobody(self) -> None:
        response = UpdateRaftVoterResponse(error=Error.NOT_LEADER_OR_FOLLOWER, leader_epoch=Epoch(5))
        _, said = _asked(update_raft_voter(), response)
        at = said.current_leader
        assert (said.error_code.value, at.leader_id, at.leader_epoch, at.host) == (6, -1, 5, "")

    def test_a_controller_registers(self) -> None:
        answer = ClientAnswer(response=RegisterControllerResponse(error=Error.NONE))
        call, said = exchange(controller_registration(), answer)
        assert call.request == RegisterController(
            controller_id=4,
            incarnation_id=ID.bytes,
            listeners=(Listener(name="CONTROLLER", host="c4", port=9093, security_protocol=0),),
            features=(FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=30),),
        )
        assert said.error_code.value == 0
        _, said = exchange(controller_registration(), ClientAnswer(error=Error.NOT_CONTROLLER, message="not here"))
        assert (said.error_code.value, said.error_message) == (41, "not here")


class _OfVoters(ScriptedNode):
    def describe_quorum(self) -> QuorumDescription:
        """Return a description in which node 11 is a voter."""
        voter = ReplicaDescription(
            replica=_key(11, ID.bytes),
            log_end_offset=Offset(12),
            last_fetch_timestamp_ms=1,
            last_caught_up_timestamp_ms=1,
        )
        return QuorumDescription(
            leader_id=None, leader_epoch=Epoch(3), high_watermark=Offset(12), voters=(voter,), observers=()
        )


def test_a_voter_is_held_for_a_tenth_of_the_time_while_nobody_leads() -> None:
    """A Java voter's Vote would wait behind its Fetch on the same connection."""

    async def main() -> None:
        node = _OfVoters()
        refusal = FetchResponse(error=Error.NOT_LEADER_OR_FOLLOWER, leader_epoch=Epoch(3))
        async with (
            kafka_door(node, Limits(held_s=600.0)) as door,
            connected(door.port) as broker,
        ):
            await broker.send(fetch(18, replica_state=_state(12)))
            await until(lambda: 1 in node.peers, what="the broker's Fetch")
            node.answer_peer(1, refusal)
            async with kafka_door(node, Limits(held_s=0.5)) as other, connected(other.port) as voter:
                began_s = asyncio.get_running_loop().time()
                await voter.send(fetch(18, replica_state=_state(11)))
                await until(lambda: 2 in node.peers, what="the voter's Fetch")
                node.answer_peer(2, refusal)
                await until(lambda: 3 in node.peers, what="it to be asked again")
                held_s = asyncio.get_running_loop().time() - began_s
                assert round(held_s, 3) >= 0.05, "the loop's clock has whole milliseconds"
                node.answer_peer(3, refusal)
                said = await voter.answer(1, 18, 1)
            assert said.responses[0].partitions[0].error_code.value == 6
            assert node.peers == {}, "the broker is held on"

    run(main())


def _state(node_id: int) -> Any:
    return type(fetch(18).replica_state)(replica_id=node_id)


@pytest.mark.parametrize("line", RECORDED.read_text().splitlines())
def test_what_real_controllers_sent_is_understood_and_answered(line: str) -> None:
    recorded = json.loads(line)

    async def main() -> None:
        node = ScriptedNode()
        node.at_once = lambda call: ClientAnswer(response=RegisterControllerResponse(error=Error.NONE))
        async with kafka_door(node) as door, connected(door.port) as client:
            frame = base64.b64decode(recorded["request"])
            await client.send_bytes(frame)
            answering = asyncio.get_running_loop().create_task(
                client.answer(recorded["key"], recorded["version"], int.from_bytes(frame[8:12], "big"))
            )
            await until(lambda: node.peers or answering.done(), what="the request to be understood")
            for request_id, (call, _) in tuple(node.peers.items()):
                assert call.topic_id == METADATA_TOPIC_ID
                node.answer_peer(request_id, _refusal_of(call))
            said = await answering
            assert getattr(said, "error_code", Error.NONE).value in (0, 6)

    run(main())


def _refusal_of(call: PeerCall) -> PeerResponse:
    refusal = Refusal(error=Error.NOT_LEADER_OR_FOLLOWER, why="scripted")
    return refusal.response_to(call.request, NodeId(2), Epoch(5), AT)
