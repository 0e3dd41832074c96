"""Fetch and FetchSnapshot at the Kafka listener: the node's input, a broker's response, and how long it is parked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.api.raft_messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from quorum.node.core.ports import RoleChanged
from quorum.server.kafka.bounds import Limits
from quorum.server.kafka.listen import KafkaListener, LeaderWatcher
from tests.support.kafka_requests import CLUSTER_ID, ID, SENTINEL, describe_quorum, fetch, fetch_snapshot
from tests.support.kafka_wire import connected, kafka_door
from tests.support.loop import run, until
from tests.support.scripted_node import ScriptedNode

REPLICA = ReplicaKey(node_id=NodeId(11), directory_id=DirectoryId(ID.bytes))
AT = (Endpoint(name="CONTROLLER", host="c2.example", port=9093), Endpoint(name="GRPC", host="c2.example", port=9094))


def _answer(error: Error = Error.NONE, leader_id: int = 2, **values: Any) -> FetchResponse:
    words: dict[str, Any] = {"leader_endpoints": AT if leader_id >= 0 else (), "leader_epoch": Epoch(3), **values}
    return FetchResponse(error=error, leader_id=NodeId(leader_id), **words)


def _asked(node: ScriptedNode, respond: Callable[[], Any], request: Any) -> Any:
    """Send `request`, let the node respond, and return the broker's response."""

    async def main() -> Any:
        async with kafka_door(node) as door, connected(door.port) as client:
            await client.send(request)
            await until(lambda: node.peers, what="the node to be asked")
            node.answer_peer(max(node.peers), respond())
            return await client.answer(type(request).__api_key__, type(request).__version__, 1)

    return run(main())


