"""Snapshots (KIP-630): which replica gets one instead of the log, how it is served and received, and what ends it."""

from __future__ import annotations

import pytest

from metadata_log.errors import InvariantViolation
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
)
from quorum.raft.ready import (
    CheckSnapshot,
    HighWatermarkAdvanced,
    InstallSnapshot,
    PeerRefused,
    SendRecords,
    SendSnapshotChunk,
    SnapshotInstalled,
    StoreChunk,
)
from tests.support.raft_transcript import position_of
from tests.support.scenario import Scenario, leader

SIZE = 100
"""The size in bytes of every snapshot that a transcript takes."""


def _end(text: str) -> OffsetAndEpoch:
    return position_of(text)


def _leader(log: str, *, taken: str = "", trimmed: bool = False) -> Scenario:
    """Return a leader of epoch 5 and two voters with a committed log; `taken` is its snapshot."""
    scenario = leader(voters="1,2", epoch=5, log=log)
    scenario.tell(f"fetch id=1 from=2 epoch=5 at={scenario.core.log_end_offset}@5 wait=0")
    assert scenario.core.high_watermark == scenario.core.log_end_offset
    ends = taken.split()
    for end in ends:
        scenario.tell(f"taken end={end}")
    return scenario.tell(f"trimmed to={ends[-1]}") if trimmed else scenario


def _fetched(scenario: Scenario, at: str) -> FetchResponse:
    scenario.tell(f"fetch id=7 from=2 epoch=5 at={at} wait=500")
    reply = scenario.reply(7, FetchResponse)
    assert (reply.leader_id, reply.leader_epoch) == (1, 5)
    return reply


# --- which is the newest


def test_the_newest_snapshot_is_known_from_the_start() -> None:
    assert Scenario("node me=1 voters=1,2 log=6@1").core._core.log.snapshot_id is None
    assert Scenario("node me=1 voters=1,2 log=6@1 snapshots=3@1").core._core.log.snapshot_id == _end("3@1")
    assert Scenario("node me=1 voters=1,2 log=6@1 snapshots=3@1,5@1 start=3").core._core.log.snapshot_id == _end("5@1")


def test_what_a_snapshot_holds_is_known_to_be_committed() -> None:
    scenario = Scenario("node me=1 voters=1,2 log=6@1 snapshots=3@1 epoch=2 leader=2", "start")
    assert scenario.core.high_watermark == 3
    scenario.answer(2, "epoch=2 leader=2 hw=6")
    assert [advanced.offset for advanced in scenario.effects(HighWatermarkAdvanced)] == [6]


# --- a Fetch from before the log's start


def test_a_fetch_of_an_epoch_that_the_log_no_longer_knows_gets_the_snapshot_at_once() -> None:
    scenario = _leader("9@4", taken="3@4", trimmed=True)
    reply = _fetched(scenario, "6@2")
    assert (reply.error, reply.snapshot_id, reply.diverging) == (Error.NONE, _end("3@4"), None)


def test_a_fetch_from_before_the_log_begins_gets_the_newest_snapshot() -> None:
    scenario = _leader("9@4", taken="6@4 9@4", trimmed=True)
    for at in ("0@0", "4@4"):
        assert _fetched(scenario, at).snapshot_id == _end("9@4")


def test_a_fetch_from_the_very_start_gets_the_log_while_it_is_there_and_then_the_snapshot() -> None:
    """Kafka's sends the snapshot as soon as there is one; here a follower gets the log while it is there."""
    scenario = _leader("9@4", taken="6@4")
    assert _fetched(scenario, "0@0").snapshot_id is None
    assert [records.read_from for records in scenario.effects(SendRecords)] == [0]
    scenario.tell("trimmed to=6@4")
    assert _fetched(scenario, "0@0").snapshot_id == _end("6@4")


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_fetch_from_where_the_snapshot_ends_gets_the_log(trimmed: bool) -> None:
    scenario = _leader("6@2,9@4", taken="6@2", trimmed=trimmed)
    reply = _fetched(scenario, "6@2")
    assert (reply.snapshot_id, reply.diverging) == (None, None)
    assert [records.read_from for records in scenario.effects(SendRecords)] == [6]


