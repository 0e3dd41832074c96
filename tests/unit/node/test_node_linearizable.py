"""Linearizable reads: before the response, the leader proves that it led after the request arrived (DESIGN 2.1)."""

from __future__ import annotations

from typing import Any

from metadata_log.ids import NodeId
from quorum.api.brokers import BrokerHeartbeat
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.api.topics import DeleteTopics, DeleteTopicState, DescribeTopics
from tests.support.node_cluster import Cluster
from tests.support.node_requests import BROKER, create_request
from tests.support.simulated_node import Node


def _started() -> tuple[Cluster, Node]:
    cluster = Cluster(3, seed=5)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    return cluster, leader


def _done(cluster: Cluster, node: Node, request: object) -> Any:
    answers: list[ClientAnswer] = []
    node.call(request, answers.append)
    cluster.run_until(lambda: bool(answers))
    assert answers[0].error is Error.NONE
    return answers[0].response


def _cut_off(cluster: Cluster, node: Node) -> None:
    for other in cluster.nodes:
        if other is not node:
            cluster.cut |= {(node.node_id, other.node_id), (other.node_id, node.node_id)}


def _depose(cluster: Cluster, old: Node) -> Node:
    """The others elect one of them; `old` still believes that it leads."""
    _cut_off(cluster, old)
    cluster.run_until(lambda: cluster.leader is not None and cluster.leader is not old)
    assert old.executor.machine.is_leader
    assert old.executor.active_epoch is not None
    new = cluster.leader
    assert new is not None
    return new


def test_the_leader_answers_once_a_majority_has_confirmed_it() -> None:
    cluster, leader = _started()
    created = cluster.create(leader, "orders")
    cluster.run_until(lambda: bool(created))
    answers: list[ClientAnswer] = []
    before = cluster.now_ms
    leader.call(DescribeTopics(names=("orders",)), answers.append)
    assert answers == []
    cluster.run_until(lambda: bool(answers))
    assert answers[0].response.topics[0].error is Error.NONE  # type: ignore[union-attr]
    assert answers[0].image_offset >= created[0].image_offset
    assert cluster.now_ms - before < 20


def test_one_voter_of_three_that_cannot_be_reached_holds_up_no_read() -> None:
    cluster, leader = _started()
    next(node for node in cluster.nodes if node is not leader).crash()
    for _ in range(3):
        _done(cluster, leader, DescribeTopics(all_topics=True))


def test_a_deposed_leader_that_does_not_know_it_answers_no_read() -> None:
    cluster, old = _started()
    created = cluster.create(old, "gone")
    cluster.run_until(lambda: bool(created))
    new = _depose(cluster, old)
    new.unfence_broker()
    _done(cluster, new, DeleteTopics(topics=(DeleteTopicState(name="gone"),)))
    stale: list[ClientAnswer] = []
    old.call(DescribeTopics(names=("gone",)), stale.append)
    assert _done(cluster, new, DescribeTopics(names=("gone",))).topics[0].error is Error.UNKNOWN_TOPIC_OR_PARTITION
    cluster.run_until(lambda: bool(stale))
    assert stale[0].error is Error.NOT_CONTROLLER
    assert stale[0].response is None


def test_a_deposed_leader_does_not_say_either_that_a_topic_is_there_already() -> None:
    cluster, old = _started()
    created = cluster.create(old, "gone")
    cluster.run_until(lambda: bool(created))
    new = _depose(cluster, old)
    _done(cluster, new, DeleteTopics(topics=(DeleteTopicState(name="gone"),)))
    stale: list[ClientAnswer] = []
    old.call(create_request("gone"), stale.append)
    old.call(DeleteTopics(topics=(DeleteTopicState(name="never"),)), stale.append)
    cluster.run_until(lambda: len(stale) == 2)
    assert [answer.error for answer in stale] == [Error.NOT_CONTROLLER] * 2


def test_what_is_true_of_records_on_their_way_waits_for_their_commit_and_for_the_proof() -> None:
    cluster, leader = _started()
    first = cluster.create(leader, "twice")
    second: list[ClientAnswer] = []
    leader.call(create_request("twice"), second.append)
    assert (first, second) == ([], [])
    cluster.run_until(lambda: bool(second))
    assert first
    assert second[0].response.topics[0].error is Error.TOPIC_ALREADY_EXISTS  # type: ignore[union-attr]


def test_a_leader_without_a_majority_answers_no_read_and_no_refusal_but_a_heartbeat() -> None:
    cluster, leader = _started()
    cluster.run_for(500)
    epoch = leader.executor.image.cluster.broker_epoch(NodeId(BROKER))
    _cut_off(cluster, leader)
    unproven: list[ClientAnswer] = []
    leader.call(DescribeTopics(all_topics=True), unproven.append)
    beats: list[ClientAnswer] = []
    leader.call(BrokerHeartbeat(broker_id=BROKER, broker_epoch=epoch, current_metadata_offset=1 << 40), beats.append)
    assert [answer.error for answer in beats] == [Error.NONE]
    cluster.run_for(1000)
    assert unproven == []


def test_a_read_that_cannot_be_proven_is_refused_at_its_deadline_at_the_latest() -> None:
    cluster, leader = _started()
    answers: list[ClientAnswer] = []
    for other in cluster.nodes:
        if other is not leader:  # messages to the leader arrive, and keep it in office; messages from it do not
            cluster.cut.add((leader.node_id, other.node_id))
    leader.call(DescribeTopics(all_topics=True), answers.append)
    cluster.run_until(lambda: bool(answers), within_ms=11_000)
    assert answers[0].error is Error.NOT_CONTROLLER


def test_a_standby_names_the_leader() -> None:
    cluster, leader = _started()
    standby = next(node for node in cluster.nodes if node is not leader)
    answers: list[ClientAnswer] = []
    standby.call(DescribeTopics(all_topics=True), answers.append)
    assert [(answer.error, answer.leader_id) for answer in answers] == [(Error.NOT_CONTROLLER, leader.node_id)]
