"""Voter changes (KIP-853): when one is allowed, when it takes effect, and how it ends for the leader."""

from __future__ import annotations

import pytest

from metadata_log.format.epochs import EpochHistory
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from metadata_log.voters import VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import EndQuorumEpochRequest, FetchResponse
from quorum.api.voter_messages import ApiVersionsRequest
from quorum.raft.config import StorageState
from quorum.raft.ready import QuorumStateData, SendRecords, VotersChanged
from tests.support.raft_transcript import endpoints_of
from tests.support.scenario import Scenario, dynamic_voters, elect, leader
from tests.support.voter_scenario import (
    ADD,
    REMOVE,
    UPDATE,
    Answer,
    answered,
    ask,
    committed_leader,
    control_records,
    fetch_up,
    static_leader,
    voter_ids,
)

# --- the first records of an epoch


def test_the_first_leader_of_dynamic_voters_writes_them_into_the_log() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=1", "start").answer(2, "epoch=1 granted").tell("flush")
    scenario.answer(2, "epoch=2 granted")
    scenario.written = scenario.written[:1]
    change, version, voters = control_records(scenario)
    assert isinstance(change, LeaderChangeMessage)
    assert version == KRaftVersionRecord(kraft_version=1)
    assert isinstance(voters, VotersRecord)
    assert VoterSet.from_record(voters) == scenario.core.voters


def test_the_first_leader_of_static_voters_does_not() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=1 static", "start").answer(2, "epoch=1 granted").tell("flush")
    scenario.answer(2, "epoch=2 granted")
    scenario.written = scenario.written[:1]
    (change,) = control_records(scenario)
    assert isinstance(change, LeaderChangeMessage)
    assert scenario.core.kraft_version == 0


def test_a_fetch_from_the_start_gets_the_log_and_not_the_checkpoint_that_named_the_voters() -> None:
    scenario = leader(voters="1,2", epoch=5).tell("fetch id=7 from=2 epoch=5 at=0@0 wait=0")
    reply = scenario.reply(7, FetchResponse)
    assert (reply.error, reply.snapshot_id) == (Error.NONE, None)
    assert [records.read_from for records in scenario.effects(SendRecords)] == [0]


def test_a_follower_goes_by_the_voters_that_it_fetches_before_they_are_committed() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=5 leader=2", "start")
    assert voter_ids(scenario) == [1, 2]
    scenario.answer(2, "epoch=5 leader=2 hw=0 voters=1,2,3")
    assert voter_ids(scenario) == [1, 2, 3]
    assert [list(changed.voters.node_ids) for changed in scenario.effects(VotersChanged)] == [[1, 2, 3]]
    assert scenario.core.high_watermark == 0


def test_a_leader_that_listens_elsewhere_than_the_log_says_writes_so_first() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=4 port=9999", "start")
    elect(scenario, 5)
    fetch_up(scenario, 2)
    own = scenario.core.voters.get(scenario.core.replica.node_id)
    assert own is not None
    assert [endpoint.port for endpoint in own.endpoints] == [9999]
    assert scenario.core.high_watermark > scenario.core.voters_offset >= 0


# --- add


def _add(scenario: Scenario, line: str = "add voter=3", answer: str = "epoch=0 is=3") -> Scenario:
    """Request it, and let the new voter report its id."""
    scenario.tell(f"{line} id=7")
    assert not scenario.replies
    (asked,) = [sent for sent in scenario.asked.values() if isinstance(sent.request, ApiVersionsRequest)]
    assert (asked.destination.node_id, asked.destination.endpoints) == (3, endpoints_of(3))
    return scenario.answer(3, answer)


def test_a_voter_is_added_once_it_says_who_it_is_and_the_answer_waits_for_the_commit() -> None:
    scenario = _add(committed_leader(1, 2, caught_up=3))
    (voters,) = control_records(scenario)
    assert isinstance(voters, VotersRecord)
    assert voter_ids(scenario) == [1, 2, 3]
    assert answered(scenario, ADD) is None
    assert answered(scenario.tell("flush"), ADD) is None
    fetch_up(scenario, 2)
    assert answered(scenario, ADD) is Error.NONE
    description = scenario.core.describe_quorum()
    assert [each.replica.node_id for each in description.voters] == [1, 2, 3]
    assert description.observers == ()


