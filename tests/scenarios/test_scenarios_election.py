"""Elections from the side of the campaigning replica: prospective and candidate, responses in time and late ones."""

from __future__ import annotations

import pytest

from metadata_log.voters import Endpoint
from quorum.api.raft_messages import BeginQuorumEpochRequest, FetchRequest, VoteRequest, VoteResponse
from quorum.raft.core import MAX_EPOCH
from quorum.raft.ready import BecameLeader, PeerRefused
from tests.support.raft_transcript import endpoints_of, key_of
from tests.support.scenario import Scenario, candidate


def _prospective(voters: str = "1,2,3", *, followed: bool = False) -> Scenario:
    """Return a prospective of epoch 5; `followed`: its leader 2 was silent for the fetch timeout."""
    if not followed:
        return Scenario(f"node me=1 voters={voters} epoch=5", "start")
    scenario = Scenario(f"node me=1 voters={voters} epoch=5 leader=2", "start").tell("wait ms=2000")
    assert scenario.position == ("prospective", 5, 2)
    return scenario


def _is_asking(scenario: Scenario, *, epoch: int, pre: bool) -> list[int]:
    asked = scenario.requests(VoteRequest)
    assert {(request.candidate_epoch, request.pre_vote) for request in asked.values()} <= {(epoch, pre)}
    return sorted(asked)


# --- the election timeout and the fetch timeout


def test_the_election_timeout_makes_a_candidate_ask_for_pre_votes_again() -> None:
    """It has campaigned for one to two election timeouts; it keeps its vote for itself."""
    scenario = candidate(voters="1,2", epoch=1)
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert 1000 <= due_ms - scenario.now_ms < 2000
    scenario.tell(f"wait ms={due_ms - scenario.now_ms - 1}")
    assert scenario.position == ("candidate", 1, None)
    scenario.tell("wait ms=1")
    assert scenario.position == ("prospective", 1, None)
    assert _is_asking(scenario, epoch=1, pre=True) == [2]
    assert scenario.stored.voted == key_of(1)


def test_a_lost_election_is_held_again_after_a_short_wait_and_the_vote_stays_given() -> None:
    """Kafka waits for the rest of the election timeout; here the leader is known to be gone, so 5 to 20 ms are
    enough."""
    scenario = candidate(voters="1,2", epoch=1).answer(2, "epoch=1")
    assert scenario.position == ("candidate", 1, None)
    assert scenario.stored.voted == key_of(1)
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert 5 <= due_ms - scenario.now_ms <= 20
    scenario.tell("wait")
    assert scenario.position == ("prospective", 1, None)
    assert _is_asking(scenario, epoch=1, pre=True) == [2]


def test_the_fetch_timeout_makes_a_voter_ask_for_pre_votes() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=5 leader=2 log=1@3", "start")
    scenario.tell("wait ms=1999")
    assert scenario.position == ("follower", 5, 2)
    scenario.tell("wait ms=1")
    assert scenario.position == ("prospective", 5, 2)
    (asked,) = scenario.requests(VoteRequest).values()
    assert (asked.pre_vote, asked.candidate_epoch, asked.last_epoch, asked.last_epoch_end_offset) == (True, 5, 3, 1)
    assert (scenario.stored.leader_id, scenario.stored.leader_epoch) == (2, 5)


# --- how a round ends


def test_a_silent_round_ends_and_so_does_a_refused_one() -> None:
    scenario = _prospective("1,2")
    assert _is_asking(scenario, epoch=5, pre=True) == [2]
    scenario.tell("wait")
    assert scenario.position == ("unattached", 5, None)
    scenario.tell("wait")
    assert _is_asking(scenario, epoch=5, pre=True) == [2]
    scenario.answer(2, "epoch=5")
    assert scenario.position == ("unattached", 5, None)
    scenario.tell("wait")
    assert _is_asking(scenario, epoch=5, pre=True) == [2]
    assert scenario.stored.voted is None


def test_with_a_leader_known_a_round_that_fails_ends_in_following_it() -> None:
    scenario = _prospective(followed=True)
    assert _is_asking(scenario, epoch=5, pre=True) == [2, 3]
    scenario.tell("wait")
    assert scenario.position == ("follower", 5, 2)
    scenario.tell("wait")
    assert list(scenario.requests(FetchRequest)) == [2]
    scenario.tell("wait")
    assert scenario.position == ("prospective", 5, 2)
    scenario.answer(3, "epoch=5")
    assert scenario.core.role == "prospective"
    scenario.answer(2, "epoch=5")
    assert scenario.position == ("follower", 5, 2)
    assert (scenario.stored.leader_id, scenario.stored.leader_epoch) == (2, 5)


@pytest.mark.parametrize("followed", [False, True])
def test_an_answer_of_a_higher_epoch_with_its_leader_ends_the_round_in_following_that(followed: bool) -> None:
    scenario = _prospective(followed=followed).answer(2, "epoch=6 leader=3 error=FENCED_LEADER_EPOCH")
    assert scenario.position == ("follower", 6, 3)
    assert (scenario.stored.leader_id, scenario.stored.leader_epoch) == (3, 6)


@pytest.mark.parametrize("answer", ["granted", ""], ids=["granted", "refused"])
def test_an_answer_that_names_the_leader_of_the_epoch_ends_the_round_in_following_it(answer: str) -> None:
    """It does not matter whether the vote was granted: there is a leader."""
    scenario = _prospective().answer(2, f"epoch=5 leader=3 {answer}")
    assert scenario.position == ("follower", 5, 3)
    assert scenario.stored.leader_id == 3