def test_a_fetch_from_where_the_snapshot_ends_of_another_epoch_gets_the_snapshot() -> None:
    scenario = _leader("6@2,9@4", taken="6@2", trimmed=True)
    assert _fetched(scenario, "6@3").snapshot_id == _end("6@2")


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_log_that_leaves_the_leaders_right_after_the_snapshot_is_cut_there(trimmed: bool) -> None:
    scenario = _leader("3@2,6@4", taken="3@2", trimmed=trimmed)
    reply = _fetched(scenario, "4@3")
    assert (reply.diverging, reply.snapshot_id) == (_end("3@2"), None)


def test_a_fetch_of_an_epoch_before_all_that_is_left_gets_the_snapshot() -> None:
    """While the log is there from its start, the response names the point of divergence, which is the start."""
    scenario = _leader("6@2,9@4", taken="3@2")
    assert _fetched(scenario, "12@1").diverging == _end("0@0")
    scenario.tell("trimmed to=3@2")
    assert _fetched(scenario, "12@1").snapshot_id == _end("3@2")


# --- FetchSnapshot, the leader's side


def _asked(scenario: Scenario, line: str) -> FetchSnapshotResponse:
    scenario.tell(f"snapshot id=8 {line}")
    (sent,) = [
        effect for effect in scenario.seen if getattr(effect, "request_id", None) == 8 and hasattr(effect, "response")
    ]
    response = sent.response
    assert isinstance(response, FetchSnapshotResponse)
    return response


def test_a_snapshot_is_served_piece_by_piece() -> None:
    scenario = _leader("9@4", taken="9@4")
    for position in (0, 33, 66, 99):
        reply = _asked(scenario, f"from=2 epoch=5 of=9@4 position={position} max=33")
        assert (reply.error, reply.snapshot_id, reply.size, reply.position) == (Error.NONE, _end("9@4"), SIZE, position)
        assert (reply.leader_id, reply.leader_epoch) == (1, 5)
        assert [chunk.max_bytes for chunk in scenario.effects(SendSnapshotChunk)] == [33]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("epoch=5 of=9@4 position=-1", Error.POSITION_OUT_OF_RANGE),
        ("epoch=5 of=9@4 position=100", Error.POSITION_OUT_OF_RANGE),
        ("epoch=5 of=6@4", Error.SNAPSHOT_NOT_FOUND),
        ("epoch=5 of=0@0", Error.SNAPSHOT_NOT_FOUND),
        ("epoch=4 of=9@4", Error.FENCED_LEADER_EPOCH),
        ("epoch=6 of=9@4", Error.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_snapshot_that_cannot_be_served_is_refused_with_the_leader(line: str, error: Error) -> None:
    scenario = _leader("9@4", taken="9@4")
    reply = _asked(scenario, f"from=2 {line}")
    assert (reply.error, reply.leader_id, reply.leader_epoch) == (error, 1, 5)
    assert not scenario.effects(SendSnapshotChunk)


def test_the_checkpoint_that_a_directory_was_formatted_with_is_not_served() -> None:
    scenario = Scenario("node me=1 voters=1 log=3@1 snapshots=0@0", "start", "flush")
    assert scenario.core.is_leader
    assert _asked(scenario, f"from=2 epoch={scenario.core.epoch} of=0@0").error is Error.SNAPSHOT_NOT_FOUND
    scenario.tell(f"fetch id=7 from=2 epoch={scenario.core.epoch} at=0@0")
    assert scenario.reply(7, FetchResponse).snapshot_id is None


def test_a_follower_serves_no_snapshot_and_names_the_leader() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2 log=3@1 snapshots=3@1", "start")
    reply = _asked(scenario, "from=3 epoch=2 of=3@1")
    assert (reply.error, reply.leader_id, reply.leader_epoch) == (Error.NOT_LEADER_OR_FOLLOWER, 2, 2)


def test_voters_that_fetch_a_snapshot_keep_the_leader_in_office_and_observers_do_not() -> None:
    scenario = leader(epoch=5, log="9@4")
    scenario.tell("fetch id=1 from=2 epoch=5 at=12@5 wait=0", "taken end=9@4", "wait ms=1500")
    for voter in (2, 3):
        scenario.tell(f"snapshot id=2 from={voter} epoch=5 of=9@4", "wait ms=1500")
        assert scenario.core.role == "leader"
    scenario.tell("snapshot id=2 from=9 epoch=5 of=9@4", "wait ms=1499")
    assert scenario.core.role == "leader"
    scenario.tell("wait ms=1")
    assert scenario.core.role == "resigned"


# --- FetchSnapshot, the follower's side


def _follower() -> Scenario:
    """Return a follower of leader 2 in epoch 2 with an empty log, which fetches snapshot 100@1."""
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2", "start").answer(
        2, "epoch=2 leader=2 hw=200 snapshot=100@1"
    )
    assert _asks(scenario) == [(2, 0)]
    return scenario


