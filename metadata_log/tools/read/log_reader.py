"""One pass over the segments of a metadata log, in order, past corruption.

Decides: the events of a pass; an unreadable segment is one of them. Must not know: the meaning of a batch.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Final, Protocol, TypeAlias

import msgspec

from metadata_log.files.port import FileHandle, Files
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.fast_scan import NO_MARKS, Marks, Seen, walk
from metadata_log.tools.read.scan import Damage, scan

_BASE_DIGITS: Final = 20
_OFFSET_BYTES: Final = 8
_NOTHING_EXPECTED: Final = (-1, -1, -1)
"""Offset, epoch and time: the first batch is yielded by itself."""


class SegmentFound(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The next segment, before it is opened.

    Listeners read the files beside it now. A running node writes them after the segment, so they never reach beyond it.
    """

    file: str
    base_offset: int
    is_last: bool


class SegmentOpened(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A segment was opened. `handle` stays open until the segment's last event.

    `first_offset`: from the segment's first bytes; None if there are too few.
    """

    first_offset: int | None
    size: int
    handle: FileHandle


class SegmentUnreadable(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A segment that cannot be read, at all or from some position on."""

    file: str
    base_offset: int
    error: OSError


class SegmentClosed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A segment was read to its end.

    `sound_end`: one past the last byte of an intact batch. `read_end`: one past the last byte of a batch or of damage.
    Only zeros follow, up to `size`.
    """

    file: str
    size: int
    sound_end: int
    read_end: int


LogEvent: TypeAlias = SegmentFound | SegmentOpened | Seen | SegmentUnreadable | SegmentClosed


class LogListener(Protocol):
    """Receives the events of one pass."""

    def on_event(self, event: LogEvent) -> None:
        """Handle the next event. An OSError makes the rest of the segment unreadable."""


class LogReader:
    """Reads segments in order. Lazy: memory does not grow with the log. Neighbouring batches share one buffer.

    Args:
        segments: the paths, in the order of the log.
        start: the position in the first segment at which a batch begins.
        end: the position in the last segment up to which to read; None: to its end.
    """

    def __init__(self, files: Files, segments: Sequence[str], *, start: int = 0, end: int | None = None) -> None:
        self._files = files
        self._segments = segments
        self._start = start
        self._end = end
        self._expected = _NOTHING_EXPECTED
        self._marks = NO_MARKS

    def expect(self, *, offset: int, epoch: int, time_ms: int, marks: Marks) -> None:
        """Set the offset, epoch and time that the segment should begin with. Call it at `SegmentOpened`.

        A NoOp run may begin with the segment's first batch if that continues from these values. A NoOp at one of
        `marks` is yielded by itself.
        """
        self._expected, self._marks = (offset, epoch, time_ms), marks

    def read(self, *listeners: LogListener) -> None:
        """Pass every event to each listener, in the listeners' order."""
        for number, path in enumerate(self._segments):
            try:
                with closing(self._segment(number, runs=True)) as events:
                    for event in events:
                        _hand(event, listeners)
            except OSError as error:
                _hand(SegmentUnreadable(file=path, base_offset=_base_of(path), error=error), listeners)

    def events(self, *, runs: bool = True) -> Iterator[LogEvent]:
        """Yield every event. If `runs` is False, each NoOp is yielded by itself."""
        for number, path in enumerate(self._segments):
            try:
                yield from self._segment(number, runs=runs)
            except OSError as error:
                yield SegmentUnreadable(file=path, base_offset=_base_of(path), error=error)

    def seen(self, *, runs: bool = False, past_removed: bool = False) -> Generator[Seen, None, None]:
        """Yield batches and damage, and NoOp runs if `runs`.

        `past_removed`: skip segments that a running node has removed meanwhile.

        Raises:
            OSError: a segment cannot be read.
        """
        for event in self.events(runs=runs):
            if isinstance(event, LocatedBatch):
                yield event
            elif isinstance(event, SegmentUnreadable):
                if not past_removed or not isinstance(event.error, FileNotFoundError):
                    raise event.error
            elif not isinstance(event, SegmentFound | SegmentOpened | SegmentClosed):
                yield event

    def batches(self, *, past_removed: bool = False) -> Generator[LocatedBatch, None, None]:
        """Yield the intact batches alone, each NoOp by itself.

        Raises:
            OSError: see `seen`.
        """
        for found in self.seen(past_removed=past_removed):
            if isinstance(found, LocatedBatch):
                yield found

    def _segment(self, number: int, *, runs: bool) -> Generator[LogEvent, None, None]:
        path, is_last = self._segments[number], number == len(self._segments) - 1
        start = self._start if number == 0 else 0
        self._expected, self._marks = _NOTHING_EXPECTED, NO_MARKS
        yield SegmentFound(file=path, base_offset=_base_of(path), is_last=is_last)
        with closing(self._files.open(path, read_only=True)) as handle:
            first = handle.pread(_OFFSET_BYTES, start)
            size = handle.size()
            first_offset = int.from_bytes(first, "big") if len(first) == _OFFSET_BYTES else None
            yield SegmentOpened(first_offset=first_offset, size=size, handle=handle)
            end = self._end if is_last and self._end is not None else size
            sound_end = read_end = start
            for seen in self._walk(handle, start, end) if runs else scan(handle, start, end):
                yield seen
                if isinstance(seen, LocatedBatch):
                    sound_end = read_end = seen.position + seen.header.size_in_bytes
                elif isinstance(seen, Damage):
                    read_end = seen.end
                else:
                    sound_end = read_end = seen.end_position
            yield SegmentClosed(file=path, size=size, sound_end=sound_end, read_end=read_end)

    def _walk(self, handle: FileHandle, start: int, end: int) -> Iterator[Seen]:
        offset, epoch, time_ms = self._expected
        return walk(handle, start, end, offset=offset, epoch=epoch, time_ms=time_ms, marks=self._marks)


def _hand(event: LogEvent, listeners: Sequence[LogListener]) -> None:
    for listener in listeners:
        listener.on_event(event)


def _base_of(path: str) -> int:
    return int(path.rpartition("/")[2][:_BASE_DIGITS])
