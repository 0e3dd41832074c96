"""The core's knowledge of its log: positions, truncation, completions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import InvariantViolation
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import VoterHistory
from quorum.raft.config import RaftConfig, Snapshot, StorageState
from quorum.raft.inputs import Clock, Elapsed, Flushed, Persisted, Start
from quorum.raft.log_state import BeforeStart, Diverging, EpochStartsAt, LogState
from quorum.raft.machine import RaftMachine
from tests.support.raft_transcript import key_of


def _position(offset: int, epoch: int) -> OffsetAndEpoch:
    return OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))


def _log(*, start: int = 0, snapshot: OffsetAndEpoch | None = None) -> LogState:
    """Epoch 2 from the start to 10, epoch 4 to 20."""
    epochs = EpochHistory().assign(Epoch(2), Offset(start)).assign(Epoch(4), Offset(10))
    return LogState(
        StorageState(
            log_start_offset=Offset(start),
            end=_position(20, 4),
            epochs=epochs,
            voters=VoterHistory(),
            snapshots=() if snapshot is None else (Snapshot(id=snapshot, size=1),),
        )
    )


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (20, 4, None),
        (15, 4, None),
        (10, 2, None),
        (10, 4, None),
        (0, 0, None),
        (0, 7, None),
        (21, 4, Diverging(end=_position(20, 4))),
        (15, 2, Diverging(end=_position(10, 2))),
        (12, 3, Diverging(end=_position(10, 2))),
        (5, 1, Diverging(end=_position(0, 0))),
        (20, 9, Diverging(end=_position(20, 4))),
    ],
)
def test_positions_of_another_log(offset: int, epoch: int, expected: Diverging | None) -> None:
    assert _log().validate_position(Offset(offset), Epoch(epoch)) == expected


@pytest.mark.parametrize(
    ("offset", "epoch", "is_valid"),
    [(5, 1, True), (5, 0, False), (5, 2, False), (4, 1, False), (0, 0, False), (7, 0, False), (7, 2, True)],
)
def test_positions_before_a_snapshot(offset: int, epoch: int, is_valid: bool) -> None:
    snapshot = _position(5, 1)
    expected = None if is_valid else BeforeStart(snapshot_id=snapshot)
    assert _log(start=5, snapshot=snapshot).validate_position(Offset(offset), Epoch(epoch)) == expected


def test_a_log_that_leaves_this_one_where_it_begins_is_cut_there() -> None:
    """The epoch of the snapshot's end is known, though no record of it is left (`endOffsetForEpoch` in Kafka)."""
    snapshot = _position(5, 1)
    assert _log(start=5, snapshot=snapshot).validate_position(Offset(7), Epoch(1)) == Diverging(end=snapshot)


@pytest.mark.parametrize(
    ("end", "target"), [((15, 4), 15), ((10, 2), 10), ((7, 2), 7), ((12, 3), 10), ((5, 3), 10), ((0, 0), 0)]
)
def test_where_to_truncate(end: tuple[int, int], target: int) -> None:
    assert _log().truncation_for(_position(*end)) == target


def test_a_completion_for_bytes_since_truncated_proves_nothing() -> None:
    log = _log()
    log.append(1, Offset(22), (EpochStartsAt(epoch=Epoch(4), start_offset=Offset(20)),))
    log.append(2, Offset(24), (EpochStartsAt(epoch=Epoch(5), start_offset=Offset(22)),))
    log.truncate(3, Offset(21))
    log.append(4, Offset(30), (EpochStartsAt(epoch=Epoch(6), start_offset=Offset(21)),))
    assert not log.complete(1, Epoch(4), Offset(22))
    assert not log.complete(2, Epoch(5), Offset(24))
    assert log.flushed_offset == 20
    assert log.complete(3, Epoch(4), Offset(21))
    assert log.flushed_offset == 21
    assert log.complete(4, Epoch(6), Offset(30))
    assert log.is_flushed
    assert log.end == _position(30, 6)


def test_a_wrong_completion_stops_the_node() -> None:
    log = _log()
    log.append(1, Offset(22), (EpochStartsAt(epoch=Epoch(4), start_offset=Offset(20)),))
    with pytest.raises(InvariantViolation, match="log write 2 is said to be durable, where 1 is due"):
        log.complete(2, Epoch(4), Offset(22))
    with pytest.raises(InvariantViolation, match="reached 22@4, not 23@4"):
        log.complete(1, Epoch(4), Offset(23))


def test_what_is_committed_is_not_truncated() -> None:
    log = _log()
    assert log.advance_high_watermark(Offset(12))
    assert not log.advance_high_watermark(Offset(11))
    with pytest.raises(InvariantViolation, match="committed to 12"):
        log.truncate(1, Offset(11))
    with pytest.raises(InvariantViolation, match="past the log's end"):
        log.advance_high_watermark(Offset(21))


