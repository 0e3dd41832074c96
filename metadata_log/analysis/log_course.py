"""The course of one log for the report: its end at each time, its records by type, and changes of topics.

Decides: how much of it is kept, which does not grow with the log. Must not know: Spark, or the faults of the log.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, Generic, TypeVar

import msgspec

from metadata_log.errors import CorruptBatchError, RecordError
from metadata_log.format.batch import batch_records, batch_values
from metadata_log.records import NoOpRecord, RemoveTopicRecord, TopicRecord, decode_record
from metadata_log.records.registry import CONTROL_RECORDS, METADATA_RECORDS
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.fast_scan import NoOpRun
from metadata_log.tools.read.log_reader import LogEvent

_POINTS: Final = 160
"""The width of a picture in points; of each epoch at most twice as many are kept."""
_UNREADABLE: Final = "unreadable"
_FRAME: Final = 1
_FRAME_BYTES: Final = 3
_ONE_BYTE: Final = 0x80
_Entry = TypeVar("_Entry")


class Progress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a log at a time."""

    at_ms: int
    end_offset: int
    epoch: int


class EpochTimes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The times of the first and the last batch of an epoch, in ms since 1970; -1 if no batch has a time."""

    first_ms: int
    last_ms: int


class TopicChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Topics that were created, or deleted, close together: their count, and the first and last name."""

    is_creation: bool
    at_ms: int
    offset: int
    first: str
    last: str
    count: int

    def and_then(self, later: TopicChange) -> TopicChange:
        """Return both as one."""
        return msgspec.structs.replace(self, last=later.last, count=self.count + later.count)


class LogCourse(msgspec.Struct, frozen=True, kw_only=True):
    """The course of one log. `times` are by epoch."""

    progress: tuple[Progress, ...] = ()
    times: dict[int, EpochTimes] = {}
    records_by_type: tuple[tuple[str, int], ...] = ()
    topics: tuple[TopicChange, ...] = ()


