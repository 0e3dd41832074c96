"""The epoch history: its answers and its file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import CorruptFileError, InvariantViolation
from metadata_log.format.epoch_file import format_epochs, parse_epochs
from metadata_log.format.epochs import EpochHistory, EpochStart
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch


def history(*entries: tuple[int, int]) -> EpochHistory:
    made = EpochHistory()
    for epoch, start in entries:
        made = made.assign(Epoch(epoch), Offset(start))
    return made


histories = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 9)), max_size=6).map(
    lambda steps: history(
        *((sum(e for e, _ in steps[: n + 1]), sum(o for _, o in steps[:n])) for n in range(len(steps)))
    )
)

KNOWN = history((1, 0), (3, 10), (7, 20))


@pytest.mark.parametrize(
    ("asked", "offset", "epoch"),
    [(0, 0, -1), (1, 10, 1), (2, 10, 1), (3, 20, 3), (6, 20, 3), (7, 25, 7), (9, 25, 7)],
)
def test_where_an_epoch_ends(asked: int, offset: int, epoch: int) -> None:
    expected = OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))
    assert KNOWN.end_offset_for(Epoch(asked), Offset(25)) == expected


def test_an_empty_history_shares_nothing() -> None:
    nothing = EpochHistory()
    assert nothing.last_epoch == nothing.epoch_at(Offset(3)) == NO_EPOCH
    assert nothing.end_offset_for(Epoch(5), Offset(0)) == OffsetAndEpoch(offset=Offset(0), epoch=NO_EPOCH)


@given(histories, st.integers(0, 60))
def test_cutting_either_side_keeps_the_epochs_between(whole: EpochHistory, at: int) -> None:
    for offset in range(at):
        assert whole.truncate_to(Offset(at)).epoch_at(Offset(offset)) == whole.epoch_at(Offset(offset))
    for offset in range(at, 61):
        assert whole.trim_to(Offset(at)).epoch_at(Offset(offset)) == whole.epoch_at(Offset(offset))
    assert all(entry.start_offset < at for entry in whole.truncate_to(Offset(at)).entries)


def test_trimming_moves_the_first_entry() -> None:
    assert KNOWN.trim_to(Offset(12)).entries[0] == EpochStart(epoch=Epoch(3), start_offset=Offset(12))
    assert KNOWN.trim_to(Offset(0)) is KNOWN


@pytest.mark.parametrize(("epoch", "start"), [(6, 30), (8, 20), (8, 5), (7, 19)])
def test_epochs_and_offsets_only_rise(epoch: int, start: int) -> None:
    with pytest.raises(InvariantViolation):
        KNOWN.assign(Epoch(epoch), Offset(start))


def test_the_same_epoch_is_assigned_once() -> None:
    assert KNOWN.assign(Epoch(7), Offset(30)) is KNOWN


@given(histories)
def test_the_file_comes_back(known: EpochHistory) -> None:
    assert parse_epochs(format_epochs(known), "leader-epoch-checkpoint") == known


def test_the_file_is_kafkas() -> None:
    assert format_epochs(KNOWN) == b"0\n3\n1 0\n3 10\n7 20\n"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"0\n", b"1\n0\n", b"0\n2\n1 0\n", b"0\n1\n1\n", b"0\n2\n2 0\n1 5\n", b"0\n1\na b\n", b"\xff\n0\n"),
        *(b"0\n1\n1 0", b"0\n1\n1 0\v\n", b"0\v1\n1 0\n", b"0\n1\n1  0\n", b"0\n1\n+1 0\n", b"0\n1\n1_0 0\n"),
        *(b"0\n2\n1 0\n1 5\n", b"0\n1\n1 0\n\n", b"00\n1\n1 0\n", b"0\n1\n-1 0\n"),
    ],
)
def test_a_broken_file_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=r"^here: it is no leader epoch checkpoint"):
        parse_epochs(data, "here")
