"""Followers and observers: what they append, and where they look for a silent leader."""

from __future__ import annotations

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter, VoterHistory, VoterSet
from quorum.api.raft_messages import FetchRequest, FetchResponse, VoteRequest, VoteResponse
from quorum.raft.config import StorageState
from quorum.raft.ready import AppendBatches, HighWatermarkAdvanced, LogTruncated, TruncateLog
from tests.support.raft_transcript import endpoints_of, key_of
from tests.support.scenario import Scenario


def _batch(base: int, *values: bytes, epoch: int = 3) -> bytes:
    return build_batch(base_offset=Offset(base), epoch=Epoch(epoch), timestamp_ms=0, values=list(values))


def _follower(*, me: str = "1 voters=1,2,3", epoch: int = 5, log: str = "") -> Scenario:
    """Return a follower of leader 2; its first Fetch is under way."""
    scenario = Scenario(f"node me={me} epoch={epoch} leader=2 {log}", "start")
    assert scenario.position == ("follower", epoch, 2)
    return scenario


def _fetches(scenario: Scenario) -> list[tuple[int, int, int]]:
    """Return the destination, the fetch offset and the last fetched epoch of each open Fetch."""
    return [
        (who, fetch.fetch_offset, fetch.last_fetched_epoch) for who, fetch in scenario.requests(FetchRequest).items()
    ]


# --- where the leader is


@pytest.mark.parametrize("me", [1, 9], ids=["voter", "observer"])
def test_a_leader_of_whom_one_listener_is_told_has_those_that_the_voter_set_names(me: int) -> None:
    """Kafka's responses do the same: a client that asks this replica by gRPC still gets the leader's gRPC endpoint."""
    told = Endpoint(name="CONTROLLER", host="n2", port=9093)
    both = (told, *endpoints_of(2))
    voters = VoterSet.of(
        Voter(key=key_of(node_id), endpoints=both if node_id == 2 else endpoints_of(node_id)) for node_id in (1, 2, 3)
    )
    storage = StorageState(voters=VoterHistory.start(voters, Offset(0)))
    scenario = Scenario().load(storage, me=key_of(me)).tell("start")
    correlation, asked = max(scenario.asked.items())
    response: FetchResponse | VoteResponse
    response = VoteResponse(leader_id=NodeId(2), leader_epoch=Epoch(5), leader_endpoints=(told,))
    if isinstance(asked.request, FetchRequest):
        response = FetchResponse(leader_id=NodeId(2), leader_epoch=Epoch(5), leader_endpoints=(told,))
    scenario.answer_late(asked.destination.node_id, correlation, response)
    assert scenario.position == ("follower", 5, 2)
    assert scenario.core.leader_endpoints == both


# --- replication


@pytest.mark.parametrize(
    "me", ["1 voters=1,2,3", "9 voters=2,3", "9 voters=2,3 broker"], ids=["voter", "spare", "broker"]
)
def test_what_is_fetched_is_appended_and_made_durable_before_the_next_fetch(me: str) -> None:
    """Observers do so, too: Kafka's that can never vote leave it to the operating system."""
    scenario = _follower(me=me)
    scenario.answer_records(2, _batch(0, b"a", b"b"), epoch=5, high_watermark=0)
    (append,) = scenario.written
    assert isinstance(append, AppendBatches)
    assert (append.base_offset, append.end_offset, append.epoch, append.data) == (0, 2, 3, _batch(0, b"a", b"b"))
    assert (scenario.core.log_end_offset, scenario.core.flushed_offset, _fetches(scenario)) == (2, 0, [])
    scenario.tell("flush")
    assert (scenario.core.flushed_offset, _fetches(scenario)) == (2, [(2, 2, 3)])


def test_a_log_that_differs_is_cut_made_durable_and_then_fetched_from() -> None:
    scenario = _follower(log="log=3@3").answer(2, "epoch=5 leader=2 hw=1 diverging=2@3")
    (cut,) = scenario.written
    assert isinstance(cut, TruncateLog)
    assert [truncated.end_offset for truncated in scenario.effects(LogTruncated)] == [2]
    assert (scenario.core.log_end_offset, scenario.core.flushed_offset, _fetches(scenario)) == (2, 2, [])
    scenario.tell("flush")
    assert _fetches(scenario) == [(2, 2, 3)]


def test_the_high_watermark_follows_the_leaders_with_records_and_without() -> None:
    scenario = _follower().answer(2, "epoch=5 leader=2 hw=0")
    assert (scenario.core.log_end_offset, scenario.core.high_watermark) == (0, 0)
    assert _fetches(scenario) == [(2, 0, 0)]
    scenario.answer_records(2, _batch(0, b"a", b"b", epoch=5), epoch=5, high_watermark=0)
    assert (scenario.core.log_end_offset, scenario.core.high_watermark) == (2, 0)
    scenario.tell("flush").answer(2, "epoch=5 leader=2 hw=2")
    assert (scenario.core.log_end_offset, scenario.core.high_watermark) == (2, 2)
    assert [advanced.offset for advanced in scenario.effects(HighWatermarkAdvanced)] == [2]
    (fetch,) = scenario.requests(FetchRequest).values()
    assert (fetch.fetch_offset, fetch.high_watermark) == (2, 2)


