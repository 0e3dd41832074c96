"""Two processes with one node id: a replica that can prove them reports them; its own restart is no such case."""

from __future__ import annotations

from itertools import pairwise

import pytest

from metadata_log.offsets import Epoch, Offset
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchRequest, FetchResponse
from quorum.raft.inputs import RequestReceived, ResponseReceived
from quorum.raft.ready import PeerRefused
from tests.support.raft_transcript import endpoints_of, key_of
from tests.support.scenario import Scenario
from tests.support.voter_scenario import committed_leader


def _requests(scenario: Scenario) -> set[str]:
    """The kinds of request that it names."""
    return {effect.request for effect in scenario.seen if isinstance(effect, PeerRefused)}


def _told(scenario: Scenario) -> list[str]:
    """Return the reports of two processes with one node id."""
    refused = (effect.what for effect in scenario.seen if isinstance(effect, PeerRefused))
    return [what for what in refused if "two processes have that node.id" in what]


@pytest.mark.parametrize(
    ("directory", "epoch", "is_told"),
    [("9", 0, True), ("9", 5, True), (None, 5, True), (None, 4, False)],
    ids=["a new directory", "that has heard of the leader", "a copy of the directory", "its own Fetch of before"],
)
def test_a_leader_that_is_asked_for_its_log_under_its_own_id(directory: str | None, epoch: int, is_told: bool) -> None:
    scenario = committed_leader(1, 2)
    request = FetchRequest(
        replica=key_of(1, directory),
        current_leader_epoch=Epoch(epoch),
        fetch_offset=Offset(0),
        last_fetched_epoch=Epoch(0),
        max_bytes=1000,
        max_wait_ms=500,
    )
    scenario.give(RequestReceived(request_id=7, request=request, draw=1))
    assert scenario.reply(7, FetchResponse).error is Error.INVALID_REQUEST
    assert len(_told(scenario)) == is_told
    assert _requests(scenario) == ({"FetchRequest"} if is_told else set())


@pytest.mark.parametrize(
    ("node", "leader_at", "is_told"),
    [
        ("node me=1 voters= bootstrap=2,3", 9, True),
        ("node me=1 voters=2,3 bootstrap=2,3 epoch=5", 9, True),
        ("node me=1 voters= bootstrap=2,3", 1, False),
        ("node me=1 voters=2,3 bootstrap=2,3 epoch=5 leader=1", 9, False),
    ],
    ids=["that knows nothing", "that knows of the epoch", "and it is there", "that led it until now"],
)
def test_a_replica_that_hears_of_a_leader_of_its_own_id(node: str, leader_at: int, is_told: bool) -> None:
    scenario = Scenario(node, "start")
    asked = scenario.asked[max(scenario.asked)]
    answer = FetchResponse(
        error=Error.NOT_LEADER_OR_FOLLOWER,
        leader_id=key_of(1).node_id,
        leader_epoch=Epoch(5),
        leader_endpoints=endpoints_of(leader_at),
    )
    scenario.give(
        ResponseReceived(
            destination_id=asked.destination.node_id, correlation=asked.correlation, response=answer, draw=1
        )
    )
    assert len(_told(scenario)) == is_told
    assert _requests(scenario) == ({"FetchRequest"} if is_told else set())


def _send_times(rounds: int, leader_id: int) -> list[int]:
    """Return when a new replica 1 sends its Fetches, if every server names this leader elsewhere."""
    scenario = Scenario("node me=1 voters= bootstrap=2,3", "start")
    times = []
    for _ in range(rounds):
        times.append(scenario.now_ms)
        correlation = max(scenario.asked)
        answer = FetchResponse(
            error=Error.NOT_LEADER_OR_FOLLOWER,
            leader_id=key_of(leader_id).node_id,
            leader_epoch=Epoch(5),
            leader_endpoints=endpoints_of(9) if leader_id == 1 else (),
        )
        destination_id = scenario.asked[correlation].destination.node_id
        scenario.give(ResponseReceived(destination_id=destination_id, correlation=correlation, response=answer, draw=1))
        while max(scenario.asked) == correlation:
            scenario.tell("wait")
    return times


@pytest.mark.parametrize(("leader_id", "longest_ms"), [(1, 30_000), (4, 500)], ids=["its own id", "another id"])
def test_a_replica_whose_id_the_leader_has_asks_ever_more_rarely(leader_id: int, longest_ms: int) -> None:
    times = _send_times(60, leader_id)
    waits = [after - before for before, after in pairwise(times)]
    assert waits == sorted(waits)
    assert waits[-1] == longest_ms
    assert all(after <= 2 * before for before, after in pairwise(waits[1:]))
