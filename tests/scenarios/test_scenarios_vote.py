"""When a vote or a pre-vote is granted: Vote and pre-vote in every epoch state (KIP-595, KIP-996, KIP-853)."""

from __future__ import annotations

import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from quorum.api.error_codes import Error
from quorum.api.raft_messages import VoteRequest, VoteResponse
from quorum.raft.inputs import RequestReceived
from tests.support.raft_transcript import key_of
from tests.support.scenario import Scenario, candidate, leader

VOTES = pytest.mark.parametrize("pre", ["", "pre"], ids=["vote", "pre-vote"])


def _asked(scenario: Scenario, line: str) -> tuple[Error, bool, int, int]:
    """Return error, granted, leader and epoch of the response to a Vote."""
    scenario.tell(f"vote id=7 {line}")
    reply = scenario.reply(7, VoteResponse)
    return reply.error, reply.vote_granted, reply.leader_id, reply.leader_epoch


def _follower(*, has_fetched: bool, me: int = 1, voters: str = "1,2,3") -> Scenario:
    """Return a follower of leader 3 in epoch 2."""
    scenario = Scenario(f"node me={me} voters={voters} epoch=2 leader=3", "start")
    if has_fetched:
        scenario.answer(3, "epoch=2 leader=3 hw=0")
    assert scenario.position == ("follower", 2, 3)
    return scenario


def test_a_voter_that_knows_no_leader_votes_and_remembers_it() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2", "start")
    assert _asked(scenario, "from=2 epoch=2 end=1@1") == (Error.NONE, True, -1, 2)
    assert scenario.stored.voted == key_of(2)
    assert scenario.core.role == "unattached"


def test_a_second_candidate_of_the_epoch_is_refused_and_the_first_granted_again() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 voted=3", "start")
    assert _asked(scenario, "from=2 epoch=2 end=1@1") == (Error.NONE, False, -1, 2)
    assert _asked(scenario, "from=3 epoch=2 end=1@1") == (Error.NONE, True, -1, 2)
    assert scenario.stored.voted == key_of(3)


@pytest.mark.parametrize("has_fetched", [False, True])
def test_a_follower_votes_for_nobody_in_its_leaders_epoch(has_fetched: bool) -> None:
    scenario = _follower(has_fetched=has_fetched)
    assert _asked(scenario, "from=2 epoch=2 end=1@1") == (Error.NONE, False, 3, 2)
    assert scenario.position == ("follower", 2, 3)


def test_a_prospective_votes_in_a_higher_epoch_and_knows_no_leader_any_more() -> None:
    scenario = _follower(has_fetched=True).tell("wait ms=2000")
    assert scenario.position == ("prospective", 2, 3)
    assert _asked(scenario, "from=2 epoch=3 end=1@2") == (Error.NONE, True, -1, 3)
    assert scenario.position == ("unattached", 3, None)
    assert (scenario.stored.voted, scenario.stored.leader_id) == (key_of(2), None)


def test_a_prospective_that_voted_votes_again_in_a_higher_epoch() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 voted=3", "start")
    assert scenario.core.role == "prospective"
    assert _asked(scenario, "from=2 epoch=3 end=1@2") == (Error.NONE, True, -1, 3)
    assert scenario.stored.voted == key_of(2)


def test_a_candidate_keeps_its_vote_for_itself() -> None:
    scenario = candidate(epoch=2)
    assert _asked(scenario, "from=3 epoch=2 end=1@1") == (Error.NONE, False, -1, 2)
    assert scenario.position == ("candidate", 2, None)
    assert scenario.stored.voted == key_of(1)


@VOTES
@pytest.mark.parametrize("asker", [2, 9], ids=["voter", "observer"])
def test_a_leader_refuses_both_in_its_epoch_and_before(pre: str, asker: int) -> None:
    """The candidate's log alone would earn the vote."""
    scenario = leader(epoch=5)
    assert _asked(scenario, f"from={asker} epoch=4 end=99@3 {pre}") == (Error.FENCED_LEADER_EPOCH, False, 1, 5)
    end = "99@5" if pre else "99@4"
    assert _asked(scenario, f"from={asker} epoch=5 end={end} {pre}") == (Error.NONE, False, 1, 5)
    assert scenario.position == ("leader", 5, 1)


