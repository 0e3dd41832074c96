"""A requested transfer of leadership, under load or impossible, loses no record and leaves no outcome unknown."""

from __future__ import annotations

from collections import Counter

import pytest

from metadata_log.ids import NodeId
from quorum.api.calls import ClientAnswer, PeerCall, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.node.core.ports import PeerRequested
from tests.support.node_cluster import Cluster
from tests.support.simulated_node import Node


def _started(seed: int = 5) -> tuple[Cluster, Node, list[Node]]:
    cluster = Cluster(3, seed=seed)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    return cluster, leader, [node for node in cluster.nodes if node is not leader]


def _ask(node: Node, to: int | None, timeout_ms: int = 5000) -> list[TransferLeadershipResponse]:
    answers: list[TransferLeadershipResponse] = []

    def respond(response: PeerResponse) -> None:
        assert isinstance(response, TransferLeadershipResponse)
        answers.append(response)

    request = TransferLeadershipRequest(to=None if to is None else NodeId(to), timeout_ms=timeout_ms)
    node.turn([PeerRequested(request_id=1 << 40, call=PeerCall(request=request, cluster_id=None), respond=respond)])
    return answers


@pytest.mark.parametrize("seed", range(6))
def test_under_load_the_one_that_was_named_leads_and_no_outcome_is_unknown(seed: int) -> None:
    cluster, leader, others = _started(seed)
    epoch, target = leader.executor.machine.epoch, others[seed % 2]
    created: list[list[ClientAnswer]] = []

    def load() -> None:
        created.append(cluster.create(cluster.leader or leader, f"t{len(created)}"))
        cluster.later(1, load)

    load()
    cluster.run_for(50)
    answers = _ask(leader, target.node_id)
    cluster.run_until(lambda: bool(answers), within_ms=2000)
    assert answers == [
        TransferLeadershipResponse(
            leader_id=NodeId(target.node_id), leader_epoch=epoch + 1, leader_endpoints=target.voter.endpoints
        )
    ]
    assert cluster.elect() is target
    cluster.run_for(200)
    outcomes = Counter(answer.error for each in created for answer in each)
    assert outcomes[Error.NONE] > 20
    assert set(outcomes) <= {Error.NONE, Error.NOT_CONTROLLER}
    cluster.check()


def test_to_whoever_has_all_of_the_log() -> None:
    cluster, leader, others = _started()
    others[0].crash()
    answers = _ask(leader, None)
    cluster.run_until(lambda: bool(answers), within_ms=2000)
    assert [(answer.error, answer.leader_id) for answer in answers] == [(Error.NONE, others[1].node_id)]


def test_to_one_that_is_down_it_is_refused_in_time_and_the_leader_goes_on() -> None:
    cluster, leader, others = _started()
    others[0].crash()
    cluster.run_for(2500)
    before = leader.executor.machine.epoch
    answers = _ask(leader, others[0].node_id, timeout_ms=700)
    created = cluster.create(leader, "meanwhile")
    cluster.run_until(lambda: bool(answers), within_ms=1000)
    assert answers[0].error is Error.REQUEST_TIMED_OUT
    assert answers[0].why == f"node {others[0].node_id} has not fetched lately: node {leader.node_id} still leads"
    assert [answer.error for answer in created] == [Error.NONE]
    assert (cluster.leader, leader.executor.machine.epoch) == (leader, before)


def test_what_waits_while_it_is_tried_is_done_when_it_comes_to_nothing() -> None:
    """The successor asks, near the end of the log, but hears nothing any more: writes wait, for a second at most."""
    cluster, leader, others = _started()
    cluster.run_for(100)
    target = others[0]
    cluster.cut.add((leader.node_id, target.node_id))
    first = cluster.create(leader, "first")
    cluster.run_until(lambda: bool(first))
    answers = _ask(leader, target.node_id)
    cluster.run_until(lambda: leader.executor.machine.is_handing_over, within_ms=2500)
    created = cluster.create(leader, "held")
    cluster.run_for(300)
    assert (answers, created) == ([], [])
    cluster.run_until(lambda: bool(created), within_ms=1500)
    assert [answer.error for answer in answers] == [Error.REQUEST_TIMED_OUT]
    assert "lacks" in (answers[0].why or "")
    assert [answer.error for answer in created] == [Error.NONE]


def test_who_does_not_lead_names_who_does() -> None:
    cluster, leader, others = _started()
    cluster.run_for(100)
    (answer,) = _ask(others[0], others[1].node_id)
    assert (answer.error, answer.leader_id) == (Error.NOT_LEADER_OR_FOLLOWER, leader.node_id)


def test_what_cannot_be_is_refused_at_once() -> None:
    _, leader, _ = _started()
    (answer,) = _ask(leader, 77)
    assert (answer.error, answer.why) == (Error.VOTER_NOT_FOUND, "there is no voter 77: the voters are 1, 2, 3")
    (answer,) = _ask(leader, leader.node_id)
    assert (answer.error, answer.leader_id) == (Error.NONE, leader.node_id)