def test_only_what_the_leader_calls_committed_is_told() -> None:
    scenario = _follower().answer_records(2, _batch(0, b"a", b"b", b"c"), epoch=5, high_watermark=0)
    assert not scenario.effects(HighWatermarkAdvanced)
    scenario.tell("flush").answer_records(2, _batch(3, b"d", b"e", b"f"), epoch=5, high_watermark=3)
    assert scenario.core.log_end_offset == 6
    assert [advanced.offset for advanced in scenario.effects(HighWatermarkAdvanced)] == [3]
    assert scenario.core.high_watermark == 3


def test_what_is_committed_stays_so_while_leaders_change() -> None:
    scenario = _follower(log="log=12@5").answer(2, "epoch=5 leader=2 hw=10")
    assert scenario.core.high_watermark == 10
    for line in ("vote id=1 from=2 epoch=6 end=2@1", "flush", "vote id=2 from=2 epoch=6 end=12@5", "flush", "wait"):
        scenario.tell(line)
        assert scenario.core.high_watermark == 10
    assert scenario.position == ("prospective", 6, None)
    scenario.answer(2, "epoch=6 granted").tell("flush").answer(2, "epoch=7 granted")
    assert scenario.position == ("leader", 7, 1)
    assert scenario.core.high_watermark == 10
    assert scenario.core.describe_quorum().high_watermark == -1


# --- responses that come too late


def test_an_answer_to_a_fetch_is_ignored_by_who_asks_for_pre_votes_by_now() -> None:
    scenario = _follower()
    late = scenario.correlation(2)
    scenario.tell("wait ms=2000")
    assert scenario.position == ("prospective", 5, 2)
    answer = FetchResponse(leader_id=2, leader_epoch=5, high_watermark=2, records=_batch(0, b"a", b"b"))
    scenario.answer_late(2, late, answer)
    assert (scenario.core.log_end_offset, scenario.core.high_watermark) == (0, 0)
    assert scenario.position == ("prospective", 5, 2)
    scenario.answer(3, "epoch=5 leader=2 granted")
    assert scenario.position == ("candidate", 6, None)


def test_an_answer_of_the_leader_before_is_ignored() -> None:
    scenario = _follower()
    late = scenario.correlation(2)
    scenario.tell("begin id=1 from=3 epoch=6", "flush")
    answer = FetchResponse(leader_id=2, leader_epoch=5, high_watermark=2, records=_batch(0, b"a", b"b"))
    scenario.answer_late(2, late, answer)
    assert scenario.core.log_end_offset == 0
    assert scenario.position == ("follower", 6, 3)


# --- the leader is silent, or no leader is known


def test_a_follower_asks_the_leader_again_after_a_timeout_and_the_voters_after_a_broken_connection() -> None:
    """Kafka asks its bootstrap servers; here a voter finds a new leader through its pre-votes."""
    scenario = _follower().fail(2).tell("wait")
    assert _fetches(scenario) == [(2, 0, 0)]
    scenario.fail(2, "reset")
    assert scenario.position == ("prospective", 5, 2)
    assert sorted(scenario.requests(VoteRequest)) == [2, 3]
    scenario.answer(3, "epoch=6 leader=3 error=FENCED_LEADER_EPOCH").tell("flush")
    assert scenario.position == ("follower", 6, 3)


