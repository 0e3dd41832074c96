"""The file log: appending, reading from memory and from files, rolling, truncating, and the files that it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import InvariantViolation, OffsetOutOfRange
from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import check_batch, iter_batches
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import NO_EPOCH, Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.file_log import LogConfig, open_log
from metadata_log.storage.log_writer import LogWriter
from tests.unit.metadata_log.log_support import (
    DIRECTORY,
    FIRST_SEGMENT,
    OpenLog,
    bounds,
    contents,
    offsets_of,
    open_at,
    stage,
)

BASIC = Path(__file__).parents[3] / "fixtures" / "basic"
KAFKA_LOGS = [BASIC / f"node-{node}/data/__cluster_metadata-0" for node in (1, 2, 3)]


def filled(files: SimulatedFiles, **config: int) -> OpenLog:
    """A log of batches at 0, 3, 4, 6 and 7, ending at 12, of epochs 1, 1, 2, 2 and 5."""
    opened = open_at(files, **config)
    opened.append((1, [b"a"] * 3), (1, [b"b"]))
    opened.append((2, [b"c"] * 2), (2, [b"d"]), (5, [b"e"] * 5))
    return opened


def test_a_new_log_is_empty() -> None:
    opened = open_at(SimulatedFiles())
    assert opened.log.end() == OffsetAndEpoch(offset=Offset(0), epoch=NO_EPOCH)
    assert (opened.log.start_offset, opened.log.read(Offset(0), 100), opened.report.warnings) == (0, b"", ())
    with pytest.raises(OffsetOutOfRange, match="offset 1 is outside the log, which holds 0 to 0"):
        opened.log.read(Offset(1), 100)


def test_appended_batches_are_in_memory_before_they_are_written() -> None:
    files = SimulatedFiles()
    opened = open_at(files)
    op = stage(opened.log, 1, [b"a", b"b"])
    assert opened.log.end() == OffsetAndEpoch(offset=Offset(2), epoch=Epoch(1))
    assert offsets_of(opened.log.read(Offset(1), 10)) == [0]
    assert files.content(FIRST_SEGMENT) == b""
    assert not op.executed
    opened.writer.execute([op])
    assert op.executed
    assert files.content(FIRST_SEGMENT) == opened.log.read(Offset(0), 10)


def test_a_group_costs_one_write_and_one_sync() -> None:
    files = SimulatedFiles()
    opened = open_at(files)
    opened.append((1, [b"first"]))
    before = files.calls.copy()
    opened.append(*[(1, [b"x" * n]) for n in range(1, 30)])
    spent = files.calls - before
    assert (spent["pwrite"], spent["fdatasync"], spent["fsync_dir"]) == (1, 1, 0)


def test_several_batches_are_staged_at_once() -> None:
    leader = filled(SimulatedFiles())
    data = contents(leader.log)
    files = SimulatedFiles()
    follower = open_at(files)
    follower.writer.execute([follower.log.stage_append(data, [header for _, header in iter_batches(data)])])
    assert contents(follower.log) == data == files.content(FIRST_SEGMENT)
    assert follower.log.epochs == leader.log.epochs


@pytest.mark.parametrize("cache_bytes", [0, 300, 1 << 20])
@pytest.mark.parametrize("segment_bytes", [1, 200, 1 << 20])
def test_reads_are_whole_batches_from_the_one_asked_for(segment_bytes: int, cache_bytes: int) -> None:
    opened = filled(SimulatedFiles(), segment_bytes=segment_bytes, cache_bytes=cache_bytes)
    starts = [0, 3, 4, 6, 7]
    assert bounds(opened.log) == [*starts, 12]
    for offset in range(12):
        holder = max(start for start in starts if start <= offset)
        assert offsets_of(opened.log.read(Offset(offset), 0)) == [holder]
        many = offsets_of(opened.log.read(Offset(offset), 10_000))
        assert many == starts[starts.index(holder) :][: len(many)]
    assert opened.log.read(Offset(12), 100) == b""
    for outside in (-1, 13):
        with pytest.raises(OffsetOutOfRange):
            opened.log.read(Offset(outside), 100)
    with pytest.raises(OffsetOutOfRange):
        list(opened.log.iter_from(Offset(13)))


def test_reads_respect_the_bytes_asked_for() -> None:
    for cache_bytes in (0, 1 << 20):
        opened = filled(SimulatedFiles(), cache_bytes=cache_bytes)
        opened.append((5, [b"last"]))
        sizes = [header.size_in_bytes for header, _ in opened.log.iter_from(Offset(0))]
        for count in range(1, 4):
            exactly = sum(sizes[:count])
            assert len(opened.log.read(Offset(0), exactly)) == exactly
            assert len(opened.log.read(Offset(0), exactly + 1)) == exactly
            assert len(opened.log.read(Offset(0), exactly - 1)) == max(sizes[0], sum(sizes[: count - 1]))


def test_the_cache_is_bounded_and_never_forgets_what_is_not_written() -> None:
    opened = open_at(SimulatedFiles(), cache_bytes=2000)
    ops = [stage(opened.log, 1, [b"x" * 100]) for _ in range(50)]
    assert not opened.log.needs_cold_read(Offset(0))
    opened.writer.execute(ops)
    opened.append((1, [b"y" * 100]))
    assert opened.log.needs_cold_read(Offset(0))
    assert not opened.log.needs_cold_read(Offset(50))
    assert bounds(opened.log) == list(range(52))
    with pytest.raises(OffsetOutOfRange):
        opened.log.cold_read(Offset(50), 100)


def test_a_cold_read_is_a_plan_that_stays_right_while_the_log_grows() -> None:
    opened = open_at(SimulatedFiles(), cache_bytes=0)
    opened.append(*[(1, [b"x" * 50]) for _ in range(9)])
    opened.append((1, [b"x"]))
    plan = opened.log.cold_read(Offset(2), 10_000)
    before = plan.run()
    opened.append((1, [b"later"]))
    assert plan.run() == before


def test_segments_roll_and_keep_their_order() -> None:
    files = SimulatedFiles()
    opened = filled(files, segment_bytes=100)
    opened.stop()
    names = files.listdir(DIRECTORY)
    assert [int(name[:20]) for name in names if name.endswith(".log")] == [0, 3, 4, 6, 7]
    again = open_at(files, segment_bytes=100)
    assert contents(again.log) == contents(opened.log)
    assert (again.log.end(), again.log.epochs, again.report.warnings) == (opened.log.end(), opened.log.epochs, ())


def test_a_batch_larger_than_a_segment_is_taken() -> None:
    opened = open_at(SimulatedFiles(), segment_bytes=100, cache_bytes=0)
    opened.append((1, [b"x" * 5000]), (1, [b"y" * 5000]))
    opened.append((1, [b"z"]))
    assert len(opened.log.read(Offset(0), 1)) > 5000


@pytest.mark.parametrize("segment_bytes", [1, 1 << 20])
@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
@pytest.mark.parametrize("offset", range(13))
def test_truncation_cuts_whole_batches(offset: int, segment_bytes: int, cache_bytes: int) -> None:
    files = SimulatedFiles()
    opened = filled(files, segment_bytes=segment_bytes, cache_bytes=cache_bytes)
    whole = contents(opened.log)
    opened.truncate(offset)
    end = max(bound for bound in (0, 3, 4, 6, 7, 12) if bound <= offset)
    assert opened.log.log_end_offset == end
    assert whole.startswith(contents(opened.log))
    opened.append((9, [b"new"]))
    assert opened.log.end() == OffsetAndEpoch(offset=Offset(end + 1), epoch=Epoch(9))
    opened.writer.close()
    again = open_at(files, segment_bytes=segment_bytes)
    assert contents(again.log) == contents(opened.log)
    assert (again.log.epochs, again.report.warnings) == (opened.log.epochs, ())


def test_truncation_before_the_start_is_refused() -> None:
    opened = filled(SimulatedFiles())
    with pytest.raises(OffsetOutOfRange):
        opened.log.stage_truncate(Offset(-1))
    opened.truncate(99)
    assert opened.log.log_end_offset == 12


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4), st.integers(0, 400)),
            st.tuples(st.just("truncate"), st.integers(0, 60), st.just(0), st.just(0)),
            st.tuples(st.just("flush"), st.just(0), st.just(0), st.just(0)),
        ),
        max_size=40,
    ),
    st.integers(1, 2000),
    st.integers(0, 3000),
)
def test_it_holds_what_a_list_would(steps: list[tuple[str, int, int, int]], segment: int, cache: int) -> None:
    files = SimulatedFiles()
    opened = open_at(files, segment_bytes=segment, cache_bytes=cache, index_interval_bytes=100)
    model: list[tuple[int, bytes]] = []
    ops = []
    epoch = 0
    for kind, number, count, size in steps:
        if kind == "append":
            epoch += number
            start = opened.log.log_end_offset
            ops.append(stage(opened.log, epoch, [bytes(size)] * count))
            model.append((start, opened.log.read(start, 1)))
        elif kind == "truncate":
            ops.append(opened.log.stage_truncate(Offset(number)))
            model = [entry for entry in model if check_batch(entry[1]).next_offset <= number]
        else:
            opened.writer.execute(ops)
            ops = []
        assert opened.log.log_end_offset == (check_batch(model[-1][1]).next_offset if model else 0)
    opened.writer.execute(ops)
    for log in (opened.log, open_at(files, segment_bytes=segment, index_interval_bytes=100).log):
        assert contents(log) == b"".join(data for _, data in model)
        for start, data in model:
            assert log.read(Offset(start), 1) == data
            assert log.epochs.epoch_at(Offset(start)) == check_batch(data).partition_leader_epoch


def test_appending_what_does_not_fit_is_our_own_fault() -> None:
    opened = filled(SimulatedFiles())
    data = opened.log.read(Offset(3), 1)
    with pytest.raises(InvariantViolation, match="offset 3 cannot follow log end 12"):
        opened.log.stage_append(data, (check_batch(data),))
    with pytest.raises(InvariantViolation, match="epoch 4 at offset 12 cannot follow epoch 5"):
        stage(opened.log, 4, [b"x"])


def test_headers_must_count_every_byte() -> None:
    data = contents(filled(SimulatedFiles()).log)
    with pytest.raises(InvariantViolation, match="their headers count"):
        open_at(SimulatedFiles()).log.stage_append(data, [header for _, header in iter_batches(data)][:2])


def test_a_log_opened_for_reading_changes_nothing_and_takes_nothing() -> None:
    files = SimulatedFiles()
    filled(files).stop()
    files.read_only = True
    opened = open_at(files, recover=False)
    assert opened.log.log_end_offset == 12
    with pytest.raises(InvariantViolation, match="for reading only"):
        opened.log.stage_truncate(Offset(0))
    with pytest.raises(InvariantViolation, match="for reading only"):
        stage(opened.log, 5, [b"x"])


@pytest.mark.parametrize("directory", KAFKA_LOGS, ids=lambda path: path.parts[-3])
def test_kafkas_logs_are_written_again_file_for_file(directory: Path, tmp_path: Path) -> None:
    files = OsFiles()
    kafka, report = open_log(files, str(directory), recover=False)
    assert report.warnings == ()
    ours, _ = open_log(files, str(tmp_path / "log"), config=LogConfig(), recover=True)
    writer = LogWriter(files, str(tmp_path / "log"))
    for header, data in kafka.iter_from(kafka.start_offset):
        writer.execute([ours.stage_append(data, (header,))])
    writer.execute([ours.stage_close()])
    writer.close()
    for name in files.listdir(str(tmp_path / "log")):
        assert (tmp_path / "log" / name).read_bytes() == (directory / name).read_bytes(), name
    assert len(files.listdir(str(tmp_path / "log"))) == 4
    assert ours.epochs == kafka.epochs != EpochHistory()
