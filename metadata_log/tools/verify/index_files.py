"""Checks that the entries of a segment's `.index` and `.timeindex` fit its batches.

Must not know: records, and what an entry past the log's end proves (`log_extent`). An index only says where a reader
begins. So a wrong index makes reads fail, or return wrong records, though the log itself is undamaged.

Kafka writes one entry for an append (before 4.0 in every case), which may hold several batches. The entry has the
position of the first batch and the last offset of the last. While a node runs, the files have their full size, with
zeros at the end.

A truncation leaves old entries in the active segment's indexes. Kafka does not overwrite them:
`AbstractIndex.truncateToEntries0` in 4.3 sets only the count and the position, and `resize` changes nothing if the file
has its full size already. The old entries remain until new ones overwrite them, or the node closes the files and cuts
them to the valid entries. After a kill, the next start rebuilds the files.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files, read_small_file
from metadata_log.storage.segment import LocatedBatch, segment_file
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.fast_scan import Marks, Seen
from metadata_log.tools.read.scan import Damage

_SUFFIXES: Final = (".index", ".timeindex")
_INDEX_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_MOST_BYTES: Final = 1 << 24
"""An upper bound of the bytes between two entries: an interval (4 KiB) and an append (at most 8 MiB, Kafka 4.3)."""
_MOST_RECORDS: Final = _MOST_BYTES // 7
"""An upper bound of the records between two entries: a record takes at least 7 bytes."""
_LAST_TIME: Final = 253_402_300_800_000
"""The start of the year 10000 in ms: no clock shows it."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An index entry past the log's end, which shows that the log once reached `reach` (exclusive).

    Attributes:
        is_open: the file still has its full size, so the entry may be of a truncated tail.
        is_older: the entry's time is before the log's greatest, so it is of a truncated tail.
    """

    file: str
    reach: int
    is_open: bool
    is_older: bool = False


class _Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fault of one entry, or of the bytes in its place."""

    number: int
    position: int
    offset: int | None
    what: str


class _Index:
    """One file's entries and their faults. `is_open`: the file still has its full size, with zeros at the end."""

    def __init__(self, path: str, data: bytes, entry: struct.Struct) -> None:
        self.path = path
        self.is_open = len(data) >= entry.size and not any(data[-entry.size :])
        self.size = entry.size
        self.entries = 0
        self.is_misread = False
        self.faults: list[_Fault] = []

    def add(self, number: int, offset: int | None, what: str) -> None:
        self.faults.append(_Fault(number=number, position=number * self.size, offset=offset, what=what))

    def remnant_from(self) -> int:
        """Return the number of the entry from which on all are wrong; one past the last if the last one fits."""
        wrong = {fault.number for fault in self.faults}
        number = max(self.entries, *(fault + 1 for fault in wrong), 0) if wrong else self.entries
        while number - 1 in wrong:
            number -= 1
        return number


