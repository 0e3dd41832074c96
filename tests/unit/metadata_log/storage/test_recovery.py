"""Opening damaged logs: a torn tail is cut and reported, damage is refused by name, nothing is lost silently."""

from __future__ import annotations

import pytest

from metadata_log.errors import CorruptBatchError, CorruptFileError, UnsupportedBatchError
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.offsets import Offset
from tests.unit.metadata_log.format.test_batch import batch_of, resealed
from tests.unit.metadata_log.log_support import DIRECTORY, FIRST_SEGMENT, bounds, contents, open_at, stage

EPOCHS = f"{DIRECTORY}/leader-epoch-checkpoint"
BATCHES = [(1, [b"a"] * 2), (1, [b"bb"]), (2, [b"ccc"] * 3), (2, [b"d"])]
BOUNDS = [0, 2, 3, 6, 7]


def killed(segment_bytes: int = 1 << 20) -> SimulatedFiles:
    """Files with a log of `BATCHES`, whose node was killed."""
    files = SimulatedFiles()
    opened = open_at(files, segment_bytes=segment_bytes)
    for batch in BATCHES:
        opened.append(batch)
    return files


def filled(segment_bytes: int = 1 << 20) -> SimulatedFiles:
    """Files with a log of `BATCHES`, stopped."""
    files = killed(segment_bytes)
    open_at(files, segment_bytes=segment_bytes).stop()
    return files


def write(files: SimulatedFiles, path: str, data: bytes) -> None:
    handle = files.open(path, create=True)
    handle.truncate(0)
    handle.pwrite(data, 0)
    handle.fdatasync()
    files.fsync_dir(DIRECTORY)


WHOLE = filled().content(FIRST_SEGMENT)
POSITIONS = [0]
for _count in BOUNDS[1:]:
    POSITIONS.append(POSITIONS[-1] + 12 + int.from_bytes(WHOLE[POSITIONS[-1] + 8 : POSITIONS[-1] + 12], "big"))


def test_positions_are_those_of_the_batches() -> None:
    assert POSITIONS[-1] == len(WHOLE)


@pytest.mark.parametrize("rest", [b"", b"\x00" * 300, b"\x02" * 300, b"\xff" * 9])
def test_a_log_cut_anywhere_keeps_every_whole_batch(rest: bytes) -> None:
    for size in range(len(WHOLE) + 1):
        files = killed()
        write(files, FIRST_SEGMENT, WHOLE[:size] + rest)
        # The zeros may be just those that were cut off.
        whole = max(
            index for index, position in enumerate(POSITIONS) if (WHOLE[:size] + rest)[:position] == WHOLE[:position]
        )
        if BOUNDS[whole] < 3:  # where epoch 2 began, as leader-epoch-checkpoint has it
            with pytest.raises(
                CorruptBatchError, match="epoch 2 began at offset 3: what stood between is lost"
            ) as caught:
                open_at(files)
            where = (caught.value.file, caught.value.position, caught.value.base_offset)
            assert where == ("00000000000000000000.log", POSITIONS[whole], BOUNDS[whole])
            assert files.content(FIRST_SEGMENT) == WHOLE[:size] + rest
            write(files, EPOCHS, b"0\n1\n1 0\n")
        opened = open_at(files)
        assert bounds(opened.log) == BOUNDS[: whole + 1]
        cut = size + len(rest) - POSITIONS[whole]
        torn = opened.report.torn_tail
        if cut == 0:
            assert opened.report.warnings == ()
            continue
        assert torn is not None
        assert (torn.position, torn.size, torn.offset) == (POSITIONS[whole], cut, BOUNDS[whole])
        assert str(torn.position) in opened.report.warnings[0]
        assert files.content(FIRST_SEGMENT) == WHOLE[: POSITIONS[whole]]
        opened.append((3, [b"after"]))
        again = open_at(files)
        assert (contents(again.log), again.report.warnings) == (contents(opened.log), ())


STOPPED = [(1, b"a" * 40, 5), (1, b"b" * 70, 6), (1, b"c" * 90, 7), (1, b"d" * 20, 8)]
"""Epoch, value and timestamp (ms) of batches, of which the third alone has an entry in the offset index."""


def stopped() -> SimulatedFiles:
    """Files with a log of `STOPPED`, whose node stopped."""
    files = SimulatedFiles()
    opened = open_at(files, index_interval_bytes=200)
    for epoch, value, timestamp_ms in STOPPED:
        opened.writer.execute([stage(opened.log, epoch, [value], timestamp_ms=timestamp_ms)])
    opened.stop()
    return files