def _asks(scenario: Scenario) -> list[tuple[int, int]]:
    """Return the destination of each FetchSnapshot of 100@1, and its position."""
    asked = scenario.requests(FetchSnapshotRequest)
    assert {request.snapshot_id for request in asked.values()} <= {_end("100@1")}
    return [(who, request.position) for who, request in asked.items()]


def _fetches(scenario: Scenario) -> list[tuple[int, int, int, int]]:
    return [
        (who, fetch.current_leader_epoch, fetch.fetch_offset, fetch.last_fetched_epoch)
        for who, fetch in scenario.requests(FetchRequest).items()
    ]


@pytest.mark.parametrize("pieces", [[100], [50, 50], [33, 33, 33, 1]])
def test_a_snapshot_is_fetched_checked_and_put_in_place_of_the_log(pieces: list[int]) -> None:
    scenario = _follower()
    position = 0
    for piece in pieces:
        scenario.answer(2, f"epoch=2 leader=2 bytes={piece} position={position}")
        (store,) = scenario.effects(StoreChunk)
        assert (store.snapshot_id, store.position, len(store.data)) == (_end("100@1"), position, piece)
        position += piece
        scenario.tell(f"stored serial={store.serial}")
        if position < SIZE:
            assert _asks(scenario) == [(2, position)]
    (check,) = scenario.effects(CheckSnapshot)
    assert (check.snapshot_id, check.size) == (_end("100@1"), SIZE)
    assert scenario.core.log_end_offset == 0
    scenario.tell(f"checked serial={check.serial}")
    assert [type(write) for write in scenario.written] == [InstallSnapshot]
    assert [installed.snapshot_id for installed in scenario.effects(SnapshotInstalled)] == [_end("100@1")]
    assert (scenario.core.log_end_offset, scenario.core.high_watermark, _fetches(scenario)) == (100, 100, [])
    scenario.tell("flush")
    assert _fetches(scenario) == [(2, 2, 100, 1)]


@pytest.mark.parametrize("named", ["100@-1", "-1@1"])
def test_a_snapshot_that_cannot_be_is_not_asked_for_and_proves_no_living_leader(named: str) -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2", "start")
    for _ in range(2):
        scenario.answer(2, f"epoch=2 leader=2 hw=200 snapshot={named}")
        assert scenario.effects(PeerRefused)
        scenario.tell("wait")
        assert (_asks(scenario), _fetches(scenario)) == ([], [(2, 2, 0, 0)])
    scenario.tell(f"wait ms={2000 - scenario.now_ms}")
    assert scenario.position == ("prospective", 2, 2)
    assert sorted(scenario.requests(VoteRequest)) == [2, 3]


def test_the_checkpoint_that_a_directory_is_formatted_with_is_not_asked_for() -> None:
    scenario = Scenario("node me=1 voters=1,2,3 epoch=2 leader=2", "start").answer(
        2, "epoch=2 leader=2 hw=0 snapshot=0@0"
    )
    scenario.tell("wait")
    assert (_asks(scenario), _fetches(scenario)) == ([], [(2, 2, 0, 0)])


