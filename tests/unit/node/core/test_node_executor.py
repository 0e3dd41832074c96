"""Three executors in virtual time elect, create topics, lose leaders and recover; their responses are true."""

from __future__ import annotations

from typing import Any

from metadata_log.format.batch import parse_header
from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, NodeId, TopicId
from metadata_log.offsets import Offset
from metadata_log.records import RemoveTopicRecord
from metadata_log.storage.file_log import LogConfig
from quorum.api.calls import ClientAnswer, ClientCall, PeerCall
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest
from quorum.api.topics import DescribeTopics
from quorum.node.core.peer_failures import PeersReached, VotersUnreached
from quorum.node.core.ports import ControllerDeactivated, PeerRequested, RequestRejected
from tests.support.durable_files import read_directory
from tests.support.node_cluster import Cluster
from tests.support.node_requests import BROKER, CLUSTER_ID, WALL_START_MS, create_request
from tests.support.peer_failures import RESET
from tests.support.simulated_node import Node


def _started(seed: int = 1, count: int = 3) -> tuple[Cluster, Node]:
    cluster = Cluster(count, seed=seed)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    return cluster, leader


def _settle(cluster: Cluster) -> None:
    """Until every replica has published all that the leader has."""
    leader = cluster.elect()

    def is_settled() -> bool:
        end = leader.executor.machine.log_end_offset
        return all(node.executor.image.offset_and_epoch.offset == end for node in cluster.nodes if node.is_up)

    cluster.run_until(is_settled)


def _describe(*names: str) -> DescribeTopics:
    return DescribeTopics(names=names)


def test_a_topic_is_created_and_every_replica_publishes_the_same_image() -> None:
    cluster, leader = _started()
    answers = cluster.create(leader, "orders")
    cluster.run_until(lambda: bool(answers))
    assert answers[0].error is Error.NONE
    _settle(cluster)
    images = [node.executor.image for node in cluster.nodes]
    assert images[0] == images[1] == images[2]
    assert "orders" in images[0].topics.by_name
    assert sorted(images[0].cluster.controllers.keys()) == [1, 2, 3]
    cluster.check()


def _named_in_fetches(cluster: Cluster) -> set[TopicId]:
    """Return the topic ids in the followers' next Fetch requests to the leader."""
    named: set[TopicId] = set()
    for node in cluster.nodes:
        if node.is_up and node.executor.machine.role == "follower":
            leader_id = node.executor.machine.leader_id
            assert leader_id is not None
            named.add(node.executor.topic_id_fence.fetch_topic_id(leader_id))
    return named


def test_the_metadata_topic_gets_an_id_of_its_own_that_fetches_then_name() -> None:
    cluster, _ = _started()
    _settle(cluster)
    own = cluster.nodes[0].executor.image.topics.by_name[METADATA_TOPIC_NAME]
    assert own != METADATA_TOPIC_ID
    cluster.run_for(3000)
    assert _named_in_fetches(cluster) == {own}


def test_a_deleted_record_of_the_metadata_topic_is_replayed_and_the_next_active_controller_writes_another() -> None:
    """A Java controller that leads may permit this deletion."""
    cluster, leader = _started()
    _settle(cluster)
    own = leader.executor.image.topics.by_name[METADATA_TOPIC_NAME]
    tail = leader.executor.application._tail  # type: ignore[union-attr]
    assert tail.add((RemoveTopicRecord(topic_id=own),), WALL_START_MS, is_atomic=True)
    leader.turn([])
    cluster.run_until(
        lambda: all(METADATA_TOPIC_NAME not in node.executor.image.topics.by_name for node in cluster.nodes)
    )
    cluster.run_for(3000)
    assert _named_in_fetches(cluster) == {METADATA_TOPIC_ID}
    answers = cluster.create(leader, "orders")
    cluster.run_until(lambda: bool(answers))
    assert cluster.elect() is leader, "it must depose no leader"
    leader.crash()
    cluster.run_until(lambda: cluster.leader not in (None, leader))
    leader.start()
    _settle(cluster)
    cluster.run_for(3000)
    (new,) = {node.executor.image.topics.by_name[METADATA_TOPIC_NAME] for node in cluster.nodes}
    assert new not in (own, METADATA_TOPIC_ID)
    assert _named_in_fetches(cluster) == {new}
    cluster.check()


