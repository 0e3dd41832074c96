"""Digests of ranges: equal for equal batches however they are read, and only ranges that differ are read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import FeatureLevelRecord, NoOpRecord, encode_record
from metadata_log.storage.segment import LocatedBatch, segment_file
from metadata_log.tools.read import batch_sums
from metadata_log.tools.read.batch_sums import BatchSums, Summed, ranges_apart
from metadata_log.tools.read.fast_scan import NoOpRun
from metadata_log.tools.read.log_reader import LogReader, SegmentFound

_NO_OP = encode_record(NoOpRecord(), 0)
_LEVEL = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=7), 0)
_RANGE = 32
_ENDS = 2 * _RANGE + 10
Batch = tuple[int, int, int, int]
"""Base offset, epoch, time in ms, count of records; one makes it a NoOp, 0 a batch of one level, several of levels."""


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_sums, "RANGE_BITS", _RANGE.bit_length() - 1)


def _log(
    changes: dict[int, Batch] | None = None, wide: frozenset[int] = frozenset(), count: int = _ENDS
) -> list[Batch]:
    """Return NoOps up to an offset; `wide`: offsets at which a batch of 20 records begins."""
    changes, batches, offset = changes or {}, list[Batch](), 0
    while offset < count:
        size = 20 if offset in wide else 1
        batches.append(changes.get(offset, (offset, 1, 1000 + offset, size)))
        offset += size
    return batches


def _write(directory: Path, batches: Sequence[Batch], segments: int = 1) -> list[str]:
    directory.mkdir()
    paths = []
    share = -(-len(batches) // segments)
    for first in range(0, len(batches), share):
        part = batches[first : first + share]
        path = directory / segment_file(part[0][0])
        path.write_bytes(b"".join(map(_bytes, part)))
        paths.append(str(path))
    return paths


def _bytes(batch: Batch) -> bytes:
    offset, epoch, time_ms, count = batch
    values = [_NO_OP] if count == 1 else [_LEVEL] * max(count, 1)
    return build_batch(base_offset=Offset(offset), epoch=Epoch(epoch), timestamp_ms=time_ms, values=values)


class _Counting(OsFiles):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        self.read = 0

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        counting, handle = self, super().open(path, create=create, exclusive=exclusive, read_only=read_only)
        read = handle.pread

        def pread(count: int, position: int) -> bytes:
            found = read(count, position)
            counting.read += len(found)
            return found

        handle.pread = pread  # type: ignore[method-assign]
        return handle


def _sums(paths: Sequence[str], files: OsFiles | None = None, *, runs: bool = True) -> BatchSums:
    sums = BatchSums(files or OsFiles())
    reader = LogReader(OsFiles(), paths)
    for event in reader.events(runs=runs):
        if isinstance(event, LocatedBatch):
            sums.on_batch(event.header, event.position)
        elif isinstance(event, NoOpRun):
            sums.on_run(event)
        elif isinstance(event, SegmentFound):
            sums.begin_segment(event.file)
    sums.finish()
    return sums


def test_digests_are_the_same_however_noops_are_read(tmp_path: Path) -> None:
    batches = _log({26: (26, 2, 1, 1), 27: (27, 2, 2, 1)}, frozenset({5, 29, 52}))
    one, three = _write(tmp_path / "one", batches), _write(tmp_path / "three", batches, segments=3)

    digests = [list(_sums(paths, runs=runs).digests()) for paths in (one, three) for runs in (False, True)]

    assert [number for number, _ in digests[0]] == [0, 1, 2]
    assert all(found == digests[0] for found in digests)


CHANGES: dict[str, Callable[[int], Batch]] = {
    "epoch": lambda offset: (offset, 2, 1000 + offset, 1),
    "time": lambda offset: (offset, 1, 1001 + offset, 1),
    "size": lambda offset: (offset, 1, 1000 + offset, 0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("offset", [0, 1, _RANGE - 1, _RANGE, _ENDS - 1])
def test_a_batch_that_differs_shows_in_its_range_alone(tmp_path: Path, change: str, offset: int) -> None:
    one = _sums(_write(tmp_path / "one", _log()))
    other = _sums(_write(tmp_path / "other", _log({offset: CHANGES[change](offset)})))

    assert list(ranges_apart([one, one, other])) == [offset // _RANGE]


def test_only_a_range_that_differs_is_read_again(tmp_path: Path) -> None:
    files, at = _Counting(), _RANGE + 5
    one = _sums(_write(tmp_path / "one", _log()), files)
    other = _sums(_write(tmp_path / "other", _log({at: (at, 2, 1, 1)})), files)

    assert one.first_difference(one, _ENDS) is None
    assert one.shares_batch(other)
    assert files.read == 0
    assert one.first_difference(other, _ENDS) == at + 1
    assert one.first_difference(other, at) is None


def test_batches_are_read_again_as_they_were(tmp_path: Path) -> None:
    batches = _log(wide=frozenset({30}))
    paths = _write(tmp_path / "log", batches, segments=4)
    sums = _sums(paths)

    found = list(sums.batches([1, 2]))

    assert [one[0] for one in found] == [batch[0] for batch in batches if batch[0] >= _RANGE]
    read = [batch for batch in LogReader(OsFiles(), paths).batches() if batch.header.base_offset >= _RANGE]
    assert [(one[3], one[6]) for one in found] == [(batch.header.crc, batch.position) for batch in read]


def test_a_batch_is_found_by_an_offset_in_it_and_across_ranges(tmp_path: Path) -> None:
    sums = _sums(_write(tmp_path / "log", _log(wide=frozenset({25}))))

    ends = [(sums.batch_from(offset) or (None,))[0] for offset in (0, 24, 25, 32, 44, 45, _ENDS - 1, _ENDS)]

    assert ends == [1, 25, 45, 45, 45, 46, _ENDS, None]


def test_random_logs_meet_and_differ_as_the_batches_say(tmp_path: Path) -> None:
    random = Random(7)
    for number in range(40):
        logs = [_drawn(random) for _ in range(2)]
        one, other = (_sums(_write(tmp_path / f"{number}-{side}", log, segments=2)) for side, log in enumerate(logs))
        mine, theirs = ({end: batch for *batch, end in _ends(one)} for one in (one, other))
        met = sorted(mine.keys() & theirs.keys())
        differ = [end for end in met if mine[end] != theirs[end]]

        assert one.shares_batch(other) is (len(differ) < len(met))
        for until in (*random.sample(met, min(len(met), 3)), _ENDS):
            expected = next((end for end in differ if end <= until), None)
            assert one.first_difference(other, until) == expected


def _ends(sums: BatchSums) -> list[tuple[int, int]]:
    return [(crc, end) for _, end, _, crc, *_ in _all(sums)]


def _all(sums: BatchSums) -> list[Summed]:
    return list(sums.batches([number for number, _ in sums.digests()]))


def _drawn(random: Random) -> list[Batch]:
    """Return a log that begins and ends anywhere, with wide batches and a few that differ from any other log's."""
    start, end = random.randrange(_RANGE), random.randrange(_RANGE, _ENDS)
    wide = frozenset(random.sample(range(_ENDS), 3))
    changes = {offset: (offset, 2, offset, 1) for offset in random.sample(range(_ENDS), 2)}
    batches = _log(changes, wide - changes.keys())
    return [batch for batch in batches if start <= batch[0] < max(end, start + 21)]


def test_a_batch_whose_offset_goes_back_is_passed_over(tmp_path: Path) -> None:
    batches = _log(count=20)
    sums = _sums(_write(tmp_path / "log", [*batches[:10], batches[4], batches[5], *batches[10:]]))

    assert [one[0] for one in _all(sums)] == list(range(20))
    assert list(ranges_apart([sums, _sums(_write(tmp_path / "sound", batches))])) == []
