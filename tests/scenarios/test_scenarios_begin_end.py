"""A leader that announces itself, and one that resigns: BeginQuorumEpoch and EndQuorumEpoch (KIP-595)."""

from __future__ import annotations

import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.api.transfer_messages import TransferLeadershipResponse
from quorum.raft.config import RaftConfig
from quorum.raft.inputs import RequestReceived
from quorum.raft.ready import LeaderChanged, PeerRefused, ProposalRefused
from tests.support.raft_transcript import endpoints_of, key_of
from tests.support.scenario import Scenario, candidate, leader


def _begin(scenario: Scenario, voter: ReplicaKey, endpoints: tuple[Endpoint, ...] = endpoints_of(3)) -> Error:
    """Return the error for a BeginQuorumEpoch of leader 3 in epoch 5, addressed to `voter`."""
    request = BeginQuorumEpochRequest(
        leader_id=NodeId(3), leader_epoch=Epoch(5), voter=voter, leader_endpoints=endpoints
    )
    scenario.give(RequestReceived(request_id=7, request=request, draw=1))
    return scenario.reply(7, BeginQuorumEpochResponse).error


# --- BeginQuorumEpoch


def test_who_voted_for_the_leader_follows_it_and_remembers_both() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=2 voted=2", "start", "begin id=7 from=2 epoch=2")
    reply = scenario.reply(7, BeginQuorumEpochResponse)
    assert (reply.error, reply.leader_id, reply.leader_epoch) == (Error.NONE, 2, 2)
    assert scenario.position == ("follower", 2, 2)
    assert (scenario.stored.leader_id, scenario.stored.voted) == (2, key_of(2))


def test_who_voted_for_another_follows_the_leader_and_remembers_both() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 voted=3", "start", "begin id=7 from=2 epoch=2")
    assert scenario.position == ("follower", 2, 2)
    assert (scenario.stored.leader_id, scenario.stored.voted) == (2, key_of(3))


def test_a_leader_outside_the_voter_set_that_is_known_is_followed() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=4", "start", "vote id=6 from=3 epoch=4 end=9@3")
    assert scenario.stored.voted == key_of(3)
    scenario.tell("begin id=7 from=3 epoch=4")
    assert scenario.position == ("follower", 4, 3)
    assert (scenario.stored.leader_id, scenario.stored.voted) == (3, key_of(3))


def test_more_endpoints_of_the_same_leader_are_taken_over_and_fewer_are_not() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=5 leader=3", "start")
    more = (*endpoints_of(3), Endpoint(name="CONTROLLER", host="n3", port=9093))
    assert _begin(scenario, key_of(1), more) is Error.NONE
    assert scenario.core.leader_endpoints == more
    assert [change.endpoints for change in scenario.effects(LeaderChanged)] == [more]
    assert _begin(scenario, key_of(1)) is Error.NONE
    assert scenario.core.leader_endpoints == more
    assert scenario.position == ("follower", 5, 3)


def test_a_leader_that_gives_no_endpoint_and_has_none_in_the_log_is_not_followed() -> None:
    """The replica still takes over the leader's epoch."""
    scenario = Scenario("node me=1 voters=1,2 epoch=4", "start")
    assert _begin(scenario, key_of(1), ()) is Error.NONE
    assert scenario.position == ("unattached", 5, None)


