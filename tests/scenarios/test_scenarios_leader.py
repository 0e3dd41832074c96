"""The leader's log: what it appends, when it responds, and which fetches commit."""

from __future__ import annotations

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchResponse, VoteResponse
from quorum.raft.config import RaftConfig, StorageState
from quorum.raft.inputs import Propose
from quorum.raft.ready import (
    AppendBatches,
    HighWatermarkAdvanced,
    LeaderChanged,
    LostLeadership,
    ProposalRefused,
    SendRecords,
    SendResponse,
)
from tests.support.scenario import Scenario, elect, leader, static_voters


def _committed(scenario: Scenario) -> int | None:
    """Return the leader's high watermark, or None before it knows one."""
    offset = scenario.core.describe_quorum().high_watermark
    return None if offset < 0 else offset


def _advanced(scenario: Scenario) -> list[int]:
    return [advanced.offset for advanced in scenario.effects(HighWatermarkAdvanced)]


def _static_leader(*voters: int) -> Scenario:
    """Return a leader of static voters in epoch 1, which opens with one record."""
    scenario = Scenario().load(StorageState(voters=static_voters(*voters))).tell("start")
    elect(scenario, 1)
    return scenario


# --- proposals


@pytest.mark.parametrize("epoch", [4, 6], ids=["older", "higher"])
def test_a_leader_refuses_a_proposal_of_another_epoch(epoch: int) -> None:
    scenario = leader(epoch=5)
    end = scenario.core.log_end_offset
    scenario.tell(f"propose epoch={epoch}")
    (refused,) = scenario.effects(ProposalRefused)
    assert (refused.error, refused.proposed_epoch) == (Error.NOT_LEADER_OR_FOLLOWER, epoch)
    assert scenario.core.log_end_offset == end
    assert not scenario.written


@pytest.mark.parametrize("remembered", ["", "leader=2"], ids=["unattached", "follower"])
def test_who_does_not_lead_refuses_proposals(remembered: str) -> None:
    scenario = Scenario(f"node me=1 voters=1,2 epoch=2 {remembered}", "start", "propose epoch=2")
    (refused,) = scenario.effects(ProposalRefused)
    assert refused.error is Error.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(("size", "is_taken"), [(8 * 1024 * 1024, False), (8 * 1024 * 1024 - 100, True)])
def test_a_batch_over_the_bound_is_refused_whole(size: int, is_taken: bool) -> None:
    scenario = leader(epoch=5)
    end = scenario.core.log_end_offset
    scenario.tell(f"propose epoch=5 size={size}")
    assert [refused.error for refused in scenario.effects(ProposalRefused)] == (
        [] if is_taken else [Error.MESSAGE_TOO_LARGE]
    )
    assert scenario.core.log_end_offset == end + is_taken


@pytest.mark.parametrize(("count", "is_taken"), [(100, True), (101, False)])
def test_a_bound_counts_the_whole_batch(count: int, is_taken: bool) -> None:
    """Many small values make as large a batch as one large value; the framing of each value counts, too."""
    framed = len(build_batch(base_offset=Offset(1), epoch=Epoch(1), timestamp_ms=0, values=[b"a"] * 100))
    scenario = Scenario().load(StorageState(voters=static_voters(1)), config=RaftConfig(max_batch_bytes=framed))
    scenario.tell("start", "flush", "flush")
    scenario.give(Propose(epoch=Epoch(1), values=(b"a",) * count))
    assert [refused.error for refused in scenario.effects(ProposalRefused)] == (
        [] if is_taken else [Error.MESSAGE_TOO_LARGE]
    )


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("begin id=7 from=2 epoch=6", ("follower", 6, 2)),
        ("vote id=7 from=2 epoch=6 end=99@5", ("unattached", 6, None)),
        ("vote id=7 from=2 epoch=6 end=0@0", ("unattached", 6, None)),
    ],
    ids=["follower", "voted", "unattached"],
)
def test_a_deposed_leader_says_so_and_takes_no_more_proposals(line: str, position: tuple[str, int, int | None]) -> None:
    """LostLeadership reports what the node had collected for the next batch; the core keeps nothing."""
    scenario = leader(voters="1,2", epoch=5).tell("propose epoch=5")
    assert [type(write) for write in scenario.written] == [AppendBatches]
    scenario.tell(line)
    assert scenario.position == position
    assert [lost.epoch for lost in scenario.effects(LostLeadership)] == [5]
    scenario.tell("propose epoch=5")
    assert [refused.error for refused in scenario.effects(ProposalRefused)] == [Error.NOT_LEADER_OR_FOLLOWER]
    assert not scenario.written