class _Thinned(Generic[_Entry]):
    """Entries by time. Close ones are joined, with a growing distance as the log gets longer.

    Entries with different keys are never joined.
    """

    def __init__(self, time_of: Callable[[_Entry], int], join: Callable[[_Entry, _Entry], _Entry]) -> None:
        self._time_of, self._join = time_of, join
        self._entries: dict[tuple[int, int], _Entry] = {}
        self._width_ms, self._most = 1, 2 * _POINTS

    def add(self, key: int, entry: _Entry) -> None:
        self._put(key, entry)
        if len(self._entries) > self._most:
            self._width_ms *= 2
            former, self._entries = self._entries, {}
            for (of, _), each in former.items():
                self._put(of, each)
            self._most = max(self._most, len(self._entries) + _POINTS)

    def _put(self, key: int, entry: _Entry) -> None:
        place = (key, self._time_of(entry) // self._width_ms)
        known = self._entries.get(place)
        self._entries[place] = entry if known is None else self._join(known, entry)

    def of_width(self, width_ms: int) -> Iterator[_Entry]:
        """Yield the entries after those within `width_ms` are joined."""
        self._width_ms = max(self._width_ms, width_ms)
        former, self._entries = self._entries, {}
        for (key, _), each in former.items():
            self._put(key, each)
        yield from self._entries.values()


class CourseReading:
    """Follows one pass over a log, and keeps the points for the report."""

    def __init__(self) -> None:
        self._progress = _Thinned[Progress](lambda point: point.at_ms, _further)
        self._topics = _Thinned[TopicChange](lambda change: change.at_ms, TopicChange.and_then)
        self._times: dict[int, EpochTimes] = {}
        self._types: Counter[str] = Counter()

    def on_event(self, event: LogEvent) -> None:
        """Take the next event; batches and runs of NoOps count."""
        if isinstance(event, NoOpRun):
            self._types[_NO_OP] += event.count
            self._at(event.max_timestamp, event.end_offset, event.epoch)
        elif isinstance(event, LocatedBatch):
            self._on_batch(event)
            header = event.header
            self._at(header.max_timestamp, int(header.next_offset), int(header.partition_leader_epoch))

    def _at(self, at_ms: int, end_offset: int, epoch: int) -> None:
        if at_ms <= 0:  #   # Kafka writes -1 for no time; 0 is 1970
            self._times.setdefault(epoch, EpochTimes(first_ms=-1, last_ms=-1))
            return
        self._progress.add(epoch, Progress(at_ms=at_ms, end_offset=end_offset, epoch=epoch))
        known = self._times.get(epoch)
        if known is None or known.first_ms < 0:
            self._times[epoch] = EpochTimes(first_ms=at_ms, last_ms=at_ms)
        else:
            self._times[epoch] = EpochTimes(first_ms=min(known.first_ms, at_ms), last_ms=max(known.last_ms, at_ms))

    def _on_batch(self, batch: LocatedBatch) -> None:
        header = batch.header
        try:
            if header.is_control:
                records = batch_records(batch.buffer, header, batch.at)
                self._types.update(_control_type(record.key or b"") for record in records)
                return
            values = batch_values(batch.buffer, header, batch.at)
        except CorruptBatchError:
            self._types[_UNREADABLE] += 1
            return
        types = [_type_of_frame(value[:_FRAME_BYTES]) for value in values]
        self._types.update(types)
        if _OF_TOPICS.isdisjoint(types):
            return
        for offset, (name, value) in enumerate(zip(types, values, strict=True), int(header.base_offset)):
            if name in _OF_TOPICS:
                self._on_topic(value, offset, header.max_timestamp)

    def _on_topic(self, value: bytes, offset: int, at_ms: int) -> None:
        with contextlib.suppress(RecordError):  #   # the check reports an unreadable record
            record = decode_record(value)
            if at_ms > 0 and isinstance(record, TopicRecord | RemoveTopicRecord):
                is_creation = isinstance(record, TopicRecord)
                name = record.name if isinstance(record, TopicRecord) else ""
                change = TopicChange(
                    is_creation=is_creation, at_ms=at_ms, offset=offset, first=name, last=name, count=1
                )
                self._topics.add(int(is_creation), change)

    def course(self) -> LogCourse:
        """Return the course of the log so far."""
        known = [times for times in self._times.values() if times.first_ms > 0]
        span = max((one.last_ms for one in known), default=0) - min((one.first_ms for one in known), default=0)
        points = sorted(self._progress.of_width(1), key=lambda point: (point.at_ms, point.end_offset))
        topics = sorted(self._topics.of_width(span // _POINTS), key=lambda change: (change.at_ms, change.offset))
        types = sorted(self._types.items(), key=lambda pair: (-pair[1], pair[0]))
        return LogCourse(progress=tuple(points), times=self._times, records_by_type=tuple(types), topics=tuple(topics))


def _further(one: Progress, other: Progress) -> Progress:
    return max(one, other, key=lambda point: (point.end_offset, point.at_ms))


def _name_of(record: type) -> str:
    return record.__name__.removesuffix("Record").removesuffix("Message")


_NO_OP: Final = _name_of(NoOpRecord)
_OF_TOPICS: Final = frozenset({_name_of(TopicRecord), _name_of(RemoveTopicRecord)})
_TYPES: Final = {key: _name_of(record) for key, record in METADATA_RECORDS.items()}
_CONTROL_TYPES: Final = {number: _name_of(record) for number, record in CONTROL_RECORDS.items()}


@lru_cache(1 << 10)
def _type_of_frame(frame: bytes) -> str:
    if len(frame) < _FRAME_BYTES or frame[0] != _FRAME:
        return _UNREADABLE
    key = frame[1] if frame[1] < _ONE_BYTE else frame[1] % _ONE_BYTE + frame[2] * _ONE_BYTE
    return _TYPES.get(key) or f"type {key}"


def _control_type(key: bytes) -> str:
    number = int.from_bytes(key[2:4], "big", signed=True)
    return _CONTROL_TYPES.get(number) or f"type {number}"