def test_a_voter_that_has_to_fetch_for_its_own_commit_is_answered_at_once() -> None:
    scenario = _add(committed_leader(1, 2, caught_up=3), "add voter=3 ack")
    assert answered(scenario, ADD) is Error.NONE
    assert voter_ids(scenario) == [1, 2, 3]
    fetch_up(scenario.tell("flush"), 2)
    assert not [sent for sent in scenario.replies if sent.request_id == 7]
    assert scenario.core.high_watermark == scenario.core.log_end_offset


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("add voter=3 named=OTHER", Error.INVALID_REQUEST),
        ("add voter=3 dir=0", Error.INVALID_REQUEST),
        ("add voter=2 dir=9", Error.DUPLICATE_VOTER),
        ("add voter=2", Error.DUPLICATE_VOTER),
    ],
    ids=["none of our listeners", "no directory", "a voter's other disk", "a voter"],
)
def test_a_voter_that_cannot_be_added_is_refused_at_once(line: str, error: Error) -> None:
    scenario = committed_leader(1, 2, caught_up=3)
    assert ask(scenario, line, ADD) is error
    assert not scenario.requests(ApiVersionsRequest)
    assert voter_ids(scenario) == [1, 2]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("epoch=0 is=3 error=INVALID_REQUEST", Error.REQUEST_TIMED_OUT),
        ("epoch=0 is=3 max=0", Error.INVALID_REQUEST),
        ("epoch=0 is=4", Error.INVALID_REQUEST),
        ("epoch=0 is=3 broker", Error.INVALID_REQUEST),
    ],
    ids=["an error", "kraft.version 0 alone", "another replica", "no controller"],
)
def test_what_the_new_voter_says_of_itself_decides(answer: str, error: Error) -> None:
    scenario = _add(committed_leader(1, 2, caught_up=3), answer=answer)
    assert answered(scenario, ADD) is error
    assert voter_ids(scenario) == [1, 2]
    assert not scenario.written


def test_a_new_voter_that_is_behind_is_not_added() -> None:
    scenario = _add(committed_leader(1, 2))
    assert answered(scenario, ADD) is Error.REQUEST_TIMED_OUT
    assert voter_ids(scenario) == [1, 2]


def test_an_addition_that_does_not_commit_in_time_is_said_to_be_unknown_and_stays() -> None:
    scenario = _add(committed_leader(1, 2, caught_up=3))
    assert answered(scenario.tell("wait ms=1999"), ADD) is None
    assert answered(scenario.tell("wait ms=1"), ADD) is Error.REQUEST_TIMED_OUT
    assert voter_ids(scenario) == [1, 2, 3]


def test_an_addition_of_a_leader_that_loses_its_epoch_before_it_wrote_is_refused() -> None:
    scenario = committed_leader(1, 2, caught_up=3).tell("add voter=3 id=7", "begin id=8 from=2 epoch=6")
    assert answered(scenario, ADD) is Error.NOT_LEADER_OR_FOLLOWER
    assert voter_ids(scenario) == [1, 2]


# --- remove


def test_a_voter_is_removed_at_once_and_the_answer_waits_for_the_commit() -> None:
    scenario = committed_leader(1, 2, 3)
    assert ask(scenario, "remove voter=3", REMOVE) is None
    assert voter_ids(scenario) == [1, 2]
    fetch_up(scenario.tell("flush"), 2)
    assert answered(scenario, REMOVE) is Error.NONE
    assert scenario.core.role == "leader"


def test_a_leader_that_is_removed_leads_until_that_is_committed_and_then_resigns() -> None:
    scenario = committed_leader(1, 2, 3)
    assert ask(scenario, "remove voter=1", REMOVE) is None
    assert voter_ids(scenario) == [2, 3]
    fetch_up(scenario.tell("flush"), 2)
    assert answered(scenario, REMOVE) is None
    assert scenario.core.role == "leader"
    fetch_up(scenario, 3)
    assert answered(scenario, REMOVE) is Error.NONE
    assert scenario.position == ("resigned", 5, None)
    assert sorted(scenario.requests(EndQuorumEpochRequest)) == [2, 3]
    scenario.tell("wait ms=2000")
    assert scenario.position == ("unattached", 6, None)
    assert not scenario.core.is_voter


@pytest.mark.parametrize(
    ("line", "voters"),
    [("remove voter=3 dir=9", (1, 2, 3)), ("remove voter=4", (1, 2, 3)), ("remove voter=1", (1,))],
    ids=["another disk", "no voter", "the last"],
)
def test_who_is_no_voter_or_the_last_one_is_not_removed(line: str, voters: tuple[int, ...]) -> None:
    scenario = committed_leader(*voters)
    assert ask(scenario, line, REMOVE) is Error.VOTER_NOT_FOUND
    assert voter_ids(scenario) == list(voters)


def test_a_removal_that_does_not_commit_in_time_is_said_to_be_unknown_and_stays() -> None:
    scenario = committed_leader(1, 2, 3).tell("remove voter=3 id=7", "wait ms=1999")
    assert answered(scenario, REMOVE) is None
    assert answered(scenario.tell("wait ms=1"), REMOVE) is Error.REQUEST_TIMED_OUT
    assert voter_ids(scenario) == [1, 2]


