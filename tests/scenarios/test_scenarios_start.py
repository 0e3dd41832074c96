"""The epoch state of a replica at its start, from the epoch and vote on its disk."""

from __future__ import annotations

import pytest

from metadata_log.format.batch import batch_records, parse_header
from metadata_log.records import LeaderChangeMessage, decode_control
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    VoteRequest,
    VoteResponse,
)
from quorum.raft.ready import AppendBatches, LeaderChanged, ProposalRefused
from tests.support.raft_transcript import WALL_MS, endpoints_of, key_of
from tests.support.scenario import Scenario, elect


@pytest.mark.parametrize(
    ("remembered", "led"),
    [("", 1), ("epoch=2 leader=1", 3), ("epoch=2 leader=2", 3), ("epoch=2 voted=1", 3), ("epoch=2 voted=7", 3)],
    ids=["nothing", "it led", "another led", "it stood", "another stood"],
)
def test_the_only_voter_elects_itself_whatever_it_remembers(remembered: str, led: int) -> None:
    """It always begins a new epoch: it never leads again an epoch in which it may have acted."""
    scenario = Scenario(f"node me=1 voters=1 {remembered}", "start", "flush")
    assert scenario.position == ("leader", led, 1)
    assert scenario.stored.leader_id == 1
    assert not scenario.requests(VoteRequest)


def test_a_voter_that_knows_no_leader_asks_for_pre_votes_at_once() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=5", "start")
    assert scenario.position == ("prospective", 5, None)
    assert {request.pre_vote for request in scenario.requests(VoteRequest).values()} == {True}
    assert scenario.stored.voted is None


@pytest.mark.parametrize("voted", [3, 1], ids=["for another", "for itself"])
def test_a_voter_that_voted_remembers_it_and_asks_for_pre_votes(voted: int) -> None:
    """This includes a former candidate: it does not go on as one, since its log may no longer be able to win."""
    scenario = Scenario(f"node me=1 voters=1,2,3 epoch=2 voted={voted}", "start")
    assert scenario.position == ("prospective", 2, None)
    asked = scenario.requests(VoteRequest)
    assert sorted(asked) == [2, 3]
    assert all(request.pre_vote and request.candidate_epoch == 2 for request in asked.values())
    assert scenario.stored.voted == key_of(voted)


def test_a_voter_that_stood_gives_that_epochs_vote_to_nobody_and_the_next_ones_to_who_asks() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 voted=1", "start", "vote id=7 from=2 epoch=2 end=0@0")
    refused = scenario.reply(7, VoteResponse)
    assert (refused.error, refused.vote_granted, refused.leader_epoch) == (Error.NONE, False, 2)
    scenario.tell("vote id=8 from=2 epoch=3 end=0@0")
    assert scenario.reply(8, VoteResponse).vote_granted
    assert scenario.position == ("unattached", 3, None)
    assert scenario.stored.voted == key_of(2)


def test_a_voter_that_led_resigns_and_votes_in_the_next_epoch() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 leader=1", "start")
    assert scenario.position == ("resigned", 2, None)
    assert scenario.stored.leader_id == 1
    scenario.tell("vote id=8 from=2 epoch=3 end=0@0")
    assert scenario.reply(8, VoteResponse).vote_granted
    assert scenario.position == ("unattached", 3, None)
    assert scenario.stored.voted == key_of(2)


def test_a_voter_that_led_tells_the_others_takes_no_proposal_and_leaves_its_epoch() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 leader=1", "start")
    assert list(scenario.requests(EndQuorumEpochRequest)) == [2]
    scenario.tell("propose epoch=2")
    (refused,) = scenario.effects(ProposalRefused)
    assert refused.error is Error.NOT_LEADER_OR_FOLLOWER
    scenario.answer(2, "epoch=2")
    assert scenario.position == ("resigned", 2, None)
    scenario.tell("wait")
    assert scenario.position == ("unattached", 3, None)
    scenario.tell("flush", "wait")
    assert scenario.position == ("prospective", 3, None)


def test_a_voter_that_led_and_reaches_nobody_asks_again_and_again_without_a_new_epoch() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 leader=1", "start", "wait", "flush")
    assert scenario.position == ("unattached", 3, None)
    for _ in range(3):
        scenario.tell("wait")
        assert scenario.position == ("prospective", 3, None)
        scenario.tell("wait")
        assert scenario.position == ("unattached", 3, None)


def test_a_voter_that_led_follows_the_next_leader() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 leader=1", "start", "begin id=3 from=2 epoch=3")
    assert scenario.position == ("follower", 3, 2)
    assert scenario.stored.leader_id == 2


