"""The clean stop: which replicas may go at once, which announce it first, and for how long they wait."""

from __future__ import annotations

import pytest

from metadata_log.ids import ReplicaKey
from quorum.api.raft_messages import EndQuorumEpochRequest, VoteResponse
from quorum.raft.ready import ShutdownCompleted
from tests.support.raft_transcript import key_of
from tests.support.scenario import Scenario, leader


def _is_shut(scenario: Scenario) -> bool:
    return len(scenario.effects(ShutdownCompleted)) == 1


def test_a_leader_tells_the_voters_and_waits_to_hear_of_the_next_epoch() -> None:
    """It grants votes meanwhile, so that there is a new leader soon."""
    scenario = leader(voters="1,2", epoch=1).tell("shutdown")
    assert scenario.position == ("resigned", 1, None)
    assert list(scenario.requests(EndQuorumEpochRequest)) == [2]
    assert not _is_shut(scenario)
    scenario.tell("vote id=3 from=2 epoch=2 end=3@1")
    assert scenario.reply(3, VoteResponse).vote_granted
    assert scenario.position == ("unattached", 2, None)
    assert scenario.stored.voted == key_of(2)
    assert _is_shut(scenario)
    scenario.tell("flush", "begin id=4 from=2 epoch=2")
    assert not scenario.effects(ShutdownCompleted)


def test_the_stop_does_not_overtake_the_vote_that_is_given_in_it() -> None:
    scenario = leader(voters="1,2", epoch=1).tell("shutdown", "vote id=3 from=2 epoch=2 end=3@1")
    assert scenario.last_ready is not None
    (persist,) = scenario.last_ready.writes
    assert {token for token, effect in scenario.last_ready.after if isinstance(effect, ShutdownCompleted)} == {
        persist.token
    }


def test_a_leader_that_nobody_hears_stops_after_the_request_timeout() -> None:
    scenario = leader(voters="1,2", epoch=2).tell("shutdown", "wait ms=1999")
    assert not _is_shut(scenario)
    scenario.tell("wait ms=1")
    assert _is_shut(scenario)
    assert scenario.core.next_deadline_ms() is None


def test_a_voter_that_cannot_be_reached_is_not_waited_for() -> None:
    scenario = leader(epoch=2).tell("shutdown").answer(2, "epoch=2")
    assert not _is_shut(scenario)
    scenario.fail(3)
    assert _is_shut(scenario)


def test_the_successors_stand_in_the_order_of_their_logs() -> None:
    scenario = leader(epoch=1).tell("fetch id=1 from=2 epoch=1 at=3@1 wait=0", "propose epoch=1", "propose epoch=1")
    scenario.tell("fetch id=2 from=3 epoch=1 at=5@1 wait=0", "shutdown")
    told = scenario.requests(EndQuorumEpochRequest)
    assert sorted(told) == [2, 3]
    order: set[tuple[ReplicaKey, ...]] = {request.preferred_candidates for request in told.values()}
    assert order == {(key_of(3), key_of(2))}


@pytest.mark.parametrize(
    "node",
    ["me=1 voters=1,2 epoch=5 leader=2", "me=9 voters=1,2 epoch=5", "me=9 voters=1,2 epoch=5 leader=2 broker",
     "me=1 voters=1,2,3 epoch=5"],
    ids=["follower", "observer without a leader", "observer", "prospective"],
)  # fmt: skip
def test_who_does_not_lead_stops_at_once(node: str) -> None:
    scenario = Scenario(f"node {node}", "start", "shutdown")
    assert _is_shut(scenario)
    assert scenario.core.next_deadline_ms() is None


def test_the_only_voter_stops_at_once() -> None:
    scenario = leader(voters="1", epoch=1).tell("shutdown")
    assert _is_shut(scenario)
    assert not scenario.requests(EndQuorumEpochRequest)
