"""Changes of the voters (KIP-853): who may ask for one, when it holds, and what becomes of it and of the leader."""

from __future__ import annotations

import pytest

from metadata_log.batch import batch_records, parse_header
from metadata_log.epochs import EpochHistory
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord, decode_control
from metadata_log.voters import Endpoint, VoterSet
from quorum.errors import Error
from quorum.raft.config import StorageState
from quorum.raft.inputs import RequestReceived
from quorum.raft.messages import EndQuorumEpochRequest, FetchRequest, FetchResponse
from quorum.raft.ready import AppendBatches, HighWatermarkAdvanced, QuorumStateData, SendRecords, VotersChanged
from quorum.raft.voter_messages import (
    AddRaftVoterResponse,
    ApiVersionsRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)
from tests.support.raft_transcript import endpoints_of, key_of
from tests.support.scenario import Scenario, dynamic_voters, elect, leader

Answer = (
    type[AddRaftVoterResponse]
    | type[RemoveRaftVoterResponse]
    | type[UpdateRaftVoterResponse]
    | type[UpgradeKRaftVersionResponse]
)
ADD, REMOVE, UPDATE, UPGRADE = (
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)


def _fetch(scenario: Scenario, *node_ids: int) -> Scenario:
    """Each is at the log's end."""
    epoch, end = scenario.core.epoch, scenario.core.log_end
    for node_id in node_ids:
        scenario.tell(f"fetch id={50 + node_id} from={node_id} epoch={epoch} at={end.offset}@{end.epoch} wait=0")
    return scenario


def _leader(*voters: int, committed: bool = True, caught_up: int | None = None) -> Scenario:
    """Of epoch 5; its first record is committed, and an observer has all of the log."""
    scenario = leader(voters=",".join(map(str, voters)), epoch=5)
    if committed:
        _fetch(scenario, *voters[1:2])
        assert scenario.core.high_watermark == scenario.core.log_end_offset
    return scenario if caught_up is None else _fetch(scenario, caught_up)


def _static_leader(*voters: int) -> Scenario:
    """Of static voters, its first record committed; none has told it of its directory yet."""
    scenario = Scenario(f"node me=1 voters={','.join(map(str, voters))} static", "start")
    elect(scenario, 1)
    return _fetch(scenario, *voters[1:])


def _told(scenario: Scenario, kind: Answer, request_id: int = 7) -> Error | None:
    """The error that the request was answered with; None if it was not answered yet."""
    found = [sent for sent in scenario.replies if sent.request_id == request_id]
    return scenario.reply(request_id, kind).error if found else None


def _asked(scenario: Scenario, line: str, kind: Answer) -> Error | None:
    return _told(scenario.tell(f"{line} id=7"), kind)


def _appended(scenario: Scenario) -> list[object]:
    """The control records that the last step wrote."""
    records: list[object] = []
    for write in scenario.written:
        assert isinstance(write, AppendBatches)
        header = parse_header(write.data)
        assert header.is_control
        found = batch_records(write.data, header)
        records += [decode_control(record.key or b"", record.value or b"") for record in found]
    return records


def _voters(scenario: Scenario) -> list[int]:
    return list(scenario.core.voters.node_ids)


# --- the first records of an epoch


def test_the_first_leader_of_dynamic_voters_writes_them_into_the_log() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=1", "start").answer(2, "epoch=1 granted").tell("flush")
    scenario.answer(2, "epoch=2 granted")
    scenario.written = scenario.written[:1]
    change, version, voters = _appended(scenario)
    assert isinstance(change, LeaderChangeMessage)
    assert version == KRaftVersionRecord(kraft_version=1)
    assert isinstance(voters, VotersRecord)
    assert VoterSet.from_record(voters) == scenario.core.voters