@VOTES
def test_an_older_epoch_is_refused_and_changes_nothing(pre: str) -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2", "start")
    before = scenario.core.describe()
    assert _asked(scenario, f"from=2 epoch=1 end=1@0 {pre}") == (Error.FENCED_LEADER_EPOCH, False, -1, 2)
    assert scenario.core.describe() == before


def test_a_controller_outside_the_voter_set_that_it_knows_votes() -> None:
    """The set may be an old one: the candidate may know a newer one (KIP-853)."""
    scenario = Scenario("node me=1 voters=2,3 epoch=2", "start")
    assert not scenario.core.is_voter
    assert _asked(scenario, "from=2 epoch=3 end=1@2") == (Error.NONE, True, -1, 3)
    assert scenario.stored.voted == key_of(2)
    assert scenario.core.role == "unattached"


def test_a_broker_never_votes() -> None:
    scenario = Scenario("node me=9 voters=2,3 epoch=2 broker", "start")
    assert _asked(scenario, "from=2 epoch=3 end=1@2") == (Error.INVALID_REQUEST, False, -1, 2)
    assert scenario.stored.voted is None


@VOTES
@pytest.mark.parametrize("end", ["-5@0", "0@-1", "0@9"], ids=["offset", "epoch", "log ahead of the candidate"])
def test_a_request_that_cannot_be_true_is_refused_and_changes_nothing(pre: str, end: str) -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=5 leader=2", "start")
    assert _asked(scenario, f"from=2 epoch=6 end={end} {pre}") == (Error.INVALID_REQUEST, False, 2, 5)
    assert scenario.position == ("follower", 5, 2)


def test_a_vote_of_a_log_of_the_epoch_that_it_stands_in_cannot_be_true_and_a_pre_vote_can() -> None:
    """A candidate has raised its epoch and no replica has led it yet; a prospective is in the epoch of its last
    leader."""
    vote, pre_vote = (Scenario("node me=1 voters=1,2 epoch=5", "start") for _ in range(2))
    assert _asked(vote, "from=2 epoch=6 end=9@6")[0] is Error.INVALID_REQUEST
    assert _asked(pre_vote, "from=2 epoch=6 end=9@6 pre") == (Error.NONE, True, -1, 6)


@VOTES
@pytest.mark.parametrize(
    "addressed",
    [ReplicaKey(node_id=NodeId(3), directory_id=key_of(3).directory_id),
     ReplicaKey(node_id=NodeId(1), directory_id=DirectoryId(b"another disk....")),
     ReplicaKey(node_id=NodeId(10), directory_id=DirectoryId(b"another disk...."))],
    ids=["another voter", "another local disk", "nobody"],
)  # fmt: skip
def test_a_request_that_is_meant_for_another_replica_changes_nothing(pre: str, addressed: ReplicaKey) -> None:
    """Its epoch changes nothing either: this replica ignores a request for another one."""
    scenario = leader(epoch=5)
    request = VoteRequest(
        candidate=key_of(2),
        voter=addressed,
        candidate_epoch=Epoch(6),
        last_epoch=Epoch(5),
        last_epoch_end_offset=Offset(99),
        pre_vote=bool(pre),
    )
    scenario.give(RequestReceived(request_id=7, request=request, draw=1))
    reply = scenario.reply(7, VoteResponse)
    assert (reply.error, reply.vote_granted, reply.leader_epoch) == (Error.INVALID_VOTER_KEY, False, 5)
    assert scenario.position == ("leader", 5, 1)


# --- pre-votes