def test_a_removal_of_a_leader_that_loses_its_epoch_is_said_to_be_unknown_and_stays() -> None:
    """Kafka's response is NOT_LEADER_OR_FOLLOWER, as if nothing had been written."""
    scenario = committed_leader(1, 2, 3).tell("remove voter=3 id=7", "begin id=8 from=2 epoch=6")
    assert answered(scenario, REMOVE) is Error.REQUEST_TIMED_OUT
    assert voter_ids(scenario) == [1, 2]


# --- what holds for all


CHANGES = pytest.mark.parametrize(
    ("line", "kind"),
    [("add voter=4", ADD), ("remove voter=2", REMOVE), ("update from=2 epoch=5 port=9999", UPDATE)],
    ids=["add", "remove", "update"],
)


@CHANGES
@pytest.mark.parametrize("remembered", ["", "leader=2"], ids=["prospective", "follower"])
def test_who_does_not_lead_refuses(line: str, kind: Answer, remembered: str) -> None:
    scenario = Scenario(f"node me=1 voters=1,2,3 epoch=5 {remembered}", "start")
    assert ask(scenario, line, kind) is Error.NOT_LEADER_OR_FOLLOWER
    assert scenario.reply(7, kind).leader_id == (2 if remembered else -1)
    assert not scenario.written


@CHANGES
def test_before_anything_of_its_epoch_is_committed_a_leader_changes_nothing(line: str, kind: Answer) -> None:
    """A former leader may have appended another set: the leader's known log is committed, but its own epoch is not."""
    storage = StorageState(
        quorum_state=QuorumStateData(leader_id=NodeId(2), leader_epoch=Epoch(4)),
        end=OffsetAndEpoch(offset=Offset(3), epoch=Epoch(4)),
        epochs=EpochHistory().assign(Epoch(4), Offset(0)),
        voters=dynamic_voters(1, 2, offset=2),
    )
    scenario = Scenario().load(storage).tell("start").answer(2, "epoch=4 leader=2 hw=3").tell("wait ms=2000")
    elect(scenario, 5)
    assert scenario.core.high_watermark == 3
    assert ask(scenario, line, kind) is Error.REQUEST_TIMED_OUT
    assert not scenario.written
    fetch_up(scenario, 2)
    assert ask(scenario, line, kind) in (None, Error.NONE)


@CHANGES
@pytest.mark.parametrize("pending", ["add voter=3", "remove voter=3"])
def test_one_change_at_a_time_is_under_way(line: str, kind: Answer, pending: str) -> None:
    scenario = committed_leader(1, 2, caught_up=3) if pending.startswith("add") else committed_leader(1, 2, 3)
    scenario.tell(f"{pending} id=6")
    assert ask(scenario, line, kind) is Error.REQUEST_TIMED_OUT
    assert not scenario.written


def test_a_change_that_is_not_committed_keeps_out_the_next_one_also_when_nobody_waits_for_it() -> None:
    scenario = _add(committed_leader(1, 2, caught_up=3), "add voter=3 ack")
    assert ask(scenario, "remove voter=2", REMOVE) is Error.REQUEST_TIMED_OUT
    fetch_up(scenario.tell("flush"), 2)
    assert ask(scenario, "remove voter=2", REMOVE) is None


@CHANGES
def test_a_change_whose_asker_gave_up_still_keeps_out_the_next_one(line: str, kind: Answer) -> None:
    scenario = committed_leader(1, 2, 3, caught_up=4).tell("remove voter=3 id=6", "flush", "wait ms=2000")
    assert answered(scenario, REMOVE, 6) is Error.REQUEST_TIMED_OUT
    assert ask(scenario, line, kind) is Error.REQUEST_TIMED_OUT
    assert not scenario.written
    fetch_up(scenario, 2)
    assert ask(scenario, line, kind) in (None, Error.NONE)


@pytest.mark.parametrize(
    ("line", "kind", "error"),
    [
        ("add voter=4", ADD, Error.UNSUPPORTED_VERSION),
        ("remove voter=2", REMOVE, Error.UNSUPPORTED_VERSION),
        ("update from=2 epoch=1 port=9999", UPDATE, Error.NONE),
    ],
    ids=["add", "remove", "update"],
)
def test_static_voters_are_not_changed_but_may_say_where_they_listen(line: str, kind: Answer, error: Error) -> None:
    scenario = static_leader(1, 2)
    assert ask(scenario, line, kind) is error
    assert voter_ids(scenario) == [1, 2]
    assert not scenario.written