def test_requests_of_one_turn_share_a_batch() -> None:
    cluster, leader = _started()
    _settle(cluster)  # while a batch is on its way, requests gather for the next
    before = leader.executor.machine.log_end_offset
    answers: list[ClientAnswer] = []
    calls = [
        ClientCall(request=create_request(f"t{n}"), context=RequestContext(), respond=answers.append) for n in range(20)
    ]
    leader.turn(calls)
    batches = list(leader.executor.log.iter_from(before))
    assert len(batches) == 1
    assert batches[0][0].count == 40
    cluster.run_until(lambda: len(answers) == 20)
    assert {answer.error for answer in answers} == {Error.NONE}


def test_whoever_waits_for_a_commit_is_told_at_once_what_is_to_become_true() -> None:
    cluster, leader = _started()
    _settle(cluster)
    expected: list[object] = []
    answers: list[ClientAnswer] = []
    request, context = create_request("t"), RequestContext()
    leader.turn([ClientCall(request=request, context=context, respond=answers.append, prepare=expected.append)])
    assert len(expected) == 1
    assert not answers
    cluster.run_until(lambda: bool(answers))
    assert [answer.response for answer in answers] == expected


def test_requests_that_come_while_a_batch_is_on_its_way_share_the_next_one() -> None:
    cluster, leader = _started()
    _settle(cluster)
    first = cluster.create(leader, "first")
    cluster.run_until(lambda: leader.executor.machine.log_end_offset > leader.executor.high_watermark)
    end = leader.executor.machine.log_end_offset
    later = [cluster.create(leader, f"later{number}") for number in range(5)]
    cluster.run_until(lambda: bool(first))
    assert not any(later)
    cluster.run_until(lambda: all(later))
    batches = leader.executor.log.read(end, 1 << 20)
    header = parse_header(batches)
    assert (header.count, header.size_in_bytes) == (10, len(batches))
    _settle(cluster)
    cluster.check()


def test_a_client_waits_behind_one_step_of_fencing_at_most() -> None:
    cluster = Cluster(3, seed=1)
    cluster.session_timeout_ms, cluster.max_records_per_sweep = 1000, 10
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    made: list[ClientAnswer] = []
    leader.call(create_request(*(f"t{number}" for number in range(400))), made.append)
    cluster.run_until(lambda: bool(made))
    _settle(cluster)
    for count in range(1, 6):
        end = leader.executor.machine.log_end_offset
        cluster.run_until(lambda end=end: leader.executor.machine.log_end_offset > end)  # type: ignore[misc]
        asked_at = leader.executor.machine.log_end_offset
        answers = cluster.create(leader, f"meanwhile{count}")
        cluster.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]
        assert answers[0].error is Error.NONE
        assert answers[0].image_offset - asked_at <= 10 + 2
    broker = NodeId(BROKER)
    assert not leader.executor.image.cluster.brokers[broker].fenced
    cluster.run_until(lambda: leader.executor.image.cluster.brokers[broker].fenced)
    topics = leader.executor.image.topics.by_id.values()
    assert all(broker not in partition.isr or partition.isr == (broker,) for t in topics for partition in t.partitions)
    _settle(cluster)
    cluster.check()


def test_a_follower_replays_only_when_the_leader_does_not_wait_for_its_disk() -> None:
    cluster, leader = _started()
    _settle(cluster)
    follower = next(node for node in cluster.nodes if node is not leader).executor
    answers = cluster.create(leader, "first")
    cluster.run_until(lambda: bool(answers))
    end_of_first = leader.executor.high_watermark
    cluster.create(leader, "second")
    cluster.run_until(lambda: follower.high_watermark == end_of_first)
    assert follower.machine.flushed_offset < follower.machine.log_end_offset
    assert "first" not in follower.image.topics.by_name
    cluster.run_until(lambda: "first" in follower.image.topics.by_name)
    assert follower.machine.flushed_offset == follower.machine.log_end_offset