def test_the_first_leader_of_static_voters_does_not() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=1 static", "start").answer(2, "epoch=1 granted").tell("flush")
    scenario.answer(2, "epoch=2 granted")
    scenario.written = scenario.written[:1]
    (change,) = _appended(scenario)
    assert isinstance(change, LeaderChangeMessage)
    assert scenario.core.kraft_version == 0


def test_a_fetch_from_the_start_gets_the_log_and_not_the_checkpoint_that_named_the_voters() -> None:
    scenario = leader(voters="1,2", epoch=5).tell("fetch id=7 from=2 epoch=5 at=0@0 wait=0")
    reply = scenario.reply(7, FetchResponse)
    assert (reply.error, reply.snapshot_id) == (Error.NONE, None)
    assert [records.read_from for records in scenario.effects(SendRecords)] == [0]


def test_a_follower_goes_by_the_voters_that_it_fetches_before_they_are_committed() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=5 leader=2", "start")
    assert _voters(scenario) == [1, 2]
    scenario.answer(2, "epoch=5 leader=2 hw=0 voters=1,2,3")
    assert _voters(scenario) == [1, 2, 3]
    assert [list(changed.voters.node_ids) for changed in scenario.effects(VotersChanged)] == [[1, 2, 3]]
    assert scenario.core.high_watermark == 0


def test_a_leader_that_listens_elsewhere_than_the_log_says_writes_so_first() -> None:
    scenario = Scenario("node me=1 voters=1,2 epoch=4 port=9999", "start")
    elect(scenario, 5)
    _fetch(scenario, 2)
    own = scenario.core.voters.get(scenario.core.replica.node_id)
    assert own is not None
    assert [endpoint.port for endpoint in own.endpoints] == [9999]
    assert scenario.core.high_watermark > scenario.core.voters_offset >= 0


# --- add


def _add(scenario: Scenario, line: str = "add voter=3", answer: str = "epoch=0 is=3") -> Scenario:
    """Ask for it, and let the new voter say who it is."""
    scenario.tell(f"{line} id=7")
    assert not scenario.replies
    (asked,) = [sent for sent in scenario.asked.values() if isinstance(sent.request, ApiVersionsRequest)]
    assert (asked.destination.node_id, asked.destination.endpoints) == (3, endpoints_of(3))
    return scenario.answer(3, answer)


def test_a_voter_is_added_once_it_says_who_it_is_and_the_answer_waits_for_the_commit() -> None:
    scenario = _add(_leader(1, 2, caught_up=3))
    (voters,) = _appended(scenario)
    assert isinstance(voters, VotersRecord)
    assert _voters(scenario) == [1, 2, 3]
    assert _told(scenario, ADD) is None
    assert _told(scenario.tell("flush"), ADD) is None
    _fetch(scenario, 2)
    assert _told(scenario, ADD) is Error.NONE
    description = scenario.core.describe_quorum()
    assert [each.replica.node_id for each in description.voters] == [1, 2, 3]
    assert description.observers == ()


def test_a_voter_that_has_to_fetch_for_its_own_commit_is_answered_at_once() -> None:
    scenario = _add(_leader(1, 2, caught_up=3), "add voter=3 ack")
    assert _told(scenario, ADD) is Error.NONE
    assert _voters(scenario) == [1, 2, 3]
    _fetch(scenario.tell("flush"), 2)
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
    scenario = _leader(1, 2, caught_up=3)
    assert _asked(scenario, line, ADD) is error
    assert not scenario.requests(ApiVersionsRequest)
    assert _voters(scenario) == [1, 2]


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
    scenario = _add(_leader(1, 2, caught_up=3), answer=answer)
    assert _told(scenario, ADD) is error
    assert _voters(scenario) == [1, 2]
    assert not scenario.written


def test_a_new_voter_that_is_behind_is_not_added() -> None:
    scenario = _add(_leader(1, 2))
    assert _told(scenario, ADD) is Error.REQUEST_TIMED_OUT
    assert _voters(scenario) == [1, 2]