# --- Fetch


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("epoch=5 at=-5@0", Error.INVALID_REQUEST),
        ("epoch=5 at=0@-1", Error.INVALID_REQUEST),
        ("epoch=5 at=0@6", Error.INVALID_REQUEST),
        ("epoch=5 at=0@0 wait=-1", Error.INVALID_REQUEST),
        ("epoch=6 at=0@0", Error.UNKNOWN_LEADER_EPOCH),
        ("epoch=4 at=0@0", Error.FENCED_LEADER_EPOCH),
    ],
)
def test_a_fetch_that_cannot_be_served_is_refused_with_the_leader(line: str, error: Error) -> None:
    scenario = leader(epoch=5).tell(f"fetch id=7 from=2 {line}")
    reply = scenario.reply(7, FetchResponse)
    assert (reply.error, reply.leader_id, reply.leader_epoch) == (error, 1, 5)
    assert scenario.core.describe_quorum().voters[1].last_fetch_timestamp_ms == -1


def test_a_log_that_leaves_the_leaders_is_told_at_once_where() -> None:
    """Epoch 2 is not in the leader's log: the largest before it is 1, which ends at 3."""
    scenario = leader(epoch=6, log="3@1,6@3,9@5").tell("fetch id=7 from=2 epoch=6 at=6@2")
    reply = scenario.reply(7, FetchResponse)
    assert (reply.error, reply.diverging) == (Error.NONE, OffsetAndEpoch(offset=Offset(3), epoch=Epoch(1)))
    assert (reply.leader_id, reply.leader_epoch) == (1, 6)
    assert isinstance(scenario.replies[0], SendResponse)


def test_a_fetch_at_the_end_waits_as_long_as_it_says_and_is_answered_empty() -> None:
    scenario = leader(voters="1,2", epoch=5, log="3@4").tell("fetch id=6 from=2 epoch=5 at=6@5 hw=0", "wait ms=10")
    assert scenario.core.high_watermark == 6
    scenario.tell("fetch id=7 from=2 epoch=5 at=6@5 hw=6 wait=500")
    assert not scenario.replies
    scenario.tell("wait ms=499")
    assert not scenario.replies
    scenario.tell("wait ms=1")
    assert scenario.reply(7, FetchResponse).error is Error.NONE
    assert isinstance(scenario.replies[0], SendResponse)


def test_a_fetch_at_the_end_is_answered_by_the_next_append() -> None:
    scenario = leader(voters="1,2", epoch=5).tell("fetch id=7 from=2 epoch=5 at=3@5 wait=500")
    assert not scenario.replies
    scenario.tell("propose epoch=5")
    (answered,) = scenario.effects(SendRecords)
    assert (answered.request_id, answered.read_from) == (7, 3)


@pytest.mark.parametrize(
    ("line", "leader_id"), [("begin id=8 from=3 epoch=6", 3), ("vote id=8 from=3 epoch=6 end=9@5", -1)]
)
def test_a_fetch_that_waits_is_turned_away_to_the_next_leader(line: str, leader_id: int) -> None:
    scenario = leader(epoch=5).tell("fetch id=7 from=2 epoch=5 at=3@5 wait=500")
    assert not scenario.replies
    scenario.tell(line)
    reply = scenario.reply(7, FetchResponse)
    assert (reply.error, reply.leader_epoch, reply.records) == (Error.NOT_LEADER_OR_FOLLOWER, 6, b"")
    assert reply.leader_id == leader_id


def test_a_single_voter_commits_by_its_own_flush_and_serves_an_observer() -> None:
    scenario = _static_leader(1)
    assert _committed(scenario) == 1
    scenario.give(Propose(epoch=Epoch(1), values=(b"a", b"b", b"c")))
    assert _committed(scenario) == 1
    scenario.tell("flush")
    assert _committed(scenario) == 4
    scenario.tell("fetch id=1 from=9 epoch=1 at=0@0 wait=0", "fetch id=2 from=9 epoch=1 at=1@1 wait=0")
    assert [answered.read_from for answered in scenario.effects(SendRecords)] == [0, 1]
    scenario.tell("fetch id=3 from=9 epoch=1 at=4@1 wait=0")
    assert isinstance(scenario.replies[0], SendResponse)
    assert scenario.reply(3, FetchResponse).high_watermark == 4


# --- commits


def test_a_leader_knows_no_high_watermark_before_a_majority_holds_its_first_record() -> None:
    """Even a long log proves nothing: records of older epochs may still be replaced."""
    scenario = leader(voters="1,2", epoch=5, log="3@1,9@2")
    assert _committed(scenario) is None
    scenario.tell("fetch id=7 from=2 epoch=5 at=3@1 wait=0")
    assert scenario.reply(7, FetchResponse).high_watermark == -1
    scenario.tell("fetch id=8 from=2 epoch=5 at=9@2 wait=0")
    assert (_committed(scenario), _advanced(scenario)) == (None, [])
    scenario.tell("fetch id=9 from=2 epoch=5 at=12@5 wait=0")
    assert (_committed(scenario), _advanced(scenario)) == (12, [12])