@pytest.mark.parametrize("kept", [(".index",), (".timeindex",), (".index", ".timeindex")])
def test_a_log_that_was_cut_after_a_stop_is_refused(kept: tuple[str, ...]) -> None:
    """At any byte, by what the indexes say that were closed then; nothing is changed."""
    whole = stopped().content(FIRST_SEGMENT)
    entries = len(stopped().content(FIRST_SEGMENT.replace(".log", ".index"))) // 8
    assert entries == 1  # of the third batch: that the fourth was there, the time index alone says
    fourth = whole.rindex((3).to_bytes(8, "big"))
    for size in range(len(whole)):
        files = stopped()
        for suffix in {".index", ".timeindex"}.difference(kept):
            files.unlink(FIRST_SEGMENT.replace(".log", suffix))
        write(files, FIRST_SEGMENT, whole[:size])
        if kept == (".index",) and size >= fourth:
            assert open_at(files).log.log_end_offset == 3
            continue
        before = {name: files.content(f"{DIRECTORY}/{name}") for name in files.listdir(DIRECTORY)}
        with pytest.raises(CorruptBatchError, match="it was cut since; nothing was cut") as caught:
            open_at(files)
        assert caught.value.file == "00000000000000000000.log"
        assert {name: files.content(f"{DIRECTORY}/{name}") for name in files.listdir(DIRECTORY)} == before


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_no_flipped_bit_of_an_index_keeps_a_whole_log_from_being_opened(suffix: str) -> None:
    path = FIRST_SEGMENT.replace(".log", suffix)
    for bit in range(8 * len(stopped().content(path))):
        files = stopped()
        files.rot(path, bit // 8, 1 << bit % 8)
        assert open_at(files).log.log_end_offset == len(STOPPED)


def test_what_a_truncation_takes_is_not_missed_after_the_next_crash() -> None:
    """The indexes of the stop before are gone before anything is cut, whatever the power cut leaves."""
    for draw in range(64):
        files = stopped()
        opened = open_at(files, index_interval_bytes=200)
        opened.truncate(1)
        files.crash(draw)
        assert bounds(open_at(files).log) == [0, 1]


def test_a_tail_of_zeros_says_so() -> None:
    files = filled()
    write(files, FIRST_SEGMENT, WHOLE + bytes(4096))
    assert open_at(files).report.warnings == (
        f"torn tail cut: 00000000000000000000.log: 4096 bytes from position {len(WHOLE)} on (offset 7): zeros",
    )


@pytest.mark.parametrize("bit", range(8))
def test_no_flipped_bit_loses_a_batch_silently(bit: int) -> None:
    for position in range(len(WHOLE)):
        files = filled()
        files.rot(FIRST_SEGMENT, position, 1 << bit)
        hit = max(index for index, start in enumerate(POSITIONS) if start <= position)
        within = position - POSITIONS[hit]
        if hit == len(BATCHES) - 1 and not (within < 8 or 12 <= within < 16):
            # Only the last batch can look torn, and then its loss is reported.
            opened = open_at(files)
            assert bounds(opened.log) == BOUNDS[:-1]
            assert opened.report.torn_tail is not None
            assert opened.report.torn_tail.position == POSITIONS[hit]
            continue
        with pytest.raises(CorruptBatchError, match="nothing was cut") as caught:
            open_at(files)
        # An epoch that is too high is noticed at the next batch.
        named = (hit, hit + 1) if 12 <= within < 16 else (hit,)
        assert caught.value.file == "00000000000000000000.log"
        assert caught.value.base_offset in [BOUNDS[index] for index in named]
        assert caught.value.position in [POSITIONS[index] for index in named]
        assert len(files.content(FIRST_SEGMENT)) == len(WHOLE)


def test_damage_in_the_middle_is_refused_by_file_position_and_offset() -> None:
    files = filled()
    files.rot(FIRST_SEGMENT, POSITIONS[2] - 1, 0x10)
    with pytest.raises(
        CorruptBatchError,
        match=rf"at 00000000000000000000\.log, position {POSITIONS[1]}, offset 2: its checksum is .*"
        rf"position {POSITIONS[2]} holds a sound batch of offset 3, so nothing was cut",
    ):
        open_at(files)


def test_damage_before_a_later_segment_is_refused() -> None:
    files = filled(segment_bytes=1)
    path = f"{DIRECTORY}/00000000000000000003.log"
    files.rot(path, 70, 1)
    before = {name: files.content(f"{DIRECTORY}/{name}") for name in files.listdir(DIRECTORY)}
    with pytest.raises(CorruptBatchError, match=r"00000000000000000006\.log holds a sound batch of offset 6") as caught:
        open_at(files)
    assert (caught.value.file, caught.value.position, caught.value.base_offset) == ("00000000000000000003.log", 0, 3)
    assert {name: files.content(f"{DIRECTORY}/{name}") for name in files.listdir(DIRECTORY)} == before


def test_a_torn_tail_before_empty_segments_is_cut_with_them() -> None:
    files = killed(segment_bytes=1)
    files.rot(f"{DIRECTORY}/00000000000000000006.log", 65, 1)
    write(files, f"{DIRECTORY}/00000000000000000007.log", b"")
    opened = open_at(files)
    assert bounds(opened.log) == BOUNDS[:-1]
    assert [line.partition(":")[0] for line in opened.report.warnings] == [
        "torn tail cut",
        "segment without a sound batch, cut",
    ]
    assert not files.exists(f"{DIRECTORY}/00000000000000000007.log")


def test_a_missing_segment_is_refused() -> None:
    files = filled(segment_bytes=1)
    files.unlink(f"{DIRECTORY}/00000000000000000002.log")
    with pytest.raises(CorruptBatchError, match="the segment before it ends at offset 2: what was between is missing"):
        open_at(files)


def test_a_log_may_start_anywhere() -> None:
    files = filled(segment_bytes=1)
    files.unlink(f"{DIRECTORY}/00000000000000000000.log")
    files.unlink(f"{DIRECTORY}/00000000000000000002.log")
    write(files, EPOCHS, b"0\n1\n2 3\n")
    opened = open_at(files)
    assert (opened.log.start_offset, bounds(opened.log), opened.report.warnings) == (3, [3, 6, 7], ())


def test_a_sound_batch_in_the_wrong_place_is_refused() -> None:
    files = filled()
    write(files, FIRST_SEGMENT, WHOLE + WHOLE[POSITIONS[3] :])
    with pytest.raises(CorruptBatchError, match="a batch of offset 6 is where 7 is due"):
        open_at(files)


def test_an_epoch_that_goes_back_is_refused() -> None:
    files = filled()
    data = bytearray(WHOLE)
    data[POSITIONS[3] + 15] = 1
    write(files, FIRST_SEGMENT, bytes(data))
    with pytest.raises(CorruptBatchError, match="its epoch 1 comes after 2"):
        open_at(files)


def test_a_compressed_batch_is_refused_and_not_cut() -> None:
    files = SimulatedFiles()
    open_at(files)
    data = bytearray(batch_of(b"x", base_offset=0))
    data[22] |= 1
    write(files, FIRST_SEGMENT, resealed(data))
    with pytest.raises(UnsupportedBatchError, match="gzip"):
        open_at(files)


@pytest.mark.parametrize(
    ("data", "why"), [(None, "it is missing"), (b"0\n0\n", "it is empty"), (b"?", "it is no leader")]
)
def test_a_lost_epoch_history_is_rebuilt_and_reported(data: bytes | None, why: str) -> None:
    files = filled()
    good = files.content(EPOCHS)
    if data is None:
        files.unlink(EPOCHS)
    else:
        write(files, EPOCHS, data)
    opened = open_at(files)
    assert opened.report.warnings[0].startswith(f"leader-epoch-checkpoint rebuilt from the log: {why}")
    assert files.content(EPOCHS) == good


def test_a_history_that_contradicts_the_log_is_refused() -> None:
    files = filled()
    for wrong in (b"0\n2\n1 0\n3 3\n", b"0\n1\n1 0\n", b"0\n3\n1 0\n2 3\n3 6\n", b"0\n1\n2 0\n"):
        write(files, EPOCHS, wrong)
        with pytest.raises(CorruptBatchError, match="leader-epoch-checkpoint has"):
            open_at(files)


def test_a_history_may_begin_after_the_log_and_end_after_it() -> None:
    files = filled()
    for known, after in ((b"0\n2\n1 2\n2 3\n", b"0\n2\n1 2\n2 3\n"), (b"0\n3\n1 0\n2 3\n9 7\n", b"0\n2\n1 0\n2 3\n")):
        write(files, EPOCHS, known)
        opened = open_at(files)
        assert opened.report.warnings == ()
        assert opened.log.epochs.epoch_at(Offset(0)) == 1
        assert files.content(EPOCHS) == after


def test_a_last_segment_of_random_bytes_is_refused_where_the_history_says_that_more_was_there() -> None:
    files = filled(segment_bytes=1)
    open_at(files, segment_bytes=1).append((3, [b"e"]), (4, [b"f"]))
    files.unlink(f"{DIRECTORY}/00000000000000000008.log")
    write(files, f"{DIRECTORY}/00000000000000000007.log", b"\x97" * 200)
    with pytest.raises(
        CorruptBatchError,
        match=r"at 00000000000000000007\.log, position 0, offset 7: the log ends here, but leader-epoch-checkpoint "
        r"says that epoch 4 began at offset 8: what stood between is lost; nothing was cut.*move this directory aside",
    ):
        open_at(files)
    assert files.content(f"{DIRECTORY}/00000000000000000007.log") == b"\x97" * 200


def test_a_log_without_any_segment_is_refused_where_the_history_tells_of_records() -> None:
    files = filled()
    files.unlink(FIRST_SEGMENT)
    with pytest.raises(CorruptFileError, match=r"every segment of the log is missing; .* move this directory aside"):
        open_at(files)
    assert not files.exists(FIRST_SEGMENT)


KAFKAS_INDEX = f"{DIRECTORY}/00000000000000000000.index"
"""A Kafka that runs has it at its full size, zeros behind the last entry."""


@pytest.mark.parametrize("tail", [b"", WHOLE[POSITIONS[3] : POSITIONS[3] + 50], bytes(300)])
def test_a_kafka_that_was_killed_may_leave_a_history_that_goes_on_after_the_log(tail: bytes) -> None:
    """It cuts the log before the history, and writes the lines of a whole Fetch answer before the first batch."""
    files = filled()
    write(files, FIRST_SEGMENT, WHOLE[: POSITIONS[3]] + tail)
    write(files, EPOCHS, b"0\n4\n1 0\n2 3\n5 8\n6 12\n")
    write(files, KAFKAS_INDEX, bytes(4096))
    opened = open_at(files)
    assert bounds(opened.log) == BOUNDS[:-1]
    assert opened.report.warnings[-1] == (
        "leader-epoch-checkpoint rebuilt from the log: it says that epoch 6 began at offset 12, after the log's end 6, "
        "as a Kafka that was killed may leave it"
    )
    assert files.content(EPOCHS) == b"0\n2\n1 0\n2 3\n"
    assert open_at(files).report.warnings == ()


def test_no_killed_kafka_leaves_random_bytes_or_an_index_that_is_closed() -> None:
    for tail, index in ((b"\x97" * 50, bytes(4096)), (b"", b"\0\0\0\2\0\0\0\x50"), (b"", b"")):
        files = filled()
        write(files, FIRST_SEGMENT, WHOLE[: POSITIONS[3]] + tail)
        write(files, EPOCHS, b"0\n3\n1 0\n2 3\n5 8\n")
        write(files, KAFKAS_INDEX, index)
        with pytest.raises(CorruptBatchError, match="epoch 5 began at offset 8: what stood between is lost"):
            open_at(files)


def test_epochs_that_the_history_lost_are_taken_from_the_log_only_where_a_truncation_was_interrupted() -> None:
    beside = f"{EPOCHS}.before-cut"
    for before, goes_on in (
        (b"0\n2\n1 0\n2 3\n", True),
        (b"0\n2\n1 0\n2 4\n", False),
        (b"0\n2\n1 0\n3 3\n", False),
        (b"?", False),
    ):
        files = filled()
        write(files, EPOCHS, b"0\n1\n1 0\n")
        write(files, beside, before)
        if not goes_on:
            with pytest.raises(CorruptBatchError, match="leader-epoch-checkpoint has 1"):
                open_at(files)
            continue
        opened = open_at(files)
        assert opened.report.warnings == (
            "leader-epoch-checkpoint rebuilt from the log: it ended before epoch 2, as a truncation that was "
            "interrupted leaves it",
        )
        assert (bounds(opened.log), files.exists(beside)) == (BOUNDS, False)
        assert files.content(EPOCHS) == b"0\n2\n1 0\n2 3\n"


def test_reading_without_recovery_leaves_everything_as_it_is() -> None:
    files = filled()
    write(files, FIRST_SEGMENT, WHOLE[:-3])
    files.unlink(EPOCHS)
    before = files.changes
    opened = open_at(files, recover=False)
    assert bounds(opened.log) == BOUNDS[:-1]
    assert opened.report.warnings[0].startswith("torn tail not read")
    assert files.changes == before
    assert len(contents(opened.log)) == POSITIONS[-2]


def test_stale_index_files_of_the_active_segment_go() -> None:
    files = filled()
    assert files.exists(f"{DIRECTORY}/00000000000000000000.index")
    open_at(files)
    assert not files.exists(f"{DIRECTORY}/00000000000000000000.index")
    assert not files.exists(f"{DIRECTORY}/00000000000000000000.timeindex")


def test_other_files_are_left_alone() -> None:
    files = filled()
    for name in ("00000000000000000003.log.deleted", "00000000000000000095.snapshot", "partition.metadata"):
        write(files, f"{DIRECTORY}/{name}", b"kept")
    assert bounds(open_at(files).log) == BOUNDS
    assert files.content(f"{DIRECTORY}/00000000000000000003.log.deleted") == b"kept"


def test_a_broken_epoch_file_is_named() -> None:
    error = CorruptFileError("there", "what")
    assert (str(error), error.path) == ("there: what", "there")