def test_an_addition_that_does_not_commit_in_time_is_said_to_be_unknown_and_stays() -> None:
    scenario = _add(_leader(1, 2, caught_up=3))
    assert _told(scenario.tell("wait ms=1999"), ADD) is None
    assert _told(scenario.tell("wait ms=1"), ADD) is Error.REQUEST_TIMED_OUT
    assert _voters(scenario) == [1, 2, 3]


def test_an_addition_of_a_leader_that_loses_its_epoch_before_it_wrote_is_refused() -> None:
    scenario = _leader(1, 2, caught_up=3).tell("add voter=3 id=7", "begin id=8 from=2 epoch=6")
    assert _told(scenario, ADD) is Error.NOT_LEADER_OR_FOLLOWER
    assert _voters(scenario) == [1, 2]


# --- remove


def test_a_voter_is_removed_at_once_and_the_answer_waits_for_the_commit() -> None:
    scenario = _leader(1, 2, 3)
    assert _asked(scenario, "remove voter=3", REMOVE) is None
    assert _voters(scenario) == [1, 2]
    _fetch(scenario.tell("flush"), 2)
    assert _told(scenario, REMOVE) is Error.NONE
    assert scenario.core.role == "leader"


def test_a_leader_that_is_removed_leads_until_that_is_committed_and_then_resigns() -> None:
    scenario = _leader(1, 2, 3)
    assert _asked(scenario, "remove voter=1", REMOVE) is None
    assert _voters(scenario) == [2, 3]
    _fetch(scenario.tell("flush"), 2)
    assert _told(scenario, REMOVE) is None
    assert scenario.core.role == "leader"
    _fetch(scenario, 3)
    assert _told(scenario, REMOVE) is Error.NONE
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
    scenario = _leader(*voters)
    assert _asked(scenario, line, REMOVE) is Error.VOTER_NOT_FOUND
    assert _voters(scenario) == list(voters)


def test_a_removal_that_does_not_commit_in_time_is_said_to_be_unknown_and_stays() -> None:
    scenario = _leader(1, 2, 3).tell("remove voter=3 id=7", "wait ms=1999")
    assert _told(scenario, REMOVE) is None
    assert _told(scenario.tell("wait ms=1"), REMOVE) is Error.REQUEST_TIMED_OUT
    assert _voters(scenario) == [1, 2]


def test_a_removal_of_a_leader_that_loses_its_epoch_is_said_to_be_unknown_and_stays() -> None:
    """Kafka says NOT_LEADER_OR_FOLLOWER, as if nothing had been written."""
    scenario = _leader(1, 2, 3).tell("remove voter=3 id=7", "begin id=8 from=2 epoch=6")
    assert _told(scenario, REMOVE) is Error.REQUEST_TIMED_OUT
    assert _voters(scenario) == [1, 2]


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
    assert _asked(scenario, line, kind) is Error.NOT_LEADER_OR_FOLLOWER
    assert scenario.reply(7, kind).leader_id == (2 if remembered else -1)
    assert not scenario.written


@CHANGES
def test_before_anything_of_its_epoch_is_committed_a_leader_changes_nothing(line: str, kind: Answer) -> None:
    """A leader before it may have appended another set. What it knows of the log is committed, its own epoch is not."""
    storage = StorageState(
        quorum_state=QuorumStateData(leader_id=NodeId(2), leader_epoch=Epoch(4)),
        end=OffsetAndEpoch(offset=Offset(3), epoch=Epoch(4)),
        epochs=EpochHistory().assign(Epoch(4), Offset(0)),
        voters=dynamic_voters(1, 2, offset=2),
    )
    scenario = Scenario().load(storage).tell("start").answer(2, "epoch=4 leader=2 hw=3").tell("wait ms=2000")
    elect(scenario, 5)
    assert scenario.core.high_watermark == 3
    assert _asked(scenario, line, kind) is Error.REQUEST_TIMED_OUT
    assert not scenario.written
    _fetch(scenario, 2)
    assert _asked(scenario, line, kind) in (None, Error.NONE)


