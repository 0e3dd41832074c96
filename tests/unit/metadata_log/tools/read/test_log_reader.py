"""One pass over segments: its events, their order, and segments that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import NoOpRecord, encode_record
from metadata_log.storage.segment import LocatedBatch, segment_file
from metadata_log.tools.read.fast_scan import Marks, NoOpRun
from metadata_log.tools.read.log_reader import (
    LogEvent,
    LogReader,
    SegmentClosed,
    SegmentFound,
    SegmentOpened,
    SegmentUnreadable,
)
from metadata_log.tools.read.scan import Damage

_BYTES = 72
_PER_SEGMENT = 10


def _segments(tmp_path: Path, count: int = 3) -> list[str]:
    paths = [tmp_path / segment_file(number * _PER_SEGMENT) for number in range(count)]
    for number, path in enumerate(paths):
        offsets = range(number * _PER_SEGMENT, (number + 1) * _PER_SEGMENT)
        path.write_bytes(b"".join(map(_no_op, offsets)))
    return list(map(str, paths))


def _no_op(offset: int) -> bytes:
    values = [encode_record(NoOpRecord(), 0)]
    return build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=1000 + offset, values=values)


def _kinds(events: list[LogEvent]) -> list[type[LogEvent]]:
    return [type(event) for event in events]


def test_a_pass_tells_of_each_segment_and_its_batches_in_order(tmp_path: Path) -> None:
    events = list(LogReader(OsFiles(), _segments(tmp_path, 2)).events())

    assert _kinds(events) == [SegmentFound, SegmentOpened, LocatedBatch, NoOpRun, SegmentClosed] * 2
    found = [event for event in events if isinstance(event, SegmentFound)]
    assert [(one.base_offset, one.is_last) for one in found] == [(0, False), (10, True)]
    closed = [event for event in events if isinstance(event, SegmentClosed)]
    assert [(one.size, one.sound_end, one.read_end) for one in closed] == [(720, 720, 720)] * 2


def test_a_listener_that_expects_the_first_batch_has_it_in_the_run(tmp_path: Path) -> None:
    class Listener:
        def __init__(self) -> None:
            self.events: list[LogEvent] = []

        def on_event(self, event: LogEvent) -> None:
            self.events.append(event)
            if isinstance(event, SegmentOpened):
                offset = int(event.first_offset or 0)
                reader.expect(offset=offset, epoch=1, time_ms=-1, marks=Marks(offsets=[offset + 4]))

    reader, listener = LogReader(OsFiles(), _segments(tmp_path, 1)), Listener()
    reader.read(listener)

    assert _kinds(listener.events)[2:-1] == [NoOpRun, LocatedBatch, NoOpRun]


def test_a_segment_that_is_gone_is_an_event_and_the_pass_goes_on(tmp_path: Path) -> None:
    segments = _segments(tmp_path)
    Path(segments[1]).unlink()

    events = list(LogReader(OsFiles(), segments).events())

    gone = [event for event in events if isinstance(event, SegmentUnreadable)]
    assert [(one.file, one.base_offset, type(one.error)) for one in gone] == [(segments[1], 10, FileNotFoundError)]
    assert sum(isinstance(event, SegmentClosed) for event in events) == 2


def test_an_error_of_the_listener_makes_the_rest_of_its_segment_unreadable(tmp_path: Path) -> None:
    class Listener:
        def __init__(self) -> None:
            self.kinds: list[type[LogEvent]] = []

        def on_event(self, event: LogEvent) -> None:
            self.kinds.append(type(event))
            if isinstance(event, LocatedBatch) and event.header.base_offset == 0:
                raise OSError("cannot be read")

    listener = Listener()
    LogReader(OsFiles(), _segments(tmp_path, 2)).read(listener)

    first = [SegmentFound, SegmentOpened, LocatedBatch, SegmentUnreadable]
    assert listener.kinds == [*first, SegmentFound, SegmentOpened, LocatedBatch, NoOpRun, SegmentClosed]


def test_batches_are_yielded_one_by_one_between_two_positions(tmp_path: Path) -> None:
    segments = _segments(tmp_path)

    batches = LogReader(OsFiles(), segments, start=8 * _BYTES, end=2 * _BYTES).batches()

    assert [int(batch.header.base_offset) for batch in batches] == [8, 9, *range(10, 20), 20, 21]


def test_a_removed_segment_is_passed_over_only_if_asked_for(tmp_path: Path) -> None:
    segments = _segments(tmp_path)
    Path(segments[0]).unlink()

    assert len(list(LogReader(OsFiles(), segments).batches(past_removed=True))) == 2 * _PER_SEGMENT
    with pytest.raises(FileNotFoundError):
        list(LogReader(OsFiles(), segments).batches())


def test_corruption_is_seen_between_batches_and_zeros_end_a_segment(tmp_path: Path) -> None:
    (segment,) = _segments(tmp_path, 1)
    data = bytearray(Path(segment).read_bytes())
    data[3 * _BYTES + 65] ^= 1
    Path(segment).write_bytes(bytes(data) + bytes(100))

    events = list(LogReader(OsFiles(), [segment]).events(runs=False))

    assert [event.position for event in events if isinstance(event, Damage)] == [3 * _BYTES]
    assert len([event for event in events if isinstance(event, LocatedBatch)]) == _PER_SEGMENT - 1
    closed = events[-1]
    assert isinstance(closed, SegmentClosed)
    assert (closed.size, closed.sound_end, closed.read_end) == (820, 720, 720)