def test_a_voter_without_a_leader_finds_it_by_asking_for_pre_votes() -> None:
    """Kafka's fetches from the voters meanwhile."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=5", "start").answer(2, "epoch=5 leader=3")
    assert scenario.position == ("follower", 5, 3)
    assert _fetches(scenario) == [(3, 0, 0)]


def test_a_voter_that_is_told_of_no_leader_asks_again_until_it_leads_itself() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=0", "start").answer(2, "epoch=0")
    assert scenario.position == ("unattached", 0, None)
    scenario.tell("wait").answer(2, "epoch=0 granted")
    assert scenario.position == ("candidate", 1, None)
    scenario.tell("flush").answer(2, "epoch=1 granted")
    assert scenario.position == ("leader", 1, 1)
    assert isinstance(scenario.written[0], AppendBatches)


# --- observers


def test_an_observer_never_asks_for_votes_while_its_leader_is_silent() -> None:
    scenario = _follower(me="9 voters=2", log="log=1@3").tell("wait ms=2000")
    assert scenario.position == ("follower", 5, 2)
    assert not scenario.requests(VoteRequest)
    scenario.tell("vote id=3 from=2 epoch=6 end=1@5")
    assert scenario.reply(3, VoteResponse).vote_granted
    assert scenario.position == ("unattached", 6, None)


def test_an_observer_never_asks_for_votes_while_nobody_leads() -> None:
    scenario = Scenario("node me=9 voters=2 epoch=5", "start")
    assert _fetches(scenario) == [(2, 0, 0)]
    for epoch in (5, 6):
        for _ in range(3):
            scenario.fail(2).tell("wait")
            assert scenario.position == ("unattached", epoch, None)
            assert _fetches(scenario) == [(2, 0, 0)]
            assert not scenario.requests(VoteRequest)
        if epoch == 5:
            scenario.tell("vote id=3 from=2 epoch=6 end=1@5")
            assert scenario.reply(3, VoteResponse).vote_granted
            scenario.tell("flush", "wait ms=10000")


@pytest.mark.parametrize(
    ("servers", "may_ask"),
    [("voters=2,3", {2, 3}), ("voters= bootstrap=2,3", {-2, -3}), ("voters=2,3 bootstrap=4", {2, 3, -2})],
    ids=["voters", "bootstrap servers", "both"],
)
def test_an_observer_without_a_leader_asks_all_it_knows_in_turn(servers: str, may_ask: set[int]) -> None:
    scenario = Scenario(f"node me=9 {servers} broker", "start")
    asked = []
    for _ in may_ask:
        ((who, offset, epoch),) = _fetches(scenario)
        assert (offset, epoch) == (0, 0)
        asked.append(who)
        scenario.answer(who, "epoch=-1 error=UNKNOWN_SERVER_ERROR").tell("wait")
    assert set(asked) == may_ask
    ((who, _, _),) = _fetches(scenario)
    scenario.answer(who, "epoch=5 leader=2 error=FENCED_LEADER_EPOCH")
    assert scenario.position == ("follower", 5, 2)
    assert _fetches(scenario) == [(2, 0, 0)]
    assert scenario.stored.leader_id == 2


@pytest.mark.parametrize("how", ["", "reset"], ids=["timeout", "broken connection"])
def test_an_observer_whose_leader_is_out_of_reach_asks_others_and_it_again(how: str) -> None:
    scenario = _follower(me="9 voters=2,3").fail(2, how)
    asked = []
    for _ in range(3):
        ((who, _, _),) = _fetches(scenario.tell("wait"))
        asked.append(who)
        scenario.fail(who, how)
    assert set(asked) == {2, 3}
    assert scenario.position == ("follower", 5, 2)


@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH"])
def test_an_observer_goes_back_to_its_leader_when_others_know_no_newer(error: str) -> None:
    scenario = _follower(me="9 voters=2,3").fail(2)
    ((who, _, _),) = _fetches(scenario.tell("wait"))
    scenario.answer(who, f"epoch=5 leader=2 error={error}").tell("wait")
    assert _fetches(scenario) == [(2, 0, 0)]
    assert scenario.position == ("follower", 5, 2)


def test_answers_that_cross_are_harmless() -> None:
    """The leader's response comes too late, and another server, maybe the leader itself, sends the same records."""
    scenario = _discovered()
    late = scenario.correlation(2)
    scenario.fail(2)
    ((who, _, _),) = _fetches(scenario.tell("wait"))
    assert who < 0
    records = FetchResponse(leader_id=2, leader_epoch=5, high_watermark=0, records=_batch(0, b"a", b"b"))
    scenario.answer_late(2, late, records)
    assert scenario.core.log_end_offset == 0
    scenario.answer_late(who, scenario.correlation(who), records)
    assert scenario.position == ("follower", 5, 2)
    scenario.tell("wait")
    assert _fetches(scenario) == [(2, 0, 0)]
    scenario.answer_records(2, _batch(0, b"a", b"b"), epoch=5, high_watermark=0)
    assert scenario.core.log_end_offset == 2


def _discovered() -> Scenario:
    """Return an observer that has found leader 2 through a bootstrap server."""
    scenario = Scenario("node me=9 voters= bootstrap=2,3 broker", "start")
    ((who, _, _),) = _fetches(scenario)
    scenario.answer(who, "epoch=5 leader=2 error=FENCED_LEADER_EPOCH").tell("flush")
    assert scenario.position == ("follower", 5, 2)
    assert scenario.core.leader_endpoints == endpoints_of(2)
    return scenario


def test_one_fetch_at_a_time_is_under_way() -> None:
    """A Fetch to the leader ends at its timeout; one to another server waits for its response."""
    scenario = _discovered().fail(2).tell("wait")
    assert len(_fetches(scenario)) == 1
    for _ in range(5):
        assert not _fetches(scenario.tell("wait ms=100"))


def test_an_observer_votes_for_one_and_follows_another() -> None:
    scenario = Scenario("node me=9 voters=1,2 epoch=5", "start", "vote id=3 from=1 epoch=5 end=0@0")
    assert scenario.stored.voted == key_of(1)
    scenario.tell("begin id=4 from=2 epoch=5")
    assert scenario.position == ("follower", 5, 2)
    assert (scenario.stored.voted, scenario.stored.leader_id) == (key_of(1), 2)
