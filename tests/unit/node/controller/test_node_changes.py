"""Accepted changes are reported by the active controller, once each, when they are committed."""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import RemoveTopicRecord
from quorum.api.brokers import RegisterBroker
from quorum.api.calls import NO_CALLER, ClientAnswer, ClientCall, PeerCall, PeerResponse
from quorum.api.error_codes import Error
from quorum.api.topics import CreateTopics
from quorum.api.voter_messages import AddRaftVoterRequest, AddRaftVoterResponse
from quorum.node.core.changes import MOST_PENDING, Changes
from quorum.node.core.metadata_changes import Change, MetadataChanged
from quorum.node.core.ports import NodeEvent, PeerRequested
from tests.support.node_cluster import Cluster
from tests.support.node_requests import create_request
from tests.support.simulated_node import Node

VOTER = ReplicaKey(node_id=NodeId(4), directory_id=DirectoryId(bytes(15) + b"\4"))


def _changes(node: Node, *requests: type) -> list[Change]:
    """Return the changes that the node has reported of these requests."""
    return [each for each in _reported(node.events) if type(each.request) in requests]


def _reported(events: Iterable[NodeEvent]) -> list[Change]:
    return [each for event in events if isinstance(event, MetadataChanged) for each in event.changes]


def _cluster() -> tuple[Cluster, Node]:
    cluster = Cluster()
    cluster.start()
    cluster.add_broker()
    leader = cluster.leader
    assert leader is not None
    cluster.run_for(100)
    return cluster, leader


def test_the_active_controller_reports_each_change_once_with_the_offset_of_its_last_record() -> None:
    cluster, leader = _cluster()
    cluster.create_each("orders", "users")
    cluster.create_each("orders")
    cluster.run_for(1_000)
    found = _changes(leader, CreateTopics)
    assert [each.request for each in found] == [create_request("orders"), create_request("users")]
    assert all(each.is_committed for each in found)
    end = leader.executor.image.offset_and_epoch.offset
    assert found[0].offset < found[1].offset < end
    assert _changes(leader, RegisterBroker) != []
    assert [node.node_id for node in cluster.nodes if _changes(node, CreateTopics)] == [leader.node_id]


def test_nothing_is_reported_before_the_commit_and_all_of_it_after_the_asker_has_given_up() -> None:
    cluster, leader = _cluster()
    for node in cluster.nodes:
        node.disk_latency_ms = 400
    answers: list[ClientAnswer] = []
    asked_ms = cluster.now_ms
    leader.call(create_request("orders"), answers.append, deadline_ms=asked_ms + 200)
    cluster.run_until(lambda: bool(answers))
    assert answers[0].error is Error.REQUEST_TIMED_OUT
    assert _changes(leader, CreateTopics) == []
    cluster.run_until(lambda: bool(_changes(leader, CreateTopics)))
    (found,) = _changes(leader, CreateTopics)
    assert found.is_committed
    assert found.offset < leader.executor.high_watermark


def test_a_leader_that_is_deposed_says_of_what_it_appended_that_it_does_not_know() -> None:
    cluster, leader = _cluster()
    others = [node.node_id for node in cluster.nodes if node is not leader]
    cluster.cut |= {(leader.node_id, each) for each in others} | {(each, leader.node_id) for each in others}
    first, second = cluster.create(leader, "orders"), cluster.create(leader, "users")
    cluster.run_until(lambda: bool(first and second))
    assert first[0].error is Error.REQUEST_TIMED_OUT
    assert second[0].error is Error.NOT_CONTROLLER
    (found,) = _changes(leader, CreateTopics)
    assert (found.request, found.is_committed) == (create_request("orders"), False)
    cluster.cut.clear()
    cluster.create_each("users")
    cluster.run_for(5_000)
    assert [each.request for each in _changes(leader, CreateTopics) if not each.is_committed] == [found.request]
    active = cluster.elect()
    assert [each.request for each in _changes(active, CreateTopics) if each.is_committed] == [create_request("users")]


def _voter_change(changes: Changes, error: Error, offset: int) -> list[PeerResponse]:
    """Ask to add a voter, and answer with this error and offset; return the answers that left."""
    answers: list[PeerResponse] = []
    request = AddRaftVoterRequest(voter=VOTER, endpoints=())
    call = PeerCall(request=request, cluster_id=None)
    respond = changes.watch(PeerRequested(request_id=1, call=call, respond=answers.append))
    respond(AddRaftVoterResponse(error=error, leader_epoch=Epoch(1), voters_offset=Offset(offset)))
    return answers


def test_a_change_of_voters_is_reported_when_it_is_committed_and_not_when_it_was_refused() -> None:
    told: list[NodeEvent] = []
    changes = Changes(told.append)
    changes.on_committed(Offset(5))
    assert len(_voter_change(changes, Error.NONE, 4)) == 1
    assert len(_voter_change(changes, Error.NONE, 7)) == 1
    assert len(_voter_change(changes, Error.DUPLICATE_VOTER, -1)) == 1
    assert _outcomes(told) == [(4, True)]
    changes.on_committed(Offset(8))
    assert _outcomes(told) == [(4, True), (7, True)]


def test_a_change_of_voters_whose_asker_was_not_told_the_outcome_says_so() -> None:
    told: list[NodeEvent] = []
    changes = Changes(told.append)
    _voter_change(changes, Error.REQUEST_TIMED_OUT, 7)
    changes.on_committed(Offset(8))
    assert _outcomes(told) == [(7, False)]


def test_what_waits_is_bounded() -> None:
    told: list[NodeEvent] = []
    changes = Changes(told.append)
    call = ClientCall(request=create_request("t"), context=NO_CALLER, respond=lambda answer: None)
    records = (RemoveTopicRecord(topic_id=TopicId(bytes(15) + b"\7")),)
    for offset in range(MOST_PENDING + 2):
        changes.add(call, None, records, Offset(offset))
    assert _outcomes(told) == [(0, False), (1, False)]


def _outcomes(events: Iterable[NodeEvent]) -> list[tuple[int, bool]]:
    return [(each.offset, each.is_committed) for each in _reported(events)]