@CHANGES
@pytest.mark.parametrize("pending", ["add voter=3", "remove voter=3"])
def test_one_change_at_a_time_is_under_way(line: str, kind: Answer, pending: str) -> None:
    scenario = _leader(1, 2, caught_up=3) if pending.startswith("add") else _leader(1, 2, 3)
    scenario.tell(f"{pending} id=6")
    assert _asked(scenario, line, kind) is Error.REQUEST_TIMED_OUT
    assert not scenario.written


def test_a_change_that_is_not_committed_keeps_out_the_next_one_also_when_nobody_waits_for_it() -> None:
    scenario = _add(_leader(1, 2, caught_up=3), "add voter=3 ack")
    assert _asked(scenario, "remove voter=2", REMOVE) is Error.REQUEST_TIMED_OUT
    _fetch(scenario.tell("flush"), 2)
    assert _asked(scenario, "remove voter=2", REMOVE) is None


@CHANGES
def test_a_change_whose_asker_gave_up_still_keeps_out_the_next_one(line: str, kind: Answer) -> None:
    scenario = _leader(1, 2, 3, caught_up=4).tell("remove voter=3 id=6", "flush", "wait ms=2000")
    assert _told(scenario, REMOVE, 6) is Error.REQUEST_TIMED_OUT
    assert _asked(scenario, line, kind) is Error.REQUEST_TIMED_OUT
    assert not scenario.written
    _fetch(scenario, 2)
    assert _asked(scenario, line, kind) in (None, Error.NONE)


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
    scenario = _static_leader(1, 2)
    assert _asked(scenario, line, kind) is error
    assert _voters(scenario) == [1, 2]
    assert not scenario.written


# --- update


def test_a_voter_says_where_it_listens_and_is_answered_before_the_commit() -> None:
    scenario = _leader(1, 2)
    assert _asked(scenario, "update from=2 epoch=5 port=9999", UPDATE) is Error.NONE
    reply = scenario.reply(7, UPDATE)
    assert (reply.leader_id, reply.leader_epoch) == (1, 5)
    known = scenario.core.voters.get(key_of(2).node_id)
    assert known is not None
    assert (known.key, [endpoint.port for endpoint in known.endpoints]) == (key_of(2), [9999])
    assert scenario.core.high_watermark < scenario.core.log_end_offset


def test_a_voter_that_says_what_is_known_changes_nothing() -> None:
    scenario = _leader(1, 2)
    assert _asked(scenario, "update from=2 epoch=5", UPDATE) is Error.NONE
    assert not scenario.written


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("update from=2 dir=0 epoch=5", Error.INVALID_REQUEST),
        ("update from=2 epoch=4", Error.FENCED_LEADER_EPOCH),
        ("update from=2 epoch=6", Error.UNKNOWN_LEADER_EPOCH),
        ("update from=2 dir=9 epoch=5", Error.VOTER_NOT_FOUND),
        ("update from=3 epoch=5", Error.VOTER_NOT_FOUND),
        ("update from=2 epoch=5 max=0", Error.INVALID_REQUEST),
    ],
    ids=["no directory", "older epoch", "newer epoch", "another disk", "no voter", "kraft.version 0 alone"],
)
def test_an_update_that_cannot_be_is_refused_with_the_leader(line: str, error: Error) -> None:
    scenario = _leader(1, 2)
    assert _asked(scenario, line, UPDATE) is error
    reply = scenario.reply(7, UPDATE)
    assert (reply.leader_id, reply.leader_epoch) == (1, 5)
    assert not scenario.written


def test_an_update_without_any_endpoint_is_refused() -> None:
    scenario = _leader(1, 2)
    known = scenario.core.voters.get(key_of(2).node_id)
    assert known is not None
    nowhere = type(known)(key=known.key, endpoints=())
    request = UpdateRaftVoterRequest(current_leader_epoch=scenario.core.epoch, voter=nowhere)
    scenario.give(RequestReceived(request_id=7, request=request, draw=1))
    assert _told(scenario, UPDATE) is Error.INVALID_REQUEST