class TestFetch:
    @pytest.mark.parametrize("version", [16, 17, 18])
    def test_what_a_broker_asks_reaches_the_node(self, version: int) -> None:
        node = ScriptedNode()
        calls = []

        def respond() -> FetchResponse:
            calls.append(node.peers[1][0])
            return _answer(high_watermark=Offset(9), log_start_offset=Offset(1), records=b"batches")

        said = _asked(node, respond, fetch(version))
        (call,) = calls
        assert node.sent_after_turns == 1, "a follower's records wait for the leader's own disk"
        assert (call.cluster_id, call.topic_id, call.partition) == (CLUSTER_ID, METADATA_TOPIC_ID, 0)
        assert (call.context.client_host, call.context.listener) == ("127.0.0.1", "CONTROLLER")
        directory = REPLICA.directory_id if version > 16 else DirectoryId(bytes(16))
        assert call.request == FetchRequest(
            replica=ReplicaKey(node_id=NodeId(11), directory_id=directory),
            current_leader_epoch=Epoch(3),
            fetch_offset=Offset(5),
            last_fetched_epoch=Epoch(2),
            max_bytes=1 << 20,
            max_wait_ms=500,
            high_watermark=Offset(5 if version > 17 else -1),
        )
        assert said.error_code.value == 0
        (topic,) = said.responses
        (partition,) = topic.partitions
        assert topic.topic_id == SENTINEL
        assert (partition.error_code.value, partition.records) == (0, b"batches")
        assert (partition.high_watermark, partition.log_start_offset) == (9, 1)
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 3)
        assert [(at.node_id, at.host, at.port) for at in said.node_endpoints] == [(2, "c2.example", 9093)]

    @pytest.mark.parametrize("version", [12, 13, 14, 15])
    def test_a_broker_before_3_7_is_answered_in_its_version(self, version: int) -> None:
        """It knows each voter's endpoint from its configuration, so the response names the leader even without
        endpoints."""
        node = ScriptedNode()
        calls = []

        def respond() -> FetchResponse:
            calls.append(node.peers[1][0])
            return _answer(
                high_watermark=Offset(9), log_start_offset=Offset(1), records=b"batches", leader_endpoints=()
            )

        said = _asked(node, respond, fetch(version))
        (call,) = calls
        assert (call.cluster_id, call.topic_id, call.partition) == (CLUSTER_ID, METADATA_TOPIC_ID, 0)
        assert call.request == FetchRequest(
            replica=ReplicaKey(node_id=NodeId(11)),
            current_leader_epoch=Epoch(3),
            fetch_offset=Offset(5),
            last_fetched_epoch=Epoch(2),
            max_bytes=1 << 20,
            max_wait_ms=500,
            high_watermark=Offset(-1),
        )
        (topic,) = said.responses
        (partition,) = topic.partitions
        named = getattr(topic, "topic", None), getattr(topic, "topic_id", None)
        assert named == ((METADATA_TOPIC_NAME, None) if version == 12 else (None, SENTINEL))
        assert (partition.error_code.value, partition.records, partition.high_watermark) == (0, b"batches", 9)
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 3)

    def test_another_topic_is_refused_by_its_name(self) -> None:
        async def main() -> None:
            async with kafka_door(ScriptedNode()) as door, connected(door.port) as client:
                assert (await client.ask(fetch(12, topic="orders"))).error_code.value == Error.INVALID_REQUEST

        run(main())

    @pytest.mark.parametrize(("told", "known"), [(-1, 0), ((1 << 63) - 1, -1), (7, 7)])
    def test_a_replica_that_knows_no_high_watermark_is_behind_any(self, told: int, known: int) -> None:
        node = ScriptedNode()
        calls = []

        def respond() -> FetchResponse:
            calls.append(node.peers[1][0].request)
            return _answer()

        _asked(node, respond, fetch(18, high_watermark=told))
        assert calls[0].high_watermark == known

    def test_a_log_that_leaves_the_leaders_is_told_where(self) -> None:
        end = OffsetAndEpoch(offset=Offset(4), epoch=Epoch(2))
        said = _asked(ScriptedNode(), lambda: _answer(diverging=end), fetch(18)).responses[0].partitions[0]
        assert (said.diverging_epoch.epoch, said.diverging_epoch.end_offset) == (2, 4)
        said = _asked(ScriptedNode(), lambda: _answer(snapshot_id=end), fetch(18)).responses[0].partitions[0]
        assert (said.snapshot_id.epoch, said.snapshot_id.end_offset) == (2, 4)

    @pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH])
    def test_a_refusal_says_who_leads_and_where(self, error: Error) -> None:
        said = _asked(ScriptedNode(), lambda: _answer(error), fetch(18))
        partition = said.responses[0].partitions[0]
        assert (said.error_code.value, partition.error_code.value) == (0, error)
        assert (partition.current_leader.leader_id, said.node_endpoints[0].port) == (2, 9093)
        assert partition.high_watermark == -1

    @pytest.mark.parametrize(
        ("error", "spelt"),
        [
            (Error.UNKNOWN_TOPIC_ID, Error.INVALID_REQUEST),
            (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_REQUEST),
            (Error.INCONSISTENT_CLUSTER_ID, Error.INCONSISTENT_CLUSTER_ID),
        ],
    )
    def test_another_log_is_refused_at_the_top(self, error: Error, spelt: Error) -> None:
        said = _asked(ScriptedNode(), lambda: _answer(error), fetch(18))
        assert (said.error_code.value, said.responses) == (spelt, ())

    @pytest.mark.parametrize("topics", [(), 2])
    def test_one_partition_is_asked_for_at_a_time(self, topics: Any) -> None:
        async def main() -> None:
            asked = topics or ()
            request = fetch(18, topics=fetch(18).topics * 2 if asked else ())
            async with kafka_door(ScriptedNode()) as door, connected(door.port) as client:
                assert (await client.ask(request)).error_code.value == Error.INVALID_REQUEST

        run(main())

    def test_who_is_gone_is_parked_no_more(self) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node) as door:
                async with connected(door.port) as client:
                    await client.send(fetch(18))
                    await until(lambda: node.peers, what="the node to be asked")
                await until(lambda: node.gone == [1], what="the parked Fetch to be dropped")

        run(main())