def test_begin_quorum_epoch_ends_a_round() -> None:
    scenario = _prospective("1,2").tell("begin id=1 from=2 epoch=5")
    assert scenario.position == ("follower", 5, 2)


def test_a_majority_of_pre_votes_makes_a_candidate_of_the_next_epoch_with_its_own_vote() -> None:
    scenario = _prospective(followed=True).answer(3, "epoch=5 leader=2 granted")
    assert scenario.position == ("candidate", 6, None)
    assert (scenario.stored.leader_epoch, scenario.stored.voted, scenario.stored.leader_id) == (6, key_of(1), None)
    assert _is_asking(scenario, epoch=6, pre=False) == [2, 3]
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert 1000 <= due_ms - scenario.now_ms < 2000


def test_a_candidate_leads_with_a_majority_and_not_before() -> None:
    scenario = candidate(voters="1,2,3,4,5", epoch=5)
    scenario.answer(2, "epoch=5 granted")
    assert scenario.position == ("candidate", 5, None)
    scenario.answer(3, "epoch=5 granted")
    assert scenario.position == ("leader", 5, 1)
    assert [became.epoch for became in scenario.effects(BecameLeader)] == [5]
    assert (scenario.stored.leader_epoch, scenario.stored.leader_id, scenario.stored.voted) == (5, 1, None)
    assert sorted(scenario.requests(BeginQuorumEpochRequest)) == [2, 3, 4, 5]
    assert scenario.core.describe_quorum().high_watermark == -1


def test_a_third_replica_that_knows_more_endpoints_of_a_silent_leader_does_not_bring_it_back() -> None:
    scenario = _prospective(followed=True)
    more = (*endpoints_of(2), Endpoint(name="CONTROLLER", host="n2", port=9093))
    answer = VoteResponse(leader_id=2, leader_epoch=5, leader_endpoints=more, vote_granted=True)
    scenario.answer_late(3, scenario.correlation(3), answer)
    assert scenario.position == ("candidate", 6, None)


# --- responses that come too late


def test_pre_votes_that_come_late_are_no_votes() -> None:
    scenario = _prospective()
    first, second = scenario.correlation(2), scenario.correlation(3)
    scenario.tell("begin id=1 from=3 epoch=5")
    for node_id, correlation in ((2, first), (3, second)):
        scenario.answer_late(node_id, correlation, VoteResponse(leader_epoch=5, vote_granted=True))
        assert scenario.position == ("follower", 5, 3)
        assert not scenario.written


def test_votes_that_come_late_elect_nobody() -> None:
    scenario = candidate(epoch=6)
    first, second = scenario.correlation(2), scenario.correlation(3)
    scenario.tell("begin id=1 from=3 epoch=6")
    for node_id, correlation in ((2, first), (3, second)):
        scenario.answer_late(node_id, correlation, VoteResponse(leader_epoch=6, vote_granted=True))
        assert scenario.position == ("follower", 6, 3)
        assert not scenario.written
    assert (scenario.stored.leader_id, scenario.stored.voted) == (3, key_of(1))


def test_a_pre_vote_without_an_answer_in_time_is_asked_again_in_the_next_round() -> None:
    """Kafka sends it again in the same round; here a round is short."""
    scenario = _prospective("1,2")
    late = scenario.correlation(2)
    scenario.fail(2)
    assert scenario.position == ("unattached", 5, None)
    scenario.tell("wait")
    assert _is_asking(scenario, epoch=5, pre=True) == [2]
    scenario.answer_late(2, late, VoteResponse(leader_epoch=5, vote_granted=True))
    assert scenario.position == ("prospective", 5, None)
    scenario.answer(2, "epoch=5 granted")
    assert scenario.position == ("candidate", 6, None)


def test_a_vote_without_an_answer_in_time_is_asked_again_in_the_next_epoch() -> None:
    scenario = candidate(voters="1,2", epoch=1)
    late = scenario.correlation(2)
    scenario.fail(2)
    scenario.answer_late(2, late, VoteResponse(leader_epoch=1, vote_granted=True))
    assert scenario.position == ("candidate", 1, None)
    scenario.tell("wait")
    assert _is_asking(scenario, epoch=1, pre=True) == [2]
    scenario.answer(2, "epoch=1 granted").tell("flush").answer(2, "epoch=2 granted")
    assert scenario.position == ("leader", 2, 1)


@pytest.mark.parametrize("voters", ["1", "1,2,3"])
def test_nobody_stands_beyond_the_last_epoch_and_it_is_said(voters: str) -> None:
    """One Vote may bring a quorum there; an epoch that no file can hold would end the process permanently."""
    scenario = Scenario(f"node me=1 voters={voters} epoch={MAX_EPOCH}", "start")
    for _ in range(20):
        scenario.tell("wait")
        for node_id in {asked.destination.node_id for asked in scenario.asked.values()}:
            scenario.answer(node_id, f"epoch={MAX_EPOCH} granted")
        assert scenario.core.epoch == MAX_EPOCH
        assert scenario.core.role != "leader"
        if any("is the last possible one" in refused.what for refused in scenario.effects(PeerRefused)):
            return
    raise AssertionError("nothing was said of it")