def test_a_single_voter_commits_its_first_record_and_every_later_one_once() -> None:
    scenario = Scenario("node me=1 voters=1 epoch=4 log=15@4", "start", "flush first")
    assert scenario.core.is_leader
    assert _committed(scenario) is None
    scenario.tell("flush")
    assert _advanced(scenario) == [18]
    scenario.tell("flush", "wait ms=10")
    assert _advanced(scenario) == []
    scenario.tell("propose epoch=5", "flush")
    assert _advanced(scenario) == [19]


def test_of_two_the_slower_decides() -> None:
    scenario = leader(voters="1,2", epoch=5, log="10@4")
    for at, committed in (("10@4", None), ("13@5", 13)):
        scenario.tell(f"fetch id=1 from=2 epoch=5 at={at} wait=0")
        assert _committed(scenario) == committed
    scenario.tell("propose epoch=5", "propose epoch=5", "flush")
    assert _committed(scenario) == 13
    scenario.tell("fetch id=2 from=2 epoch=5 at=14@5 wait=0")
    assert _committed(scenario) == 14


def test_of_three_the_second_decides() -> None:
    scenario = leader(epoch=5, log="10@4").tell("propose epoch=5", "propose epoch=5", "flush")
    for node_id in (2, 3):
        scenario.tell(f"fetch id=1 from={node_id} epoch=5 at=10@4 wait=0")
        assert _committed(scenario) is None
    scenario.tell("fetch id=2 from=3 epoch=5 at=15@5 wait=0")
    assert _committed(scenario) == 15
    scenario.tell("propose epoch=5", "flush")
    assert _committed(scenario) == 15
    scenario.tell("fetch id=3 from=2 epoch=5 at=16@5 wait=0")
    assert _committed(scenario) == 16
    scenario.tell("fetch id=4 from=3 epoch=5 at=16@5 wait=0")
    assert (_committed(scenario), _advanced(scenario)) == (16, [])


def test_a_follower_that_lost_its_disk_takes_nothing_back() -> None:
    scenario = leader(voters="1,2", epoch=5, log="10@4").tell("fetch id=1 from=2 epoch=5 at=13@5 wait=0")
    assert _committed(scenario) == 13
    scenario.tell("fetch id=2 from=2 epoch=5 at=5@4 wait=0")
    assert (_committed(scenario), _advanced(scenario)) == (13, [])
    assert scenario.core.describe_quorum().voters[1].log_end_offset == 5


def test_commits_are_told_once_each_as_followers_fetch() -> None:
    scenario = _static_leader(1, 2).tell("fetch id=1 from=2 epoch=1 at=1@1 wait=0")
    assert _advanced(scenario) == [1]
    scenario.give(Propose(epoch=Epoch(1), values=(b"a", b"b", b"c"))).tell("flush")
    assert _advanced(scenario) == []
    scenario.tell("fetch id=2 from=2 epoch=1 at=1@1 wait=500")
    assert _advanced(scenario) == []
    assert scenario.reply(2, FetchResponse).high_watermark == 1
    scenario.tell("fetch id=3 from=2 epoch=1 at=4@1 wait=500")
    assert _advanced(scenario) == [4]


def test_what_was_committed_stays_so_through_an_election_and_is_unknown_to_the_next_leader() -> None:
    scenario = leader(voters="1,2", epoch=7, log="3@2,9@4").tell("fetch id=1 from=2 epoch=7 at=12@7 wait=500")
    assert scenario.core.high_watermark == 12
    scenario.tell("vote id=2 from=2 epoch=8 end=9@4")
    assert not scenario.reply(2, VoteResponse).vote_granted
    assert scenario.position == ("unattached", 8, None)
    assert scenario.core.high_watermark == 12
    scenario.tell("flush", "vote id=3 from=2 epoch=9 end=12@7")
    assert scenario.reply(3, VoteResponse).vote_granted
    assert scenario.core.high_watermark == 12
    scenario.tell("flush", "wait")
    assert (scenario.core.role, scenario.core.high_watermark) == ("prospective", 12)
    scenario.answer(2, "epoch=9 granted").tell("flush")
    assert (scenario.core.role, scenario.core.high_watermark) == ("candidate", 12)
    scenario.answer(2, "epoch=10 granted").tell("flush")
    assert (scenario.core.role, scenario.core.high_watermark) == ("leader", 12)
    assert _committed(scenario) is None


def test_who_leads_is_named_with_its_endpoints() -> None:
    scenario = leader(epoch=5)
    scenario.tell("fetch id=1 from=2 epoch=4 at=0@0")
    assert scenario.reply(1, FetchResponse).leader_endpoints == scenario.core.leader_endpoints
    assert [endpoint.host for endpoint in scenario.core.leader_endpoints] == ["n1"]
    scenario.tell("fetch id=1 from=2 epoch=5 at=3@5 wait=0")
    assert scenario.reply(1, FetchResponse).leader_endpoints == scenario.core.leader_endpoints
    scenario.tell("begin id=2 from=3 epoch=6")
    assert [endpoint.host for change in scenario.effects(LeaderChanged) for endpoint in change.endpoints] == ["n3"]
