"""Elections among replicas of which some know the metadata topic's own id and some do not: they take no more rounds.

The same scenes are played with the sentinel alone, as the release before named the metadata topic in votes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from metadata_log.ids import METADATA_TOPIC_ID, TopicId
from quorum.api.calls import PeerCall, PeerRequest
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest
from quorum.node.core.executor import Executor
from quorum.node.core.ports import RequestRejected, RoleChanged
from quorum.node.core.topic_id_fencing import Refusal, TopicIdFence
from tests.support.node_cluster import Cluster
from tests.support.simulated_node import Node

SEEDS: Final = range(12)


class SentinelGate(TopicIdFence):
    """The release before as a sender: the own id is in Fetches alone."""

    def topic_id_for(self, request: PeerRequest, destination_id: int) -> TopicId:
        return self.fetch_topic_id(destination_id) if isinstance(request, FetchRequest) else METADATA_TOPIC_ID


class StrictGate(SentinelGate):
    """The release before as a receiver: an id that it has not replayed is refused, the right one, too."""

    def validate(self, call: PeerCall) -> Refusal | None:
        known = (METADATA_TOPIC_ID, *self.own_ids, self._appended)
        if call.topic_id not in known:
            return Refusal(error=Error.UNKNOWN_TOPIC_ID, why="it is not known here")
        return super().validate(call)


class SentinelExecutor(Executor):
    topic_id_fence_type = SentinelGate


class StrictExecutor(Executor):
    topic_id_fence_type = StrictGate


class NamelessGate(SentinelGate):
    """A Java voter: its metadata topic has only a name, by which requests name it."""

    def validate(self, call: PeerCall) -> Refusal | None:
        return None


class NamelessExecutor(Executor):
    topic_id_fence_type = NamelessGate


def _fresh(cluster: Cluster, node: Node) -> None:
    cluster.format(node)


def _loading(cluster: Cluster, node: Node) -> None:
    """It starts with nothing replayed: there is no checkpoint."""


def _strict(cluster: Cluster, node: Node) -> None:
    node.executor_type = StrictExecutor


def _fresh_and_strict(cluster: Cluster, node: Node) -> None:
    """It cannot win, so its vote decides."""
    cluster.format(node)
    node.executor_type = StrictExecutor


def _like_java(cluster: Cluster, node: Node) -> None:
    node.executor_type = NamelessExecutor


def _play(executor: type[Executor], seed: int, become: Callable[[Cluster, Node], None]) -> tuple[int, int, int]:
    """Rounds of pre-votes and of votes until the next leads, and its epoch."""
    cluster, next_leader = _played(executor, seed, become)
    roles = [event.role for node in cluster.nodes for event in node.events if isinstance(event, RoleChanged)]
    return roles.count("prospective"), roles.count("candidate"), int(next_leader.executor.machine.epoch)


def _played(executor: type[Executor], seed: int, become: Callable[[Cluster, Node], None]) -> tuple[Cluster, Node]:
    """One voter comes back changed, and then the leader dies, until another leads."""
    cluster = Cluster(3, seed=seed, executor=executor)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    cluster.run_for(2_000)
    changed = next(node for node in cluster.nodes if node is not leader)
    changed.crash()
    become(cluster, changed)
    for node in cluster.nodes:
        node.events.clear()
    changed.start()
    leader.crash()
    cluster.run_until(lambda: cluster.leader not in (None, leader))
    cluster.check()
    return cluster, cluster.elect()


@pytest.mark.parametrize("become", [_fresh, _loading, _strict, _fresh_and_strict, _like_java])
def test_no_election_takes_more_rounds(become: Callable[[Cluster, Node], None]) -> None:
    now = [_play(Executor, seed, become) for seed in SEEDS]
    before = [_play(SentinelExecutor, seed, become) for seed in SEEDS]
    assert [rounds[1:] for rounds in now] == [rounds[1:] for rounds in before]
    assert max(now) <= max(before)


def test_a_request_that_is_refused_by_its_id_is_sent_again_at_once() -> None:
    """A voter of the release before refuses the id, and answers the sentinel: the core hears of one answer."""
    refusals = _refusals(_strict)
    assert {event.passes for event in refusals} == {True, False}
    assert all(event.error is Error.UNKNOWN_TOPIC_ID for event in refusals)
    assert _refusals(_fresh) == _refusals(_loading) == []


def _refusals(become: Callable[[Cluster, Node], None]) -> list[RequestRejected]:
    cluster, _ = _played(Executor, 1, become)
    return [event for node in cluster.nodes for event in node.events if isinstance(event, RequestRejected)]
