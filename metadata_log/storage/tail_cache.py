"""The newest batches in memory, for followers' Fetches and for batches that are staged but not yet written.

Decides: which batches are dropped. Must not know: files. A batch that the writer has not written yet is never dropped,
whatever the limit: the file does not have it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import msgspec

from metadata_log.offsets import Offset
from metadata_log.storage.write_ops import WriteOp

_OVERHEAD: Final = 128
"""The bytes counted for each batch in addition to its data: objects and slots."""
_COMPACT_AT: Final = 1024


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place of a batch: its first offset, its segment, and its position in the segment's file."""

    base_offset: Offset
    segment_base: Offset
    position: int


class TailCache:
    """Whole batches, from `start_offset` to the log's end."""

    def __init__(self, limit_bytes: int, log_end_offset: Offset) -> None:
        self._limit_bytes = limit_bytes
        self._end = log_end_offset
        self._bases: list[Offset] = []
        self._data: list[bytes] = []
        self._places: list[tuple[Offset, int]] = []
        self._ops: list[WriteOp] = []
        self._first = 0
        self._size = 0

    @property
    def start_offset(self) -> Offset:
        """The first offset in the cache, or the log's end if it is empty."""
        return self._bases[self._first] if self._first < len(self._bases) else self._end

    def append(self, place: Place, next_offset: Offset, data: bytes, op: WriteOp) -> None:
        """Add the batch at the log's end, and drop the oldest written ones while the size is above the limit."""
        self._bases.append(place.base_offset)
        self._data.append(data)
        self._places.append((place.segment_base, place.position))
        self._ops.append(op)
        self._end = next_offset
        self._size += len(data) + _OVERHEAD
        while self._size > self._limit_bytes and self._ops[self._first].executed:
            self._size -= len(self._data[self._first]) + _OVERHEAD
            self._data[self._first] = b""
            self._first += 1
        if self._first > _COMPACT_AT and self._first * 2 > len(self._bases):
            for column in (self._bases, self._data, self._places, self._ops):
                del column[: self._first]
            self._first = 0

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Return whole batches from the one with `offset`, which must be in the cache: at least one."""
        index = bisect_right(self._bases, offset, lo=self._first) - 1
        total = len(self._data[index])
        after = index + 1
        while after < len(self._data) and (total := total + len(self._data[after])) <= max_bytes:
            after += 1
        return self._data[index] if after == index + 1 else b"".join(self._data[index:after])

    def place_of(self, offset: Offset) -> Place:
        """Return the place of the batch with `offset`, which must be in the cache."""
        index = bisect_right(self._bases, offset, lo=self._first) - 1
        segment_base, position = self._places[index]
        return Place(base_offset=self._bases[index], segment_base=segment_base, position=position)

    def truncate(self, end_offset: Offset) -> None:
        """Drop every batch from `end_offset`, a batch boundary, on."""
        while len(self._bases) > self._first and self._bases[-1] >= end_offset:
            self._size -= len(self._data.pop()) + _OVERHEAD
            self._bases.pop()
            self._places.pop()
            self._ops.pop()
        self._end = end_offset