# --- a follower's own vote


def _follower(line: str) -> Scenario:
    """Of leader 2 in epoch 4; it fetches from it."""
    scenario = Scenario(f"node me=1 voters=1,2,3 epoch=4 leader=2 {line}", "start").answer(2, "epoch=4 leader=2 hw=0")
    assert not scenario.requests(UpdateRaftVoterRequest)
    return scenario


def _until_update(scenario: Scenario) -> dict[int, UpdateRaftVoterRequest]:
    """For three fetch timeouts its Fetches are answered; the first UpdateRaftVoter, if it sends one."""
    end_ms = scenario.now_ms + 6000
    while scenario.now_ms < end_ms:
        scenario.tell("wait ms=400")
        if asked := scenario.requests(UpdateRaftVoterRequest):
            return asked
        scenario.answer_fetch(2)
        if asked := scenario.requests(UpdateRaftVoterRequest):
            return asked
    return {}


@pytest.mark.parametrize("static", ["", "static"], ids=["dynamic", "static"])
def test_a_voter_that_listens_elsewhere_tells_the_leader_once_a_fetch_timeout(static: str) -> None:
    """A static one tells every leader: it is how its directory becomes known."""
    scenario = _follower(f"port=9999 {static}")
    ((who, asked),) = _until_update(scenario).items()
    assert (who, asked.current_leader_epoch, asked.voter.key) == (2, 4, key_of(1))
    assert asked.voter.endpoints == (Endpoint(name="GRPC", host="n1", port=9999),)
    assert (asked.voter.min_kraft_version, asked.voter.max_kraft_version) == (0, 1)
    assert scenario.now_ms >= 2000
    scenario.answer(2, "epoch=4 leader=2")
    assert scenario.position == ("follower", 4, 2)


@pytest.mark.parametrize("error", ["NONE", "UNSUPPORTED_VERSION"])
def test_a_static_voter_tells_each_leader_once(error: str) -> None:
    """Also one that does not know the request: it will not learn it while it leads."""
    scenario = _follower("port=9999 static")
    assert _until_update(scenario)
    scenario.answer(2, f"epoch=4 leader=2 error={error}")
    assert not _until_update(scenario)
    scenario.tell("begin id=8 from=2 epoch=5", "flush")
    ((who, asked),) = _until_update(scenario).items()
    assert (who, asked.current_leader_epoch) == (2, 5)


def test_the_leader_is_told_while_a_fetch_is_under_way() -> None:
    """Kafka's waits for the answer to the Fetch: both are one connection's."""
    scenario = _follower("port=9999")
    for _ in range(3):
        scenario.tell("wait ms=600").answer_fetch(2)
    scenario.tell("wait ms=199")
    assert not scenario.requests(UpdateRaftVoterRequest)
    scenario.tell("wait ms=1")
    assert list(scenario.requests(UpdateRaftVoterRequest)) == [2]
    assert [asked for asked in scenario.asked.values() if isinstance(asked.request, FetchRequest)]


def test_a_voter_that_listens_where_the_log_says_tells_nobody() -> None:
    scenario = _follower("")
    assert not _until_update(scenario)
    due_ms = scenario.core.next_deadline_ms()
    assert due_ms is not None
    assert due_ms > scenario.now_ms or scenario.requests(FetchRequest)


def test_the_answer_to_an_update_may_tell_of_a_new_leader() -> None:
    scenario = _follower("port=9999")
    assert _until_update(scenario)
    scenario.answer(2, "epoch=5 leader=3")
    assert scenario.position == ("follower", 5, 3)
    assert list(scenario.requests(FetchRequest)) == [3]


# --- kraft.version 0 to 1


