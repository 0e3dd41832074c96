"""A log that is trimmed, or replaced by a checkpoint: what memory and files hold, and what a crash leaves of it."""

from __future__ import annotations

import pytest

from metadata_log.errors import CorruptFileError, InvariantViolation
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.format.batch import build_batch, check_batch
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name, received_name
from metadata_log.storage.file_log import LogConfig
from metadata_log.storage.write_ops import AdoptCheckpoint
from quorum.node.storage.startup import open_starting_log
from tests.unit.metadata_log.log_support import DIRECTORY, OpenLog, bounds, contents, open_at, stage

SMALL = {"segment_bytes": 200}


def _end(offset: int, epoch: int) -> OffsetAndEpoch:
    return OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))


def _log(files: SimulatedFiles) -> OpenLog:
    """Ten batches of two records, a segment each two; epoch 1 to 10, then 2."""
    opened = open_at(files, **SMALL)
    for number in range(10):
        opened.append((1 if number < 5 else 2, [b"x" * 20, b"y" * 20]))
    return opened


def _segments(files: SimulatedFiles) -> list[int]:
    return [int(name[:20]) for name in files.listdir(DIRECTORY) if name.endswith(".log")]


def _write_checkpoint(files: SimulatedFiles, end: OffsetAndEpoch, name: str) -> None:
    handle = files.open(f"{DIRECTORY}/{name}", create=True)
    handle.pwrite(b"".join(build_checkpoint((), epoch=end.epoch, times=CheckpointTimes.at(7, last_contained_ms=5))), 0)
    handle.fdatasync()
    handle.close()
    files.fsync_dir(DIRECTORY)


def test_segments_wholly_before_the_start_go_and_no_other() -> None:
    files = SimulatedFiles()
    opened = _log(files)
    before, end = _segments(files), opened.log.log_end_offset
    assert len(before) > 4
    size = opened.log.size_after_trim(Offset(11))
    opened.writer.execute([opened.log.stage_trim(Offset(11))])
    assert _segments(files) == [base for base in before if base >= max(b for b in before if b <= 11)]
    assert opened.log.start_offset == 11
    assert opened.log.size_in_bytes == size
    assert opened.log.epochs.entries[0].start_offset == 11
    opened.append((3, [b"z"]))
    opened.stop()
    again = open_at(files, **SMALL)
    assert again.report.warnings == ()
    assert again.log.log_end_offset == end + 1
    assert again.log.start_offset == max(base for base in before if base <= 11)
    assert [again.log.epochs.epoch_at(Offset(offset)) for offset in (11, end - 1, end)] == [2, 2, 3]


def test_a_log_trimmed_to_its_end_goes_on() -> None:
    files = SimulatedFiles()
    opened = _log(files)
    opened.writer.execute([opened.log.stage_trim(opened.log.log_end_offset)])
    opened.append((5, [b"z"]))
    assert opened.log.epochs.epoch_at(Offset(20)) == 5
    opened.stop()
    assert open_at(files, **SMALL).log.log_end_offset == 21


def test_a_log_trimmed_to_its_end_starts_without_a_word_of_its_epochs() -> None:
    """Its last segment stays, and its epoch history is empty: nothing was lost of either."""
    files = SimulatedFiles()
    opened = _log(files)
    end = OffsetAndEpoch(offset=opened.log.log_end_offset, epoch=opened.log.last_epoch)
    opened.writer.execute([opened.log.stage_trim(end.offset)])
    opened.stop()
    assert _segments(files)
    assert open_at(files, recover=False, **SMALL).report.warnings, "no checkpoint holds what the history lacks"
    _write_checkpoint(files, end, checkpoint_name(end))
    again = open_starting_log(files, DIRECTORY, LogConfig(**SMALL))
    assert again.recovery.warnings == ()
    again.writer.execute([stage(again.log, 2, [b"z"])])
    files.crash(7)
    assert open_at(files, **SMALL).report.warnings == ()


@pytest.mark.parametrize("offset", [3, 21])
def test_a_trim_outside_the_log_stops_the_node(offset: int) -> None:
    opened = _log(SimulatedFiles())
    opened.writer.execute([opened.log.stage_trim(Offset(5))])
    with pytest.raises(InvariantViolation, match="cannot be trimmed"):
        opened.log.stage_trim(Offset(offset))


def test_a_replaced_log_is_empty_and_goes_on_from_the_checkpoint() -> None:
    files = SimulatedFiles()
    opened = _log(files)
    end = _end(100, 7)
    _write_checkpoint(files, end, received_name(end))
    adopt = AdoptCheckpoint(part=received_name(end), name=checkpoint_name(end))
    opened.writer.execute([opened.log.stage_replace(end, adopt)])
    assert (opened.log.start_offset, opened.log.log_end_offset) == (100, 100)
    assert contents(opened.log) == b""
    opened.append((7, [b"a"]), (8, [b"b"]))
    assert bounds(opened.log) == [100, 101, 102]
    assert _segments(files) == [100]
    opened.stop()
    again = open_starting_log(files, DIRECTORY, opened.log._config)
    assert again.snapshot is not None
    assert again.snapshot.end == end
    assert again.end == _end(102, 8)
    assert again.log.epochs.epoch_at(Offset(100)) == 7