@pytest.mark.parametrize(
    "voter",
    [
        ReplicaKey(node_id=NodeId(10), directory_id=key_of(1).directory_id),
        ReplicaKey(node_id=NodeId(1), directory_id=DirectoryId(b"another disk....")),
    ],
    ids=["another node", "another disk"],
)
def test_what_is_meant_for_another_voter_changes_nothing(voter: ReplicaKey) -> None:
    """Kafka follows the leader in such a request; this replica ignores a request for another voter."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=4", "start")
    before = scenario.core.describe()
    assert _begin(scenario, voter) is Error.INVALID_VOTER_KEY
    assert scenario.core.describe() == before
    assert _begin(scenario, key_of(1)) is Error.NONE
    assert scenario.position == ("follower", 5, 3)


def test_nobody_follows_itself_or_a_second_leader_of_an_epoch() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=5 leader=2", "start")
    before = scenario.core.describe()
    for other in (1, 3):
        scenario.tell(f"begin id=7 from={other} epoch=5")
        assert scenario.reply(7, BeginQuorumEpochResponse).error is Error.INVALID_REQUEST
        assert scenario.core.describe() == before
    assert [refused.node_id for refused in scenario.effects(PeerRefused)] == [3]


def test_a_resigned_leader_follows_the_next() -> None:
    scenario = leader(epoch=5).tell("wait ms=3000")
    assert scenario.position == ("resigned", 5, None)
    scenario.tell("begin id=7 from=2 epoch=6")
    assert scenario.reply(7, BeginQuorumEpochResponse).error is Error.NONE
    assert scenario.position == ("follower", 6, 2)
    assert [(change.leader_id, change.epoch) for change in scenario.effects(LeaderChanged)] == [(2, 6)]
    assert scenario.stored.leader_id == 2


def test_a_resigned_leader_does_not_follow_another_of_its_own_epoch() -> None:
    """Kafka's state machine would (KAFKA-18379). This replica led that epoch itself, so the request is wrong."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=5 leader=1", "start", "begin id=7 from=2 epoch=5")
    assert scenario.reply(7, BeginQuorumEpochResponse).error is Error.INVALID_REQUEST
    assert scenario.position == ("resigned", 5, None)


# --- the leader repeats itself


def _told(scenario: Scenario) -> list[int]:
    told = sorted(scenario.requests(BeginQuorumEpochRequest))
    for node_id in told:
        scenario.answer(node_id, "epoch=5 leader=1")
    return told


def test_voters_that_do_not_fetch_are_told_every_half_fetch_timeout() -> None:
    scenario = leader(epoch=5)
    for node_id in (2, 3):
        scenario.answer(node_id, "epoch=5 leader=1")
    assert _told(scenario.tell("wait ms=999")) == []
    assert _told(scenario.tell("wait ms=1")) == [2, 3]
    assert _told(scenario.tell("wait ms=500")) == []
    assert _told(scenario.tell("wait ms=500")) == [2, 3]


def test_a_voter_that_fetches_is_not_told_until_it_falls_silent() -> None:
    scenario = leader(epoch=5)
    for node_id in (2, 3):
        scenario.answer(node_id, "epoch=5 leader=1")
    assert _told(scenario.tell("wait ms=1000")) == [2, 3]
    scenario.tell("wait ms=333", "fetch id=8 from=2 epoch=5 at=0@0 wait=0")
    assert _told(scenario.tell("wait ms=667")) == [3]
    scenario.tell("fetch id=9 from=2 epoch=5 at=0@0 wait=0")
    assert _told(scenario.tell("wait ms=1000")) == [2, 3]


def test_a_fetch_is_as_good_as_an_acknowledgement() -> None:
    """BeginQuorumEpoch is lost, but the voter has found the leader in another way."""
    scenario = leader(voters="1,2", epoch=5).tell("wait ms=500", "fetch id=8 from=2 epoch=5 at=0@0 wait=0")
    scenario.fail(2)
    assert _told(scenario.tell("wait ms=500")) == []
    assert _told(scenario.tell("wait ms=1000")) == [2]


# --- EndQuorumEpoch


def _end(scenario: Scenario, line: str) -> tuple[Error, int, int]:
    scenario.tell(f"end id=7 {line}")
    reply = scenario.reply(7, EndQuorumEpochResponse)
    return reply.error, reply.leader_id, reply.leader_epoch


def test_a_candidate_is_not_moved_by_the_end_of_an_older_epoch() -> None:
    scenario = candidate(voters="1,2", epoch=5)
    due_ms = scenario.core.next_deadline_ms()
    assert _end(scenario, "from=2 epoch=3 successors=1") == (Error.FENCED_LEADER_EPOCH, -1, 5)
    assert scenario.position == ("candidate", 5, None)
    assert scenario.core.next_deadline_ms() == due_ms


def test_a_leader_is_not_moved_by_the_end_of_an_older_epoch() -> None:
    scenario = leader(epoch=7)
    assert _end(scenario, "from=2 epoch=5 successors=1,3") == (Error.FENCED_LEADER_EPOCH, 1, 7)
    scenario.tell("wait ms=2999")
    assert scenario.position == ("leader", 7, 1)


