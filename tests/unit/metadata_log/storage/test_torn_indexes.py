"""Indexes of closed segments are whole after a power cut. A start rebuilds those that older software left torn."""

from __future__ import annotations

import copy

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from tests.unit.metadata_log.log_support import DIRECTORY, OpenLog, contents, open_at

CONFIG = {"segment_bytes": 400, "index_interval_bytes": 100}
ENTRY_BYTES = {".index": 8, ".timeindex": 12}


def rolled(files: SimulatedFiles, segments: int = 4) -> OpenLog:
    """A log of several closed segments, whose node goes on."""
    opened = open_at(files, **CONFIG)
    while len(segments_of(files)) < segments:
        opened.append((1, [b"x" * 30]))
    return opened


def segments_of(files: SimulatedFiles) -> list[str]:
    return [name for name in files.listdir(DIRECTORY) if name.endswith(".log")]


def closed_indexes(files: SimulatedFiles) -> dict[str, bytes]:
    """Return the indexes by path, of all segments except the last."""
    bases = [name[:20] for name in segments_of(files)[:-1]]
    paths = [f"{DIRECTORY}/{base}{suffix}" for base in bases for suffix in ENTRY_BYTES]
    return {path: files.content(path) for path in paths if files.exists(path)}


@pytest.mark.parametrize("segments", [2, 3])
def test_a_power_cut_behind_a_roll_leaves_the_closed_indexes_whole(segments: int) -> None:
    files = SimulatedFiles()
    rolled(files, segments)
    whole = closed_indexes(files)
    assert len(whole) == 2 * (segments - 1)
    assert all(whole.values())
    for draw in range(60):
        left = copy.deepcopy(files)
        left.crash(draw * 0x9E3779B97F4A7C15)
        assert closed_indexes(left) == whole


@pytest.mark.parametrize("suffix", ENTRY_BYTES)
def test_a_start_makes_torn_ones_of_closed_segments_anew(suffix: str) -> None:
    files = SimulatedFiles()
    opened = rolled(files)
    opened.stop()
    log, whole = contents(opened.log), closed_indexes(files)
    path = next(path for path in whole if path.endswith(suffix))
    for size in (size for size in range(1, len(whole[path])) if size % ENTRY_BYTES[suffix]):
        torn = copy.deepcopy(files)
        handle = torn.open(path)
        handle.truncate(size)
        handle.fdatasync()
        handle.close()
        assert open_at(torn, recover=False, **CONFIG).report.torn_indexes == (path.rpartition("/")[2],)
        assert torn.content(path) != whole[path], "opened for reading only, it changes nothing"
        again = open_at(torn, **CONFIG)
        assert contents(again.log) == log
        assert any("rebuilt" in line and path.rpartition("/")[2] in line for line in again.report.warnings)
        torn.crash(size)
        assert closed_indexes(torn) == whole
        assert open_at(torn, **CONFIG).report.warnings == ()


def test_what_a_kafka_left_is_left_as_it_is() -> None:
    """Kafka's time index may have more entries than our own. A start does not add a missing one."""
    files = SimulatedFiles()
    rolled(files).stop()
    first, *others = closed_indexes(files)
    handle = files.open(first)
    handle.truncate(0)
    handle.fdatasync()
    for path in others:
        files.unlink(path)
    before = closed_indexes(files)
    assert open_at(files, **CONFIG).report.warnings == ()
    assert closed_indexes(files) == before