class TestNobodyLeads:
    def test_a_fetch_is_held_until_somebody_does(self) -> None:
        async def main() -> None:
            node, watcher = ScriptedNode(), LeaderWatcher()
            async with kafka_door(node) as door, connected(door.port) as client, connected(door.port) as other:
                watcher.doors = [door]
                await client.send(fetch(18))
                await until(lambda: node.peers, what="the node to be asked")
                node.answer_peer(1, _answer(Error.FENCED_LEADER_EPOCH, leader_id=-1))
                assert (await other.ask(describe_quorum(2))).error_code.value == 0
                assert not client.reader._buffer  # type: ignore[attr-defined]
                watcher.on_event(_led_by(2))
                await until(lambda: 2 in node.peers, what="the node to be asked again")
                node.answer_peer(2, _answer(Error.FENCED_LEADER_EPOCH))
                said = await client.answer(1, 18, 1)
                assert said.responses[0].partitions[0].current_leader.leader_id == 2

        run(main())

    @pytest.mark.parametrize("version", [15, 18], ids=["a broker before 3.7", "a broker of 4.4"])
    def test_it_is_not_held_for_long(self, version: int) -> None:
        async def main() -> None:
            node = ScriptedNode()
            async with kafka_door(node, Limits(held_s=0.05)) as door, connected(door.port) as client:
                await client.send(fetch(version))
                for number in (1, 2):
                    await until(lambda number=number: number in node.peers, what="the node to be asked")  # type: ignore[misc]
                    node.answer_peer(number, _answer(Error.NOT_LEADER_OR_FOLLOWER, leader_id=-1))
                said = (await client.answer(1, version, 1)).responses[0].partitions[0]
                assert (said.error_code.value, said.current_leader.leader_id) == (6, -1)

        run(main())

    def test_who_is_gone_is_held_no_more(self) -> None:
        async def main() -> None:
            node, watcher = ScriptedNode(), LeaderWatcher()
            async with kafka_door(node) as door:
                watcher.doors = [door]
                async with connected(door.port) as client:
                    await client.send(fetch(18))
                    await until(lambda: node.peers, what="the node to be asked")
                    node.answer_peer(1, _answer(Error.NOT_LEADER_OR_FOLLOWER, leader_id=-1))
                await until(lambda: door.connections == 0, what="the connection to be gone")
                await _after(door, watcher)
                assert node.peers == {}

        run(main())

    def test_a_leader_without_a_place_here_is_not_named(self) -> None:
        async def main() -> None:
            node, watcher = _WithVoter(), LeaderWatcher()
            grpc_alone = (AT[1],)
            async with kafka_door(node) as door, connected(door.port) as client:
                watcher.doors = [door]
                await client.send(fetch(18))
                await until(lambda: node.peers, what="the node to be asked")
                node.answer_peer(1, _answer(Error.NOT_LEADER_OR_FOLLOWER, leader_endpoints=grpc_alone))
                node.listens_at = AT
                watcher.on_event(_led_by(2))
                await until(lambda: 2 in node.peers, what="the node to be asked again")
                node.answer_peer(2, _answer(Error.NOT_LEADER_OR_FOLLOWER, leader_endpoints=grpc_alone))
                said = await client.answer(1, 18, 1)
                assert [(at.node_id, at.port) for at in said.node_endpoints] == [(2, 9093)]

        run(main())


class _WithVoter(ScriptedNode):
    listens_at: tuple[Endpoint, ...] = ()

    def describe_quorum(self) -> QuorumDescription:
        voter = ReplicaDescription(
            replica=ReplicaKey(node_id=NodeId(2)),
            log_end_offset=Offset(-1),
            last_fetch_timestamp_ms=-1,
            last_caught_up_timestamp_ms=-1,
            endpoints=self.listens_at,
        )
        return QuorumDescription(
            leader_id=NodeId(2), leader_epoch=Epoch(3), high_watermark=Offset(0), voters=(voter,), observers=()
        )