@pytest.mark.parametrize(
    ("voted", "log", "at"), [("", "", (0, 0)), ("voted=2", "log=1@3", (1, 3)), ("voted=3", "log=4@2,9@5", (9, 5))]
)
def test_a_voter_that_followed_fetches_from_that_leader(voted: str, log: str, at: tuple[int, int]) -> None:
    """It follows whatever its vote was, and fetches from the end of its log."""
    scenario = Scenario(f"node me=1 voters=1,2,3 epoch=5 leader=2 {voted} {log}", "start")
    assert scenario.position == ("follower", 5, 2)
    (fetch,) = scenario.requests(FetchRequest).values()
    assert (fetch.current_leader_epoch, fetch.fetch_offset, fetch.last_fetched_epoch) == (5, *at)
    assert scenario.core.next_deadline_ms() == 2000
    assert scenario.stored.voted == (key_of(int(voted[-1])) if voted else None)
    assert not scenario.written


def test_a_leader_that_nobody_knows_the_place_of_stays_known() -> None:
    """It is no voter in the log: the replica neither follows nor forgets it, and grants no other vote in its epoch."""
    scenario = Scenario("node me=1 voters=1,2 epoch=2 leader=7", "start")
    assert scenario.position == ("prospective", 2, 7)
    for expected in ("unattached", "prospective", "unattached"):
        scenario.tell("wait")
        assert scenario.position == (expected, 2, 7)
    scenario.tell("vote id=4 from=2 epoch=2 end=9@1")
    assert not scenario.reply(4, VoteResponse).vote_granted
    assert (scenario.stored.leader_id, scenario.stored.voted) == (7, None)


@pytest.mark.parametrize("state", ["unattached", "prospective"])
def test_a_leader_that_nobody_knew_the_place_of_is_followed_once_it_tells_it(state: str) -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 leader=7", "start")
    if state == "unattached":
        scenario.tell("wait")
    assert scenario.core.role == state
    scenario.tell("begin id=4 from=7 epoch=2")
    assert scenario.position == ("follower", 2, 7)
    assert scenario.core.leader_endpoints == endpoints_of(7)


def test_an_observer_that_remembers_a_leader_but_no_place_finds_it_in_the_same_epoch() -> None:
    """It crashed between learning of the leader and its first records: its log names no voter."""
    scenario = Scenario("node me=9 voters= bootstrap=3 epoch=4 leader=2 broker", "start")
    assert scenario.position == ("unattached", 4, 2)
    scenario.answer(-2, "epoch=4 leader=2 error=NOT_LEADER_OR_FOLLOWER")
    assert scenario.position == ("follower", 4, 2)
    assert list(scenario.requests(FetchRequest)) == [2]


@pytest.mark.parametrize(
    ("remembered", "told"),
    [("epoch=7", []), ("epoch=7 leader=2", [2]), ("epoch=7 leader=1", [])],
    ids=["no leader", "another led", "it led"],
)
def test_who_leads_is_told_at_the_start_if_another_does(remembered: str, told: list[int]) -> None:
    """A replica that led itself does not report this: it no longer leads."""
    scenario = Scenario(f"node me=1 voters=1,2 {remembered}", "start")
    assert [(change.leader_id, change.epoch) for change in scenario.effects(LeaderChanged)] == [
        (who, 7) for who in told
    ]
    scenario.tell("begin id=3 from=2 epoch=8")
    assert [(change.leader_id, change.epoch) for change in scenario.effects(LeaderChanged)] == [(2, 8)]


@pytest.mark.parametrize(("voters", "granting"), [("1,2", [1, 2]), ("1,2,3", [1, 2]), ("1,2,3,4,5", [1, 2, 3])])
def test_the_batch_that_opens_an_epoch_says_who_leads_who_votes_and_who_granted(
    voters: str, granting: list[int]
) -> None:
    scenario = Scenario(f"node me=1 voters={voters} epoch=1", "start")
    scenario.now_ms = 250
    elect_without_flush(scenario)
    (write,) = [write for write in scenario.written if isinstance(write, AppendBatches)]
    header = parse_header(write.data)
    assert (header.is_control, header.base_offset, header.partition_leader_epoch) == (True, 0, 2)
    first = next(iter(batch_records(write.data, header)))
    assert header.base_timestamp == WALL_MS + 250
    change = decode_control(first.key or b"", first.value or b"")
    assert isinstance(change, LeaderChangeMessage)
    assert change.leader_id == 1
    assert [voter.voter_id for voter in change.voters] == [int(voter) for voter in voters.split(",")]
    assert sorted(voter.voter_id for voter in change.granting_voters) == granting
    assert sorted(scenario.requests(BeginQuorumEpochRequest)) == [int(voter) for voter in voters.split(",")][1:]


def elect_without_flush(scenario: Scenario) -> None:
    """Elect it as `elect` does, and stop at the response that makes it leader."""
    voters = scenario.core.voters
    granting = [voter.key.node_id for voter in voters][1 : voters.majority]
    for node_id in granting:
        scenario.answer(node_id, "epoch=1 granted")
    scenario.tell("flush")
    for node_id in granting:
        scenario.answer(node_id, "epoch=2 granted")
    assert scenario.core.is_leader


def test_a_log_ahead_of_quorum_state_counts_for_the_epoch() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 log=3@2", "start")
    assert scenario.position == ("prospective", 2, None)
    assert scenario.stored.leader_epoch == 2
    scenario.tell("flush")
    elect(scenario, 3)