def test_a_standby_refuses_with_the_leaders_name_and_reads_what_it_is_asked_to_have() -> None:
    cluster, leader = _started()
    answers = cluster.create(leader, "orders")
    cluster.run_until(lambda: bool(answers))
    standby = next(node for node in cluster.nodes if node is not leader)
    refused: list[ClientAnswer] = []
    standby.call(create_request("other"), refused.append)
    assert refused[0].error is Error.NOT_CONTROLLER
    assert refused[0].leader_id == leader.node_id
    assert [endpoint.host for endpoint in refused[0].leader_endpoints] == [f"c{leader.node_id}"] * 2
    read: list[ClientAnswer] = []
    standby.call(_describe("orders"), read.append, at_least_offset=answers[0].image_offset)
    cluster.run_until(lambda: bool(read))
    response: Any = read[0].response
    assert response.topics[0].error is Error.NONE
    assert read[0].image_offset >= answers[0].image_offset


def test_a_read_of_an_offset_that_does_not_come_is_refused_at_its_deadline() -> None:
    cluster, leader = _started()
    standby = next(node for node in cluster.nodes if node is not leader)
    read: list[ClientAnswer] = []
    standby.call(_describe("x"), read.append, at_least_offset=1 << 40)
    cluster.run_until(lambda: bool(read), within_ms=11_000)
    assert read[0].error is Error.OFFSET_NOT_AVAILABLE


def test_nothing_is_answered_before_it_is_committed() -> None:
    cluster, leader = _started()
    _settle(cluster)
    for node in cluster.nodes:
        if node is not leader:
            node.crash()
    answers = cluster.create(leader, "orders")
    reads: list[ClientAnswer] = []
    leader.call(_describe("orders"), reads.append)
    cluster.run_for(1000)
    assert answers == []
    assert reads == []


def test_lost_leadership_with_appended_requests_says_that_the_outcome_is_unknown() -> None:
    cluster, leader = _started()
    _settle(cluster)
    others = [node for node in cluster.nodes if node is not leader]
    for node in others:
        cluster.cut |= {(leader.node_id, node.node_id), (node.node_id, leader.node_id)}
    answers = cluster.create(leader, "appended")
    reads: list[ClientAnswer] = []
    leader.call(_describe("appended"), reads.append)
    gathered = cluster.create(leader, "gathered")
    cluster.run_until(lambda: bool(answers), within_ms=10_000)
    assert answers[0].error is Error.REQUEST_TIMED_OUT
    assert gathered[0].error is Error.NOT_CONTROLLER
    assert reads[0].error is Error.NOT_CONTROLLER
    told = [event for event in leader.events if isinstance(event, ControllerDeactivated)]
    assert [event.unknown_outcomes for event in told] == [1]
    late = cluster.create(leader, "not-appended")
    assert late[0].error is Error.NOT_CONTROLLER
    cluster.cut.clear()
    cluster.run_until(lambda: cluster.leader is not None and cluster.leader is not leader)
    _settle(cluster)
    names = [sorted(node.executor.image.topics.by_name.keys()) for node in cluster.nodes]
    assert names == [[METADATA_TOPIC_NAME]] * 3
    cluster.check()


def test_a_killed_leader_is_replaced_and_comes_back_with_the_same_log() -> None:
    cluster, leader = _started()
    created = cluster.create(leader, "before")
    cluster.run_until(lambda: bool(created))
    uncommitted = cluster.create(leader, "lost")
    leader.crash()
    killed_at = cluster.now_ms
    cluster.run_until(lambda: cluster.leader is not None)
    assert cluster.now_ms - killed_at < 1500
    assert uncommitted == []
    successor = cluster.elect()
    after = cluster.create(successor, "after")
    cluster.run_until(lambda: bool(after))
    leader.start()
    _settle(cluster)
    assert len({node.executor.image.offset_and_epoch.offset for node in cluster.nodes}) == 1
    assert {"before", "after"} <= set(cluster.nodes[0].executor.image.topics.by_name)
    cluster.run_for(50)
    ends = [read_directory(node.files)[0] for node in cluster.nodes]
    assert len(set(ends)) == 1
    cluster.check()