def _read(
    file: _Index, data: bytes, entry: struct.Struct, first: array[int], second: array[int], base: int = 0
) -> None:
    """Read the entries up to the zeros; each must be greater than the one before in both numbers.

    In a time index the offset may repeat: Kafka notes a later time for the same offset as it closes the file.
    """
    whole = len(data) - len(data) % entry.size
    previous = (-1, -1)
    for number, found in enumerate(entry.iter_unpack(memoryview(data)[:whole])):
        one, other = found
        if not one and not other:
            break
        is_rising = one > previous[0] and other > previous[1]
        if not is_rising and not (entry is _TIME_ENTRY and one > previous[0] and other == previous[1]):
            what = f"entry {number} ({one}, {other}) comes after ({previous[0]}, {previous[1]})"
            file.add(number, None, what)
            file.is_misread = True
            break
        previous = (one, other)
        first.append(base + one)
        second.append(other)
    else:
        if whole != len(data):
            what = f"its {len(data)} bytes are not whole entries of {entry.size}"
            file.add(whole // entry.size, None, what)
            file.is_misread = True
    file.entries = len(first)


def read_indexes(files: Files, directory: str, base: int, sink: FindingSink) -> list[tuple[str, bytes] | None]:
    """Return the path and content of a segment's `.index` and `.timeindex`; None for one that cannot be read."""
    return [_content(files, f"{directory}/{segment_file(base, suffix)}", base, sink) for suffix in _SUFFIXES]


def _content(files: Files, path: str, base: int, sink: FindingSink) -> tuple[str, bytes] | None:
    if not files.exists(path):
        return None
    try:
        return path, read_small_file(files, path)
    except CorruptFileError as error:
        sink.add("index_wrong", error.what, file=path, position=0, offset=base)
        return None
    except OSError as error:
        sink.add_unreadable(path, error)
        return None


def _impossible(
    offsets: array[int], positions: array[int] | None, times: array[int] | None, end: tuple[int, int]
) -> int | None:
    """Return the number of the first entry past `end` that no log can have had, or None.

    Entries are at most an interval and an append apart. So an entry far past the log's end, with none between, is not
    of a log that was cut.

    Args:
        end: the log's end offset and position.
    """
    previous, at = end
    for number, offset in enumerate(offsets):
        if offset < end[0]:
            continue
        if offset - previous > _MOST_RECORDS:
            return number
        if positions is not None and positions[number] - at > _MOST_BYTES:
            return number
        if times is not None and times[number] > _LAST_TIME:
            return number
        previous, at = offset, at if positions is None else positions[number]
    return None


def orphan_reach(path: str, data: bytes) -> int:
    """Return the offset, relative to its base, that an index without its segment reaches; 0 if it is corrupt."""
    is_time = path.endswith(".timeindex")
    entry = _TIME_ENTRY if is_time else _INDEX_ENTRY
    file, first, second = _Index(path, data, entry), array("q"), array("q")
    _read(file, data, entry, first, second)
    offsets = second if is_time else first
    wrong = _impossible(offsets, None if is_time else second, first if is_time else None, (0, 0))
    return offsets[-1] + 1 if offsets and not file.is_misread and wrong is None else 0


class IndexCheck:
    """The check of one segment's two indexes. The caller passes each event of `fast_scan`, then calls `finish`.

    Args:
        index, time_index: path and content; None if there is no such file.
        is_last: True for the last segment, the only one that a node appends to and truncates.
    """

    def __init__(
        self,
        sink: FindingSink,
        base: int,
        index: tuple[str, bytes] | None,
        time_index: tuple[str, bytes] | None,
        *,
        is_last: bool = False,
    ) -> None:
        self._sink = sink
        self._is_last = is_last
        self._index = None if index is None else _Index(*index, _INDEX_ENTRY)
        self._time_index = None if time_index is None else _Index(*time_index, _TIME_ENTRY)
        self._positions, self._offsets = array("q"), array("q")
        self._times, self._time_offsets = array("q"), array("q")
        self._at_position = self._at_offset = self._at_time = 0
        self._max_timestamp = -1
        self._is_broken = False
        if self._index is not None and index is not None:
            _read(self._index, index[1], _INDEX_ENTRY, self._offsets, self._positions, base)
        if self._time_index is not None and time_index is not None:
            _read(self._time_index, time_index[1], _TIME_ENTRY, self._times, self._time_offsets)
            self._time_offsets = array("q", (base + offset for offset in self._time_offsets))

    @property
    def marks(self) -> Marks:
        """The positions and offsets at which the scan must yield single batches, not runs."""
        return Marks(
            positions=array("q", sorted(set(self._positions))),
            offsets=array("q", sorted({*self._offsets, *self._time_offsets})),
        )

    def closed_reach(self, end_offset: int, end_position: int) -> int:
        """Return the offset (exclusive) that closed indexes prove for a log that now ends there; 0 if none is closed.

        A node that closes an index cuts it to the valid entries, so a closed one holds none of a truncated tail.
        """
        end, reach = (end_offset, end_position), 0
        if self._index is not None and not self._index.is_open and self._impossible_index(end) is None:
            reach = self._offsets[-1] + 1 if self._offsets and not self._index.is_misread else 0
        is_time_known = self._impossible_time(end) is None and not self._is_of_no_later_batch()
        if self._time_index is not None and not self._time_index.is_open and is_time_known:
            reach = max(
                reach, self._time_offsets[-1] + 1 if self._time_offsets and not self._time_index.is_misread else 0
            )
        return reach

    def _impossible_index(self, end: tuple[int, int]) -> int | None:
        return _impossible(self._offsets, self._positions, None, end)

    def _impossible_time(self, end: tuple[int, int]) -> int | None:
        return _impossible(self._time_offsets, None, self._times, end)

    def _is_of_no_later_batch(self) -> bool:
        """Return True if the last entry of a closed time index has the greatest time of the segment's batches.

        Kafka notes the offset that first reached the greatest time, also as it closes the file. An entry for a batch
        behind the log's end would have a later time. So the entry's offset is wrong, and proves no lost record.
        """
        is_closed = self._time_index is not None and not self._time_index.is_open and bool(self._times)
        return is_closed and not self._is_broken and self._times[-1] == self._max_timestamp

    def _claims(self, end_offset: int, end_position: int) -> Iterator[Claim]:
        """Yield a claim for each file whose last entry is past the log's end; a corrupt file gets a fault instead."""
        index, time_index, end = self._index, self._time_index, (end_offset, end_position)
        if index is not None and self._offsets and self._offsets[-1] >= end_offset:
            wrong = self._impossible_index(end)
            if wrong is not None:
                what = f"entry {wrong} ({self._offsets[wrong]}, {self._positions[wrong]}) is of no log that ends"
                self._wrong(index, wrong, self._offsets[wrong], f"{what} at {end_offset}, position {end_position}")
            elif self._positions[-1] < end_position:
                what = f"entry {len(self._offsets) - 1} is for offset {self._offsets[-1]}; the log ends at {end_offset}"
                self._wrong(index, len(self._offsets) - 1, self._offsets[-1], what)
            elif not index.is_misread:
                yield Claim(file=index.path, reach=self._offsets[-1] + 1, is_open=index.is_open)
        if time_index is not None and self._time_offsets and self._time_offsets[-1] >= end_offset:
            wrong = self._impossible_time(end)
            if wrong is not None:
                what = f"entry {wrong} ({self._times[wrong]}, {self._time_offsets[wrong]}) is of no log that ends"
                self._wrong(time_index, wrong, self._time_offsets[wrong], f"{what} at {end_offset}")
            elif self._is_of_no_later_batch():
                what = (
                    f"entry {len(self._times) - 1} says that the time {self._times[-1]} was reached at offset "
                    f"{self._time_offsets[-1]}; the log ends at {end_offset}, and has it before that"
                )
                self._wrong(time_index, len(self._times) - 1, self._time_offsets[-1], what)
            elif not time_index.is_misread:
                yield Claim(
                    file=time_index.path,
                    reach=self._time_offsets[-1] + 1,
                    is_open=time_index.is_open,
                    is_older=self._times[-1] < self._max_timestamp,
                )

    def on_seen(self, seen: Seen, *, in_order: bool) -> None:
        """Check the entries for the next event. Behind damage, or a batch out of order, none is judged."""
        if self._is_broken:
            return
        if not in_order or isinstance(seen, Damage):
            self._is_broken = True
        elif isinstance(seen, LocatedBatch):
            header = seen.header
            self._max_timestamp = max(self._max_timestamp, header.max_timestamp)
            self._check_positions(seen)
            self._check_offsets(header.base_offset, header.last_offset, seen.position)
            self._check_times(header.last_offset)
        else:
            self._max_timestamp = max(self._max_timestamp, seen.max_timestamp)

    def finish(self, end_offset: int, end_position: int) -> list[Claim]:
        """Add the findings, and return the claims: entries past the end of the last segment."""
        claims = list(self._claims(end_offset, end_position)) if self._is_last else []
        if not self._is_broken and not self._is_last:
            for file, at, offsets in (
                (self._index, self._at_offset, self._offsets),
                (self._time_index, self._at_time, self._time_offsets),
            ):
                for number in range(at, len(offsets) if file is not None else 0):
                    what = f"entry {number} is for offset {offsets[number]}, past the segment's end at {end_offset}"
                    self._wrong(file, number, offsets[number], what)
        for file in (self._index, self._time_index):
            if file is not None:
                self._say(file)
        return claims

    def _say(self, file: _Index) -> None:
        may_remain = self._is_last and file.is_open
        remnant = file.remnant_from() if may_remain else file.entries + 1
        left = [fault for fault in file.faults if fault.number >= remnant and may_remain]
        for fault in file.faults:
            if fault not in left:
                self._sink.add(
                    "index_wrong",
                    fault.what,
                    group=file.path,
                    file=file.path,
                    position=fault.position,
                    offset=fault.offset,
                )
        if left:
            what = f"from entry {remnant} on it is of records that a truncation cut off: {left[0].what}"
            self._sink.add("index_remnant", what, file=file.path, position=left[0].position, offset=left[0].offset)

    def _check_positions(self, batch: LocatedBatch) -> None:
        positions, offsets = self._positions, self._offsets
        while self._at_position < len(positions) and positions[self._at_position] <= batch.position:
            number = self._at_position
            self._at_position += 1
            base = batch.header.base_offset
            if positions[number] != batch.position:
                what = f"entry {number} points to position {positions[number]}, where no batch begins"
                self._wrong(self._index, number, offsets[number], what)
                continue
            if offsets[number] < base:
                what = (
                    f"entry {number} has offset {offsets[number]} at position {batch.position}, where offset {base} "
                    "begins"
                )
                self._wrong(self._index, number, offsets[number], what)
            if number and offsets[number - 1] >= base:  # one append ends before the next begins
                what = (
                    f"entry {number - 1} has offset {offsets[number - 1]}, but offset {base} begins at position "
                    f"{batch.position} already, where the next entry is"
                )
                self._wrong(self._index, number - 1, offsets[number - 1], what)

    def _check_offsets(self, first: int, last: int, position: int) -> None:
        offsets = self._offsets
        while self._at_offset < len(offsets) and offsets[self._at_offset] <= last:
            number = self._at_offset
            self._at_offset += 1
            if offsets[number] != last:
                what = f"entry {number} has offset {offsets[number]}, with which no batch ends"
                self._wrong(self._index, number, offsets[number], what)
            elif self._positions[number] > position:
                what = f"entry {number} has offset {last} at position {self._positions[number]}; it is at {position}"
                self._wrong(self._index, number, offsets[number], what)

    def _check_times(self, last: int) -> None:
        while self._at_time < len(self._times) and self._time_offsets[self._at_time] <= last:
            number = self._at_time
            self._at_time += 1
            if self._times[number] != self._max_timestamp:
                what = (
                    f"entry {number} says that up to offset {self._time_offsets[number]} the greatest timestamp is "
                    f"{self._times[number]}; it is {self._max_timestamp}"
                )
                self._wrong(self._time_index, number, self._time_offsets[number], what)

    @staticmethod
    def _wrong(file: _Index | None, number: int, offset: int | None, what: str) -> None:
        if file is not None and all(fault.number != number for fault in file.faults[-2:]):
            file.add(number, offset, what)