def _led_by(leader_id: int) -> RoleChanged:
    return RoleChanged(
        role="follower",
        epoch=Epoch(3),
        leader_id=leader_id,
        leader_endpoints=AT,
        log_end_offset=Offset(0),
        high_watermark=None,
        cause="",
    )


async def _after(door: KafkaListener, watcher: LeaderWatcher) -> None:
    """Wait until a later request has its response: then everything that follows from the election is done."""
    watcher.on_event(_led_by(2))
    async with connected(door.port) as client:
        await client.ask(describe_quorum(2))


class TestFetchSnapshot:
    @pytest.mark.parametrize("version", [0, 1])
    def test_a_piece_comes_as_it_is(self, version: int) -> None:
        node = ScriptedNode()
        calls = []

        def respond() -> FetchSnapshotResponse:
            calls.append(node.peers[1][0])
            return FetchSnapshotResponse(
                leader_id=NodeId(2),
                leader_epoch=Epoch(3),
                leader_endpoints=AT,
                snapshot_id=OffsetAndEpoch(offset=Offset(100), epoch=Epoch(2)),
                size=900,
                position=7,
                data=b"cut anywhere",
            )

        said = _asked(node, respond, fetch_snapshot(version))
        (call,) = calls
        assert (call.cluster_id, call.topic_id, call.partition) == (CLUSTER_ID, METADATA_TOPIC_ID, 0)
        assert call.request == FetchSnapshotRequest(
            replica=REPLICA if version > 0 else ReplicaKey(node_id=NodeId(11)),
            current_leader_epoch=Epoch(3),
            snapshot_id=OffsetAndEpoch(offset=Offset(100), epoch=Epoch(2)),
            position=7,
            max_bytes=1 << 20,
        )
        part = said.topics[0].partitions[0]
        assert (part.error_code.value, part.size, part.position, part.unaligned_records) == (0, 900, 7, b"cut anywhere")
        assert (part.snapshot_id.end_offset, part.snapshot_id.epoch) == (100, 2)
        assert part.current_leader.leader_id == 2
        assert version == 0 or said.node_endpoints[0].port == 9093

    @pytest.mark.parametrize(("version", "named"), [(0, 2), (1, -1)])
    def test_a_leader_without_a_place_is_named_to_who_knows_it(self, version: int, named: int) -> None:
        def respond() -> FetchSnapshotResponse:
            error = Error.NOT_LEADER_OR_FOLLOWER
            return FetchSnapshotResponse(error=error, leader_id=NodeId(2), leader_epoch=Epoch(3))

        said = _asked(ScriptedNode(), respond, fetch_snapshot(version))
        assert said.topics[0].partitions[0].current_leader.leader_id == named

    def test_a_refusal_names_the_snapshot(self) -> None:
        answer = FetchSnapshotResponse(error=Error.SNAPSHOT_NOT_FOUND, leader_epoch=Epoch(3))
        part = _asked(ScriptedNode(), lambda: answer, fetch_snapshot(1)).topics[0].partitions[0]
        assert (part.error_code.value, part.snapshot_id.end_offset, part.unaligned_records) == (98, 100, b"")

    def test_another_cluster_is_refused_at_the_top(self) -> None:
        answer = FetchSnapshotResponse(error=Error.INCONSISTENT_CLUSTER_ID, leader_epoch=Epoch(3))
        said = _asked(ScriptedNode(), lambda: answer, fetch_snapshot(1))
        assert (said.error_code.value, said.topics) == (104, ())

    def test_another_topic_is_unknown(self) -> None:
        async def main() -> None:
            async with kafka_door(ScriptedNode()) as door, connected(door.port) as client:
                assert (await client.ask(fetch_snapshot(1, name="other"))).error_code.value == 3

        run(main())