def test_a_clean_stop_hands_over_and_leaves_the_directory_free() -> None:
    cluster, leader = _started()
    stopped_at = cluster.now_ms
    leader.stop()
    cluster.run_until(lambda: not leader.is_up)
    assert leader.failure is None
    cluster.run_until(lambda: cluster.leader is not None)
    assert cluster.now_ms - stopped_at < 100
    leader.start()
    _settle(cluster)
    cluster.check()


def test_a_single_voter_needs_nobody() -> None:
    cluster, leader = _started(count=1)
    answers = cluster.create(leader, "alone")
    cluster.run_until(lambda: bool(answers))
    assert answers[0].error is Error.NONE
    leader.crash()
    leader.start()
    cluster.elect()
    assert "alone" in leader.executor.image.topics.by_name


def test_a_wrong_cluster_or_topic_id_is_refused_and_told() -> None:
    cluster, leader = _started()
    follower = next(node for node in cluster.nodes if node is not leader)
    request = FetchRequest(
        replica=follower.voter.key,
        current_leader_epoch=leader.executor.machine.epoch,
        fetch_offset=leader.executor.machine.log_end_offset,
        last_fetched_epoch=leader.executor.machine.epoch,
        max_bytes=1 << 20,
        max_wait_ms=0,
    )
    wrong = [
        (PeerCall(request=request, cluster_id="other"), Error.INCONSISTENT_CLUSTER_ID),
        (PeerCall(request=request, cluster_id=CLUSTER_ID, topic_id=TopicId(b"\x55" * 16)), Error.UNKNOWN_TOPIC_ID),
        (PeerCall(request=request, cluster_id=CLUSTER_ID, partition=1), Error.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    for number, (call, error) in enumerate(wrong):
        answers: list[Any] = []
        before = leader.executor.machine.describe()
        leader.turn([PeerRequested(request_id=10_000 + number, call=call, respond=answers.append)])
        assert answers[0].error is error
        assert leader.executor.machine.describe() == before
    refusals = [event for event in leader.events if isinstance(event, RequestRejected)]
    assert [refusal.error for refusal in refusals] == [error for _, error in wrong]
    assert not any(refusal.passes for refusal in refusals)


def test_a_restarted_node_takes_any_topic_id_until_it_has_replayed_its_own() -> None:
    """A majority comes back: the leader before names the topic's own id to one that has replayed nothing of it."""
    cluster, kept = _started(seed=2)
    gone = [node for node in cluster.nodes if node is not kept]
    for node in gone:
        node.crash()
    cluster.run_for(10_000)
    for node in gone:
        node.start()
    cluster.elect()
    cluster.run_for(2_000)
    told = [event for node in cluster.nodes for event in node.events]
    losses = [event for event in told if isinstance(event, VotersUnreached)]
    assert len(losses) == 1
    assert [peer.peer for peer in losses[0].missing] == [node.executor.replica for node in gone]
    assert {peer.failure for peer in losses[0].missing} == {RESET}
    assert sum(type(event) is PeersReached for event in told) == 1
    assert not any(isinstance(event, RequestRejected) for event in told)
    own_ids = {node.executor.topic_id_fence.own_ids for node in cluster.nodes}
    assert len(own_ids) == 1
    assert own_ids != {()}


def test_the_same_seed_gives_the_same_scenario() -> None:
    scenarios = []
    for _ in range(2):
        cluster, leader = _started(seed=7)
        answers = cluster.create(leader, "t")
        cluster.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]
        leader.crash()
        cluster.elect()
        cluster.run_for(500)
        scenarios.append([(node.events, node.files.changes) for node in cluster.nodes])
    assert scenarios[0] == scenarios[1]


def test_a_follower_far_behind_is_fed_from_the_files() -> None:
    cluster = Cluster(seed=4, log=LogConfig(cache_bytes=1))
    cluster.start()
    cluster.add_broker()
    leader = cluster.elect()
    behind = next(node for node in cluster.nodes if node is not leader)
    behind.crash()
    for number in range(30):
        answers = cluster.create(leader, f"t{number}")
        cluster.run_until(lambda answers=answers: bool(answers))  # type: ignore[misc]
    assert leader.executor.log.needs_cold_read(Offset(5))
    behind.start()
    _settle(cluster)
    assert behind.executor.image == leader.executor.image
    cluster.check()