def _replacing(crash_at: int | None, *, draw: int | None) -> tuple[SimulatedFiles, OffsetAndEpoch, int]:
    """Crash at that call of a replacement; with `draw` the power goes too. How many calls there were."""
    files, end = SimulatedFiles(), _end(100, 7)
    opened = _log(files)
    _write_checkpoint(files, end, received_name(end))
    op = opened.log.stage_replace(
        end, AdoptCheckpoint(part=received_name(end), name=checkpoint_name(end)), obsolete=("other.checkpoint",)
    )
    before = files.changes
    files.crash_at = None if crash_at is None else before + crash_at
    try:
        opened.writer.execute([op])
    except SimulatedCrash:
        if draw is None:
            opened.writer.close()
    if draw is not None:
        files.crash(draw)
    files.crash_at = None
    return files, end, files.changes - before


@pytest.mark.parametrize("draw", [None, 0, 1, 2, 3])
def test_a_replacement_cut_off_at_any_call_is_the_old_log_or_the_checkpoint(draw: int | None) -> None:
    calls = _replacing(None, draw=None)[2]
    assert calls > 10
    seen = set()
    for crash_at in range(1, calls + 1):
        files, end, _ = _replacing(crash_at, draw=draw)
        starting = open_starting_log(files, DIRECTORY, open_at(SimulatedFiles(), **SMALL).log._config)
        found = (starting.end, starting.log.start_offset)
        assert found in {(_end(20, 2), 0), (end, 100)}, crash_at
        seen.add(found)
        starting.writer.execute([stage(starting.log, 9, [b"z"])])
    assert len(seen) == 2


def _trimming(crash_at: int | None, draw: int) -> tuple[SimulatedFiles, int]:
    files, end = SimulatedFiles(), _end(14, 2)
    opened = _log(files)
    older = _end(6, 1)
    for each in (older, end):
        _write_checkpoint(files, each, checkpoint_name(each))
    op = opened.log.stage_trim(end.offset, (checkpoint_name(older),))
    before = files.changes
    files.crash_at = None if crash_at is None else before + crash_at
    try:
        opened.writer.execute([op])
    except SimulatedCrash:
        files.crash(draw)
    files.crash_at = None
    return files, files.changes - before


@pytest.mark.parametrize("draw", [0, 1, 2])
def test_a_trim_cut_off_at_any_call_leaves_a_log_that_meets_a_checkpoint(draw: int) -> None:
    calls = _trimming(None, draw)[1]
    assert calls > 5
    for crash_at in range(1, calls + 1):
        files, _ = _trimming(crash_at, draw)
        starting = open_starting_log(files, DIRECTORY, open_at(SimulatedFiles(), **SMALL).log._config)
        assert starting.end == _end(20, 2), crash_at
        assert starting.snapshot is not None
        assert starting.snapshot.end == _end(14, 2)
        if starting.log.start_offset:
            assert starting.held[0].end.offset == starting.log.start_offset
        starting.writer.execute([stage(starting.log, 9, [b"z"])])


def test_a_log_that_lost_all_its_segments_is_refused() -> None:
    files = SimulatedFiles()
    _log(files).stop()
    _write_checkpoint(files, _end(14, 2), checkpoint_name(_end(14, 2)))
    for name in files.listdir(DIRECTORY):
        if name.endswith(".log"):
            files.unlink(f"{DIRECTORY}/{name}")
    with pytest.raises(CorruptFileError, match="every segment of the log is missing"):
        open_starting_log(files, DIRECTORY, open_at(SimulatedFiles(), **SMALL).log._config)


def _damage(files: SimulatedFiles, end: OffsetAndEpoch) -> None:
    files.rot(f"{DIRECTORY}/{checkpoint_name(end)}", 70, 4)


@pytest.mark.parametrize("older", [True, False])
def test_a_damaged_newest_checkpoint_is_done_without_where_the_log_holds_all_of_it(older: bool) -> None:
    files = SimulatedFiles()
    opened = _log(files)
    for end in (_end(6, 1), _end(14, 2)) if older else (_end(14, 2),):
        _write_checkpoint(files, end, checkpoint_name(end))
    opened.stop()
    _damage(files, _end(14, 2))
    starting = open_starting_log(files, DIRECTORY, opened.log._config)
    assert (None if starting.snapshot is None else starting.snapshot.end) == (_end(6, 1) if older else None)
    assert [each.end for each in starting.held] == ([_end(6, 1)] if older else [])
    assert checkpoint_name(_end(14, 2)) in starting.recovery.warnings[0]


@pytest.mark.parametrize("end", [(14, 2), (30, 2)])
def test_a_damaged_checkpoint_is_refused_by_name_where_the_log_does_not(end: tuple[int, int]) -> None:
    files = SimulatedFiles()
    opened = _log(files)
    _write_checkpoint(files, _end(*end), checkpoint_name(_end(*end)))
    if end[0] == 14:
        opened.writer.execute([opened.log.stage_trim(Offset(14))])
    opened.stop()
    _damage(files, _end(*end))
    with pytest.raises(CorruptFileError, match=rf"{checkpoint_name(_end(*end))}: damaged .* an agent fetches it once"):
        open_starting_log(files, DIRECTORY, opened.log._config)


def test_a_segment_is_rolled_by_the_time_of_its_first_batch() -> None:
    files = SimulatedFiles()
    opened = open_at(files, segment_ms=1000)
    for timestamp_ms in (5_000, 5_900, 6_000, 6_001, 6_900, 7_002):
        data = build_batch(
            base_offset=opened.log.log_end_offset, epoch=Epoch(1), timestamp_ms=timestamp_ms, values=[b"x"]
        )
        opened.writer.execute([opened.log.stage_append(data, (check_batch(data),))])
    assert _segments(files) == [0, 3, 5]
    opened.stop()
    again = open_at(files, segment_ms=1000)
    again.append((1, [b"far later"]))
    assert _segments(files) == [0, 3, 5, 6]