@pytest.mark.parametrize("remembered", ["", "voted=3", "leader=2"])
def test_the_first_successor_asks_for_pre_votes_at_once(remembered: str) -> None:
    """So does one that did not know the leader yet."""
    scenario = Scenario(f"node me=1 voters=1,2,3 epoch=2 {remembered}", "start")
    assert _end(scenario, "from=2 epoch=2 successors=1,3") == (Error.NONE, 2, 2)
    assert scenario.position == ("prospective", 2, 2)
    asked = scenario.requests(VoteRequest)
    assert sorted(asked) == [2, 3]
    assert all(request.pre_vote and request.candidate_epoch == 2 for request in asked.values())
    assert scenario.stored.leader_id == 2


def test_a_later_successor_fetches_for_a_while_then_asks_for_pre_votes() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2", "start")
    assert _end(scenario, "from=2 epoch=2 successors=3,1") == (Error.NONE, 2, 2)
    assert scenario.position == ("follower", 2, 2)
    scenario.tell("wait ms=99")
    assert scenario.position == ("follower", 2, 2)
    scenario.tell("wait ms=1")
    assert scenario.position == ("prospective", 2, 2)
    assert sorted(scenario.requests(VoteRequest)) == [2, 3]
    assert scenario.core.epoch == 2


def test_a_successor_that_was_refused_a_pre_vote_is_passed_over() -> None:
    """It lost its round before this replica saw the resignation, so the next in the list campaigns at once."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2 log=5@2", "start").answer_fetch(2)
    scenario.tell("vote id=6 from=3 epoch=2 end=5@2 pre")
    assert not scenario.reply(6, VoteResponse).vote_granted
    assert _end(scenario, "from=2 epoch=2 successors=3,1") == (Error.NONE, 2, 2)
    assert scenario.position == ("prospective", 2, 2)


def test_a_candidate_with_a_longer_log_that_was_refused_keeps_its_turn() -> None:
    """It may win in its next round."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2 log=5@1", "start").answer_fetch(2)
    scenario.tell("vote id=6 from=3 epoch=2 end=6@1 pre")
    assert not scenario.reply(6, VoteResponse).vote_granted
    assert _end(scenario, "from=2 epoch=2 successors=3,1") == (Error.NONE, 2, 2)
    assert scenario.position == ("follower", 2, 2)


def test_a_resignation_that_is_repeated_makes_no_successor_wait_longer() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2", "start")
    _end(scenario, "from=2 epoch=2 successors=3,1")
    scenario.tell("wait ms=60")
    _end(scenario, "from=2 epoch=2 successors=3,1")
    scenario.tell("wait ms=39")
    assert scenario.position == ("follower", 2, 2)
    scenario.tell("wait ms=1")
    assert scenario.position == ("prospective", 2, 2)