@pytest.mark.parametrize(
    "answer",
    ["error=SNAPSHOT_NOT_FOUND", "bytes=100 of=-1@1", "bytes=100 of=100@-1", "bytes=50 position=50", "bytes=0"],
    ids=["gone", "of another end", "of another epoch", "another piece", "nothing"],
)
def test_an_answer_that_is_no_piece_of_it_begins_anew_with_a_fetch(answer: str) -> None:
    scenario = _follower().answer(2, f"epoch=2 leader=2 {answer}")
    assert not scenario.effects(StoreChunk)
    assert scenario.effects(PeerRefused)
    scenario.tell("wait")
    assert (_asks(scenario), _fetches(scenario)) == ([], [(2, 2, 0, 0)])
    scenario.answer(2, "epoch=2 leader=2 hw=200 snapshot=100@1")
    assert _asks(scenario) == [(2, 0)]


@pytest.mark.parametrize("next_leader", [3, 2], ids=["another leader", "the same leader again"])
def test_an_answer_of_a_newer_epoch_ends_it_and_its_leader_is_fetched_from(next_leader: int) -> None:
    scenario = _follower().answer(2, f"epoch=3 leader={next_leader} error=FENCED_LEADER_EPOCH")
    assert scenario.position == ("follower", 3, next_leader)
    assert (_asks(scenario), _fetches(scenario)) == ([], [(next_leader, 3, 0, 0)])


def test_an_answer_of_an_older_epoch_is_no_answer() -> None:
    scenario = _follower().answer(2, "epoch=1 leader=3 error=UNKNOWN_LEADER_EPOCH")
    assert scenario.position == ("follower", 2, 2)
    scenario.tell("wait")
    assert _asks(scenario) == [(2, 0)]


def test_a_piece_that_comes_too_late_changes_nothing() -> None:
    scenario = _follower()
    late = scenario.correlation(2)
    scenario.tell("wait ms=2000")
    assert scenario.position == ("prospective", 2, 2)
    piece = FetchSnapshotResponse(
        leader_id=2, leader_epoch=Epoch(2), snapshot_id=_end("100@1"), size=SIZE, data=bytes(SIZE)
    )
    scenario.answer_late(2, late, piece)
    assert scenario.position == ("prospective", 2, 2)
    assert not scenario.effects(StoreChunk)


def test_a_snapshot_that_is_not_sound_leaves_the_log_as_it_is() -> None:
    scenario = _follower().answer(2, "epoch=2 leader=2 bytes=100").tell("stored serial=1")
    (check,) = scenario.effects(CheckSnapshot)
    scenario.tell(f"checked serial={check.serial} broken")
    assert not scenario.written
    assert (scenario.core.log_end_offset, scenario.core.high_watermark) == (0, 0)
    scenario.tell("wait")
    assert _fetches(scenario) == [(2, 2, 0, 0)]


# --- local snapshots


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize(
    ("end", "why"),
    [("13@5", "past the high watermark"), ("9@5", "of a later epoch than the log has there"),
     ("12@6", "of an epoch that is not yet"), ("12@4", "past the end of its epoch")],
)  # fmt: skip
def test_a_snapshot_that_is_not_one_of_the_committed_log_stops_the_node(role: str, end: str, why: str) -> None:
    if role == "leader":
        scenario = _leader("9@4").tell("propose epoch=5", "flush")
    else:
        scenario = Scenario("node me=1 voters=1,2 epoch=5 leader=2 log=9@4,13@5", "start")
        scenario.answer(2, "epoch=5 leader=2 hw=12")
    assert (scenario.core.log_end_offset, scenario.core.high_watermark) == (13, 12)
    with pytest.raises(InvariantViolation, match="is not one of the log"):
        scenario.tell(f"taken end={end}")
    scenario.tell("taken end=12@5")
    assert scenario.core._core.log.snapshot_id == OffsetAndEpoch(offset=Offset(12), epoch=Epoch(5)), why


def test_nothing_is_committed_so_nothing_can_be_taken() -> None:
    scenario = leader(voters="1,2", epoch=5, log="9@4")
    with pytest.raises(InvariantViolation):
        scenario.tell("taken end=9@4")