def test_the_voters_move_into_the_log_once_each_has_told_its_directory() -> None:
    scenario = _static_leader(1, 2, 3)
    assert _asked(scenario, "upgrade to=1", UPGRADE) is Error.INVALID_UPDATE_VERSION
    scenario.tell("update from=2 epoch=1 id=2")
    assert _asked(scenario, "upgrade to=1", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert scenario.core.kraft_version == 0
    scenario.tell("update from=3 epoch=1 id=3")
    assert _asked(scenario, "upgrade to=1", UPGRADE) is None
    version, voters = _appended(scenario)
    assert version == KRaftVersionRecord(kraft_version=1)
    assert isinstance(voters, VotersRecord)
    assert VoterSet.from_record(voters).keys == (key_of(1), key_of(2), key_of(3))
    assert scenario.core.kraft_version == 1
    _fetch(scenario.tell("flush"), 2)
    assert _told(scenario, UPGRADE) is Error.NONE
    assert _asked(scenario, "upgrade to=1", UPGRADE) is Error.NONE
    assert not scenario.written


def test_a_voter_that_supports_kraft_version_0_alone_keeps_the_voters_where_they_are() -> None:
    scenario = _static_leader(1, 2, 3).tell("update from=2 epoch=1 id=2", "update from=3 epoch=1 max=0 id=3")
    assert _asked(scenario, "upgrade to=1", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert scenario.core.kraft_version == 0


def test_an_upgrade_is_for_the_leader_and_never_down_or_beyond() -> None:
    scenario = _leader(1, 2)
    assert _asked(scenario, "upgrade to=0", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert _asked(scenario, "upgrade to=2", UPGRADE) is Error.INVALID_UPDATE_VERSION
    assert (
        _asked(Scenario("node me=1 voters=1,2 static", "start"), "upgrade to=1", UPGRADE)
        is Error.NOT_LEADER_OR_FOLLOWER
    )


def test_after_the_upgrade_a_voter_updates_the_log() -> None:
    scenario = _static_leader(1, 2).tell("update from=2 epoch=1 id=2", "upgrade to=1 id=3", "flush")
    _fetch(scenario, 2)
    assert _asked(scenario, "update from=2 epoch=1 port=9999", UPDATE) is Error.NONE
    (voters,) = _appended(scenario)
    assert isinstance(voters, VotersRecord)


# --- the high watermark and the quorum of a set that changes


def _high_watermark(scenario: Scenario) -> int:
    return scenario.core.high_watermark


def test_a_new_voter_counts_from_the_record_on() -> None:
    """As an observer it moves nothing; as a voter what it has counts at once."""
    scenario = _leader(1, 2, caught_up=3).tell("propose epoch=5", "flush")
    before = _high_watermark(scenario)
    _fetch(scenario, 3)
    assert _high_watermark(scenario) == before
    scenario.tell("add voter=3 id=7").answer(3, "epoch=0 is=3")
    scenario.tell("flush")
    assert _high_watermark(scenario) == before + 1
    _fetch(scenario, 3)
    assert _high_watermark(scenario) == scenario.core.log_end_offset


def test_a_new_voter_that_is_behind_by_now_does_not_take_the_high_watermark_back() -> None:
    scenario = _leader(1, 2, 3, caught_up=4)
    end = _high_watermark(scenario)
    scenario.tell("propose epoch=5", "flush")
    _fetch(scenario, 2)
    assert _high_watermark(scenario) == end + 1
    scenario.tell("add voter=4 id=7").answer(4, "epoch=0 is=4").tell("flush")
    assert _voters(scenario) == [1, 2, 3, 4]
    assert _high_watermark(scenario) == end + 1
    for node_id in (3, 4):
        scenario.tell(f"fetch id=9 from={node_id} epoch=5 at={end}@5 wait=0")
        assert _high_watermark(scenario) == end + 1
    _fetch(scenario, 2)
    assert _high_watermark(scenario) == end + 1
    _fetch(scenario, 4)
    assert _high_watermark(scenario) == end + 2
    assert not [advanced for advanced in scenario.effects(HighWatermarkAdvanced) if advanced.offset <= end]


@pytest.mark.parametrize("removed", [2, 1], ids=["follower", "leader"])
def test_a_voter_that_goes_takes_nothing_back_and_the_rest_have_to_catch_up(removed: int) -> None:
    """Of 1, 2, 3 the third is behind; what the first two committed stays so while the others are too few for it."""
    scenario = _leader(1, 2, 3).tell("propose epoch=5", "flush")
    end = scenario.core.log_end_offset
    _fetch(scenario, 2)
    assert _high_watermark(scenario) == end
    scenario.tell(f"remove voter={removed} id=7", "flush", "propose epoch=5", "flush")
    assert _high_watermark(scenario) == end
    _fetch(scenario, 2)
    assert _high_watermark(scenario) == end
    for behind in (end - 1, end):
        scenario.tell(f"fetch id=9 from=3 epoch=5 at={behind}@5 wait=0")
        assert _high_watermark(scenario) == end
    scenario.tell(f"fetch id=9 from=3 epoch=5 at={end + 1}@5 wait=0")
    assert _high_watermark(scenario) == end + 1


def test_a_leader_has_to_hear_a_majority_of_the_voters_as_they_are() -> None:
    """Of three one other is enough, of four two are, and of the three that are left without the leader two."""
    scenario = _leader(1, 2, 3, caught_up=4).tell("wait ms=1500")
    state = scenario.core._core.state
    _fetch(scenario, 2)
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000
    _fetch(scenario, 4)
    scenario.tell("add voter=4 id=7").answer(4, "epoch=0 is=4").tell("flush", "wait ms=1500")
    before = state.check_quorum_deadline_ms
    _fetch(scenario, 2)
    assert state.check_quorum_deadline_ms == before
    _fetch(scenario, 3)
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000
    scenario.tell("remove voter=1 id=8", "wait ms=1500")
    before = state.check_quorum_deadline_ms
    scenario.tell("fetch id=9 from=3 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == before
    scenario.tell("fetch id=9 from=2 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000


def test_a_voter_that_was_removed_is_no_part_of_the_majority_that_was_heard() -> None:
    scenario = _fetch(_leader(1, 2, 3, 4, 5, committed=False), 3, 4)
    assert scenario.core.high_watermark == scenario.core.log_end_offset
    scenario.tell("wait ms=500")
    _fetch(scenario, 5)
    state = scenario.core._core.state
    before = state.check_quorum_deadline_ms
    scenario.tell("remove voter=5 id=7")
    scenario.tell("fetch id=9 from=2 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == before
    scenario.tell("fetch id=9 from=3 epoch=5 at=3@5 wait=0")
    assert state.check_quorum_deadline_ms == scenario.now_ms + 3000


def test_what_static_voters_fetched_counts_for_them_with_their_directories() -> None:
    scenario = _static_leader(1, 2, 3).tell("update from=2 epoch=1 id=2", "update from=3 epoch=1 id=3")
    before = _high_watermark(scenario)
    scenario.tell("upgrade to=1 id=7", "flush")
    assert _high_watermark(scenario) == before
    _fetch(scenario, 3)
    assert _high_watermark(scenario) == scenario.core.log_end_offset


def test_a_leader_begins_its_observers_and_changes_anew() -> None:
    scenario = _leader(1, 2, caught_up=3).tell("add voter=3 id=7")
    assert [each.replica.node_id for each in scenario.core.describe_quorum().observers] == [3]
    scenario.tell("wait ms=3000")
    assert _told(scenario, ADD) is not None
    assert scenario.core.role == "resigned"
    scenario.tell("wait", "flush", "wait")
    elect(scenario, 7)
    description = scenario.core.describe_quorum()
    assert [each.replica.node_id for each in description.voters] == [1, 2]
    assert description.observers == ()
