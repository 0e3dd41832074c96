"""A handover ends with the voter that was asked for, whatever order its messages come in: whole clusters of cores."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from quorum.api.error_codes import Error
from quorum.api.raft_messages import EndQuorumEpochRequest, Response
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.raft.inputs import RequestReceived
from quorum.raft.ready import SendRequest
from tests.support.raft_cluster import Cluster, Node

REQUEST = 1 << 40


class _Cluster(Cluster):
    """Keeps what the operator is answered. EndQuorumEpoch is held up, as by a connection that has to be opened."""

    def __init__(self, seed: int, voters: int) -> None:
        super().__init__(seed, voters=voters)
        self.answer: TransferLeadershipResponse | None = None
        self.slowest_end_ms = 0
        self.dies: int | None = None
        """The replica that is killed in the moment in which leadership is given up for it."""

    def _send_request(self, node: Node, effect: SendRequest) -> None:
        usual = self.faults.delay_ms
        if isinstance(effect.request, EndQuorumEpochRequest):
            self.faults.delay_ms = (usual[0], max(usual[1], self.slowest_end_ms))
            if self.dies is not None and self.nodes[self.dies].machine is not None:
                self.crash(self.dies)
        super()._send_request(node, effect)
        self.faults.delay_ms = usual

    def on_answer(self, request_id: int, response: Response) -> None:
        assert request_id == REQUEST
        assert isinstance(response, TransferLeadershipResponse)
        self.answer = response

    def ask(self, to: int) -> None:
        leader_id = self.leader()
        assert leader_id is not None
        request = TransferLeadershipRequest(to=NodeId(to), timeout_ms=5000)
        self.feed(self.nodes[leader_id], RequestReceived(request_id=REQUEST, request=request, draw=self.draw()))

    def hand_over(self, to: int) -> TransferLeadershipResponse:
        self.ask(to)
        self.run(6000, until=lambda: self.answer is not None)
        assert self.answer is not None, self.describe()
        return self.answer


def _led(seed: int, voters: int, slowest_ms: int = 3) -> tuple[_Cluster, int]:
    """A cluster with a leader, and messages that take up to `slowest_ms`; and who is to lead next."""
    cluster = _Cluster(seed, voters=voters)
    for node_id in cluster.nodes:
        cluster.start(node_id)
    assert cluster.run(30_000, until=lambda: cluster.leader() is not None), cluster.describe()
    cluster.run(1000)
    leader_id = cluster.leader()
    assert leader_id is not None
    cluster.propose(leader_id, b"before")
    cluster.faults.delay_ms = (1, slowest_ms)
    others = [node_id for node_id in cluster.nodes if node_id != leader_id]
    return cluster, others[seed % len(others)]


FEW, MORE = range(50), range(50, 200)
of_some_seeds = pytest.mark.parametrize("seeds", [FEW, pytest.param(MORE, marks=pytest.mark.campaign)], ids=str)


@of_some_seeds
@pytest.mark.parametrize("slowest_ms", [3, 20, 60])
@pytest.mark.parametrize("voters", [3, 5])
def test_who_was_named_leads_whatever_is_heard_first(voters: int, slowest_ms: int, seeds: range) -> None:
    """The others hear the successor's pre-vote before they know why, or it takes the successor longer than a turn."""
    for seed in seeds:
        cluster, to = _led(seed, voters, slowest_ms)
        answer = cluster.hand_over(to)
        assert (answer.error, answer.leader_id) == (Error.NONE, to), f"seed {seed}: {cluster.describe()}"


@of_some_seeds
@pytest.mark.parametrize("voters", [3, 5])
def test_who_was_named_leads_though_the_others_hear_late_of_it(voters: int, seeds: range) -> None:
    """Their Fetches are refused several times before the EndQuorumEpoch that explains it is there."""
    for seed in seeds:
        cluster, to = _led(seed, voters)
        cluster.slowest_end_ms = 150
        answer = cluster.hand_over(to)
        assert (answer.error, answer.leader_id) == (Error.NONE, to), f"seed {seed}: {cluster.describe()}"


@pytest.mark.parametrize("both_die", [False, True])
def test_where_the_one_that_was_named_dies_another_leads(*, both_die: bool) -> None:
    """The others wait for the dead successor for at most two election timeouts, then elect another voter.

    The former leader can be elected, too. If it is dead as well, a majority is still alive.
    """
    for seed in range(20):
        cluster, to = _led(seed, 5)
        before = cluster.leader()
        assert before is not None
        cluster.dies = to
        began_ms = cluster.now_ms
        cluster.ask(to)
        assert cluster.run(500, until=lambda cluster=cluster: cluster.leader() is None), cluster.describe()
        if both_die:
            cluster.run(20)
            cluster.crash(before)
        assert cluster.run(6000, until=lambda cluster=cluster: cluster.leader() is not None), cluster.describe()
        assert cluster.leader() in set(cluster.nodes) - ({before, to} if both_die else {to})
        assert cluster.now_ms - began_ms < 2 * cluster.config.election_timeout_ms + 500