@pytest.mark.parametrize("asker", [2, 9], ids=["voter", "observer"])
@pytest.mark.parametrize("me", [1, 8], ids=["voter asked", "observer asked"])
def test_a_follower_promises_its_vote_until_its_leader_has_answered_a_fetch(me: int, asker: int) -> None:
    voters = "1,2,3" if me == 1 else "2,3"
    scenario = _follower(has_fetched=False, me=me, voters=voters)
    assert _asked(scenario, f"from={asker} epoch=2 end=1@2 pre") == (Error.NONE, True, 3, 2)
    assert scenario.position == ("follower", 2, 3)
    scenario.answer(3, "epoch=2 leader=3 hw=0")
    assert _asked(scenario, f"from={asker} epoch=2 end=1@2 pre") == (Error.NONE, False, 3, 2)
    assert scenario.position == ("follower", 2, 3)


def test_a_follower_by_begin_quorum_epoch_does_the_same() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 voted=3", "start", "begin id=1 from=3 epoch=2")
    assert _asked(scenario, "from=2 epoch=2 end=1@2 pre") == (Error.NONE, True, 3, 2)
    scenario.answer(3, "epoch=2 leader=3 hw=0")
    assert _asked(scenario, "from=2 epoch=2 end=1@2 pre") == (Error.NONE, False, 3, 2)
    assert scenario.stored.voted == key_of(3)


@pytest.mark.parametrize("has_fetched", [False, True])
def test_a_pre_vote_of_a_higher_epoch_is_granted_there_and_costs_no_vote(has_fetched: bool) -> None:
    scenario = _follower(has_fetched=has_fetched)
    assert _asked(scenario, "from=2 epoch=3 end=1@3 pre") == (Error.NONE, True, -1, 3)
    assert scenario.position == ("unattached", 3, None)
    assert scenario.stored.voted is None


@pytest.mark.parametrize("asker", [2, 9], ids=["voter", "observer"])
def test_a_candidate_promises_its_vote_stays_one_and_leaves_its_epoch_for_a_higher(asker: int) -> None:
    scenario = candidate(epoch=2)
    assert _asked(scenario, f"from={asker} epoch=2 end=1@2 pre") == (Error.NONE, True, -1, 2)
    assert scenario.position == ("candidate", 2, None)
    assert scenario.stored.voted == key_of(1)
    assert _asked(scenario, f"from={asker} epoch=3 end=2@3 pre") == (Error.NONE, True, -1, 3)
    assert scenario.position == ("unattached", 3, None)


@pytest.mark.parametrize(
    ("remembered", "leader_id"), [("", -1), ("voted=3", -1), ("leader=7", 7)], ids=["fresh", "voted", "leader lost"]
)
@pytest.mark.parametrize("me", ["1 voters=1,2,3", "8 voters=2,3"], ids=["voter", "observer"])
def test_an_unattached_replica_promises_its_vote_to_all_who_ask(me: str, remembered: str, leader_id: int) -> None:
    scenario = Scenario(f"node me={me} epoch=2 {remembered}", "start")
    if scenario.core.is_voter:
        scenario.tell("wait")
    assert scenario.core.role == "unattached"
    before = scenario.core.describe()
    for asker in (2, 2, 3, 9):
        assert _asked(scenario, f"from={asker} epoch=2 end=1@2 pre") == (Error.NONE, True, leader_id, 2)
    assert scenario.core.describe() == before


@pytest.mark.parametrize("end", ["2@2", "9@1"], ids=["shorter", "of an older epoch"])
def test_no_promise_to_a_log_that_is_behind(end: str) -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 log=3@2", "start")
    assert _asked(scenario, f"from=2 epoch=2 end={end} pre") == (Error.NONE, False, -1, 2)
    assert _asked(scenario, "from=2 epoch=2 end=3@2 pre") == (Error.NONE, True, -1, 2)


def test_a_resigned_leader_promises_its_vote_and_names_no_leader() -> None:
    scenario = leader(voters="1,2", epoch=5).tell("wait ms=3000")
    assert scenario.position == ("resigned", 5, None)
    end = scenario.core.log_end_offset
    assert _asked(scenario, f"from=2 epoch=5 end={end}@5 pre") == (Error.NONE, True, -1, 5)
    assert scenario.core.role == "resigned"
    assert _asked(scenario, f"from=2 epoch=6 end={end}@6 pre") == (Error.NONE, True, -1, 6)
    assert scenario.position == ("unattached", 6, None)