def test_inputs_that_break_their_contract_stop_the_node() -> None:
    clock = Clock(monotonic_ms=0, wall_ms=0)
    machine = RaftMachine(key_of(1), RaftConfig(), StorageState(voters=VoterHistory()))
    with pytest.raises(InvariantViolation, match="Elapsed came before Start"):
        machine.on_input(Elapsed(draw=1), clock)
    machine.on_input(Start(draw=1), clock)
    with pytest.raises(InvariantViolation, match="second Start"):
        machine.on_input(Start(draw=1), clock)
    with pytest.raises(InvariantViolation, match="log write 1"):
        machine.on_input(Flushed(token=1, epoch=Epoch(0), end_offset=Offset(0)), clock)
    with pytest.raises(InvariantViolation, match="quorum-state write 1"):
        machine.on_input(Persisted(token=1), clock)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"election_timeout_ms": 0}, "election_timeout_ms is 0"),
        ({"suspicion_backoff_min_ms": 30}, "suspicion_backoff_min_ms is 30"),
        ({"fetch_max_wait_ms": 2000}, "fetch_max_wait_ms is 2000"),
    ],
)
def test_wrong_configuration_is_named(values: dict[str, int], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        RaftConfig(**values)


@pytest.mark.parametrize(("request_timeout_ms", "longest_ms"), [(100, 50), (400, 200), (1000, 500), (2000, 500)])
def test_a_fetch_is_answered_before_its_request_is_given_up(request_timeout_ms: int, longest_ms: int) -> None:
    assert RaftConfig(request_timeout_ms=request_timeout_ms).longest_wait_ms == longest_ms


@st.composite
def _trimmed(draw: st.DrawFn) -> tuple[LogState, LogState]:
    """A log of up to five epochs, and the same trimmed to the end of a snapshot."""
    starts = sorted(draw(st.sets(st.integers(1, 40), max_size=4)))
    numbers = sorted(draw(st.sets(st.integers(1, 9), min_size=len(starts) + 1, max_size=len(starts) + 1)))
    end = (starts[-1] if starts else 0) + draw(st.integers(1, 10))
    epochs = EpochHistory()
    for start, number in zip([0, *starts], numbers, strict=True):
        epochs = epochs.assign(Epoch(number), Offset(start))
    storage = StorageState(end=_position(end, numbers[-1]), epochs=epochs, voters=VoterHistory())
    whole, trimmed = LogState(storage), LogState(storage)
    at = _position(cut := draw(st.integers(1, end)), epochs.epoch_at(Offset(cut - 1)))
    trimmed.advance_high_watermark(Offset(end))
    trimmed.take_snapshot(Snapshot(id=at, size=1))
    trimmed.trim(at)
    return whole, trimmed


@given(_trimmed(), st.integers(0, 55), st.integers(0, 10))
def test_a_trimmed_log_judges_positions_as_the_whole_one_did(
    logs: tuple[LogState, LogState], offset: int, epoch: int
) -> None:
    whole, trimmed = logs
    start = trimmed.snapshots[0].id
    said = trimmed.validate_position(Offset(offset), Epoch(epoch))
    if offset < start.offset or epoch < start.epoch or (offset == start.offset and epoch != start.epoch):
        assert said == BeforeStart(snapshot_id=start)
    else:
        assert said == whole.validate_position(Offset(offset), Epoch(epoch))


@given(_trimmed(), st.integers(0, 55), st.integers(0, 10))
def test_what_a_log_lacks_is_installed_and_nothing_else(logs: tuple[LogState, LogState], more: int, epoch: int) -> None:
    whole, trimmed = logs
    for log in (whole, trimmed):
        assert not log.lacks(OffsetAndEpoch(offset=log.end_offset, epoch=log.last_epoch))
    end = _position(trimmed.end_offset + more, epoch)
    assert trimmed.lacks(end) == (more > 0 or epoch != trimmed.last_epoch)
    if not trimmed.lacks(end):
        with pytest.raises(InvariantViolation, match="in place of a log"):
            trimmed.install(7, Snapshot(id=end, size=1))
        return
    trimmed.install(7, Snapshot(id=end, size=1))
    assert (trimmed.start_offset, trimmed.end, trimmed.high_watermark) == (end.offset, end, end.offset)
    assert not trimmed.is_flushed
    trimmed.complete(7, end.epoch, end.offset)
    assert trimmed.is_flushed
    assert trimmed.flushed_offset == end.offset
    later = Epoch(end.epoch + 1)
    trimmed.append(8, Offset(end.offset + 2), (EpochStartsAt(epoch=later, start_offset=end.offset),))
    assert trimmed.epoch_before(end.offset) == end.epoch
    assert trimmed.epoch_before(Offset(end.offset + 1)) == later


@pytest.mark.parametrize(
    ("epochs", "end", "snapshot", "expected"),
    [
        ([], 0, None, 0),
        ([(2, 0)], 100, None, 0),
        ([(2, 0), (4, 10)], 13, None, 0),  # LeaderChange, KRaftVersion and KRaftVoters may be all of it
        ([(2, 0), (4, 10)], 14, None, 10),
        ([(2, 0), (4, 10), (5, 50), (7, 51)], 54, None, 10),
        ([(2, 0), (4, 10), (5, 50), (7, 51)], 55, None, 51),
        ([(2, 0), (4, 10)], 20, 15, 15),
    ],
)
def test_up_to_where_a_log_says_itself_that_it_is_committed(
    epochs: list[tuple[int, int]], end: int, snapshot: int | None, expected: int
) -> None:
    history = EpochHistory()
    for epoch, start in epochs:
        history = history.assign(Epoch(epoch), Offset(start))
    log = LogState(
        StorageState(
            end=_position(end, epochs[-1][0] if epochs else 0),
            epochs=history,
            voters=VoterHistory(),
            snapshots=() if snapshot is None else (Snapshot(id=_position(snapshot, 4), size=1),),
        )
    )
    assert log.proven_offset == expected