def test_who_learned_by_fetch_of_the_resignation_leaves_it_to_the_only_successor() -> None:
    """The short wait for EndQuorumEpoch does not shorten the time of the successor."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2", "start").answer_fetch(2)
    scenario.answer(2, f"epoch=2 leader=-1 error={Error.NOT_LEADER_OR_FOLLOWER.name}")
    _end(scenario, "from=2 epoch=2 successors=3")
    scenario.tell(f"wait ms={RaftConfig().election_timeout_ms - 1}")
    assert scenario.position == ("follower", 2, 2)
    scenario.tell(f"wait ms={RaftConfig().election_timeout_ms + 1}")
    assert scenario.position == ("prospective", 2, 2)


# --- a leader resigns


def test_a_leader_without_the_fetches_of_a_majority_resigns_observers_do_not_count() -> None:
    """Each fetch of a voter moves the deadline (3 s): with the leader it is a majority. A fetch of an observer does
    not."""
    scenario = leader(epoch=5)
    scenario.tell("wait ms=1500", "fetch id=1 from=2 epoch=5 at=0@0 wait=0", "wait ms=1500")
    assert scenario.core.role == "leader"
    scenario.tell("fetch id=2 from=3 epoch=5 at=0@0 wait=0", "wait ms=1500")
    assert scenario.core.role == "leader"
    scenario.tell("fetch id=3 from=9 epoch=5 at=0@0 wait=0", "wait ms=1499")
    assert scenario.core.role == "leader"
    scenario.tell("wait ms=1")
    assert scenario.position == ("resigned", 5, None)
    assert (scenario.stored.leader_id, scenario.stored.leader_epoch) == (1, 5)


def test_of_five_two_others_have_to_fetch() -> None:
    scenario = leader(voters="1,2,3,4,5", epoch=5)
    scenario.tell("wait ms=1500", "fetch id=1 from=2 epoch=5 at=0@0 wait=0", "fetch id=2 from=3 epoch=5 at=0@0 wait=0")
    scenario.tell("wait ms=1500", "fetch id=3 from=4 epoch=5 at=0@0 wait=0", "fetch id=4 from=4 epoch=5 at=0@0 wait=0")
    scenario.tell("fetch id=5 from=9 epoch=5 at=0@0 wait=0", "wait ms=1499")
    assert scenario.core.role == "leader"
    scenario.tell("wait ms=1")
    assert scenario.core.role == "resigned"


def test_the_only_voter_needs_nobodys_fetches() -> None:
    scenario = leader(voters="1", epoch=1)
    assert scenario.core.next_deadline_ms() is None
    scenario.tell("fetch id=1 from=9 epoch=1 at=0@0 wait=0", "wait ms=1000000")
    assert scenario.position == ("leader", 1, 1)


def test_a_resigned_leader_serves_nothing_tells_once_and_goes_on_to_the_next_epoch() -> None:
    scenario = leader(voters="1,2", epoch=5).tell("wait ms=3000")
    assert list(scenario.requests(EndQuorumEpochRequest)) == [2]
    scenario.answer(2, "epoch=5")
    scenario.tell("wait ms=500")
    assert not scenario.requests(EndQuorumEpochRequest)
    scenario.tell("fetch id=9 from=9 epoch=5 at=0@0")
    refused = scenario.reply(9, FetchResponse)
    assert (refused.error, refused.leader_id, refused.leader_epoch) == (Error.NOT_LEADER_OR_FOLLOWER, -1, 5)
    scenario.tell("propose epoch=5")
    assert scenario.effects(ProposalRefused)
    scenario.tell("wait")
    assert scenario.position == ("unattached", 6, None)
    assert [(change.leader_id, change.epoch) for change in scenario.effects(LeaderChanged)] == [(None, 6)]
    scenario.tell("flush", "wait")
    assert scenario.position == ("prospective", 6, None)
    assert not scenario.requests(FetchRequest)


def test_a_voter_that_did_not_hear_of_the_resignation_is_told_again_and_no_other() -> None:
    scenario = leader(epoch=19).tell("wait ms=3000")
    assert sorted(scenario.requests(EndQuorumEpochRequest)) == [2, 3]
    scenario.answer(2, "epoch=19")
    for _ in range(3):
        scenario.fail(3).tell("wait")
        assert list(scenario.requests(EndQuorumEpochRequest)) == [3]
    assert scenario.position == ("resigned", 19, None)


@pytest.mark.parametrize(
    ("node", "position"),
    [
        ("me=1 voters=1,2,3 epoch=2 leader=2", ("follower", 2, 2)),
        ("me=9 voters=1,2 epoch=2 leader=2 broker", ("follower", 2, 2)),
        ("me=1 voters=1,2,3 epoch=2", ("prospective", 2, None)),
        ("me=1 voters=1,2,3 epoch=2 leader=1", ("resigned", 2, None)),
    ],
    ids=["follower", "observer", "prospective", "resigned"],
)
def test_who_does_not_lead_has_nothing_to_hand_over(node: str, position: tuple[str, int, int | None]) -> None:
    scenario = Scenario(f"node {node}", "start").tell("transfer id=7 to=3")
    reply = scenario.reply(7, TransferLeadershipResponse)
    assert (reply.error, reply.leader_epoch) == (Error.NOT_LEADER_OR_FOLLOWER, 2)
    assert reply.leader_id == (-1 if position[2] is None else position[2])
    assert scenario.position == position
    assert not scenario.requests(EndQuorumEpochRequest)
