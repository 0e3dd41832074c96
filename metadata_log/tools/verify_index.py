"""Whether a segment's `.index` and `.timeindex` are the log's.

Decides: which entries fit the batches. Must not know: what the batches hold. An index only says where to begin to
read, so that a wrong one makes reads fail or wrong without damage to the log.

Kafka writes an entry for each append, which may hold several batches (always, before 4.0): the position of the first,
the last offset of the last. While it runs the files have zeros at their end.
"""

from __future__ import annotations

import struct
from array import array
from typing import Final

from metadata_log.segment import LocatedBatch
from metadata_log.tools.finding_sink import FindingSink
from metadata_log.tools.scan import Damage
from metadata_log.tools.walk import Marks, Seen

_INDEX_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


class IndexCheck:
    """The two indexes of one segment. Give it all that `walk` sees with its `marks`, then `finish`.

    Args:
        index, time_index: path and content; None where there is no such file.
    """

    def __init__(
        self,
        sink: FindingSink,
        base: int,
        index: tuple[str, bytes] | None,
        time_index: tuple[str, bytes] | None,
    ) -> None:
        self._sink = sink
        self._files = {"index": index, "time": time_index}
        self._positions, self._offsets = array("q"), array("q")
        self._times, self._time_offsets = array("q"), array("q")
        self._at_position = self._at_offset = self._at_time = 0
        self._max_timestamp = -1
        self._is_broken = False
        if index is not None:
            self._read(index, _INDEX_ENTRY, self._offsets, self._positions, base)
        if time_index is not None:
            self._read(time_index, _TIME_ENTRY, self._times, self._time_offsets, 0)
            self._time_offsets = array("q", (base + offset for offset in self._time_offsets))

    def _read(
        self, file: tuple[str, bytes], entry: struct.Struct, first: array[int], second: array[int], base: int
    ) -> None:
        """The entries up to the zeros; each must be greater than the one before in both its numbers."""
        path, data = file
        whole = len(data) - len(data) % entry.size
        previous = (-1, -1)
        for number, found in enumerate(entry.iter_unpack(memoryview(data)[:whole])):
            one, other = found
            if not one and not other:
                break
            is_rising = one > previous[0] and other > previous[1]
            if not is_rising and not (entry is _TIME_ENTRY and one > previous[0] and other == previous[1]):
                what = f"entry {number} ({one}, {other}) comes after ({previous[0]}, {previous[1]})"
                self._wrong(path, what, number * entry.size, None)
                break
            previous = (one, other)
            first.append(base + one)
            second.append(other)
        else:
            if whole != len(data):
                what = f"its {len(data)} bytes are not whole entries of {entry.size}"
                self._wrong(path, what, whole, None)

    @property
    def marks(self) -> Marks:
        """Where the walk has to show the batches."""
        return Marks(
            positions=array("q", sorted(set(self._positions))),
            offsets=array("q", sorted({*self._offsets, *self._time_offsets})),
        )

    def on_seen(self, seen: Seen) -> None:
        """Take the next of the segment. Behind damage nothing is judged."""
        if self._is_broken:
            return
        if isinstance(seen, Damage):
            self._is_broken = True
        elif isinstance(seen, LocatedBatch):
            header = seen.header
            self._max_timestamp = max(self._max_timestamp, header.max_timestamp)
            self._check_positions(seen)
            self._check_offsets(header.base_offset, header.last_offset, seen.position)
            self._check_times(header.last_offset)
        else:
            self._max_timestamp = max(self._max_timestamp, seen.max_timestamp)

    def stop(self) -> None:
        """The batches are out of order from here on: judge no more."""
        self._is_broken = True

    def finish(self, end_position: int) -> None:
        """The segment ends at this byte."""
        for key, at, places in (("index", self._at_position, self._positions), ("time", self._at_time, self._times)):
            file = self._files[key]
            if file is None or self._is_broken or at >= len(places):
                continue
            size = _INDEX_ENTRY.size if key == "index" else _TIME_ENTRY.size
            offsets = self._offsets if key == "index" else self._time_offsets
            what = f"entry {at} is for offset {offsets[at]}, past the segment's end at position {end_position}"
            self._wrong(file[0], what, at * size, offsets[at])

    def _check_positions(self, batch: LocatedBatch) -> None:
        positions = self._positions
        while self._at_position < len(positions) and positions[self._at_position] <= batch.position:
            number = self._at_position
            self._at_position += 1
            if positions[number] != batch.position:
                what = f"entry {number} points to position {positions[number]}, where no batch begins"
                self._wrong_entry(number, what)
            elif self._offsets[number] < batch.header.base_offset:
                what = (
                    f"entry {number} has offset {self._offsets[number]} at position {batch.position}, where offset "
                    f"{batch.header.base_offset} begins"
                )
                self._wrong_entry(number, what)

    def _check_offsets(self, first: int, last: int, position: int) -> None:
        offsets = self._offsets
        while self._at_offset < len(offsets) and offsets[self._at_offset] <= last:
            number = self._at_offset
            self._at_offset += 1
            if offsets[number] != last:
                what = f"entry {number} has offset {offsets[number]}, with which no batch ends"
                self._wrong_entry(number, what)
            elif self._positions[number] > position:
                what = f"entry {number} has offset {last} at position {self._positions[number]}; it is at {position}"
                self._wrong_entry(number, what)

    def _check_times(self, last: int) -> None:
        while self._at_time < len(self._times) and self._time_offsets[self._at_time] <= last:
            number = self._at_time
            self._at_time += 1
            file = self._files["time"]
            if self._times[number] != self._max_timestamp and file is not None:
                what = (
                    f"entry {number} says that up to offset {self._time_offsets[number]} the greatest timestamp is "
                    f"{self._times[number]}; it is {self._max_timestamp}"
                )
                self._wrong(file[0], what, number * _TIME_ENTRY.size, self._time_offsets[number])

    def _wrong_entry(self, number: int, what: str) -> None:
        file = self._files["index"]
        if file is not None:
            self._wrong(file[0], what, number * _INDEX_ENTRY.size, self._offsets[number])

    def _wrong(self, path: str, what: str, position: int, offset: int | None) -> None:
        self._sink.add("index_wrong", what, group=path, file=path, position=position, offset=offset)
