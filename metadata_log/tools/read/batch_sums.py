"""Digests of a log's batches, one for each range of 4,096 offsets, and the ranges in which logs differ.

Decides: when two batches are the same (offsets, epoch, size and checksum). Followers append a leader's batches
unchanged. Must not know: which of two batches is right.

A range costs 36 bytes, however many batches it has. Batches are read again only from ranges that differ.
"""

from __future__ import annotations

import hashlib
import heapq
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from metadata_log.files.port import FileHandle, Files
from metadata_log.format.batch import (
    CRC_COVERS_FROM,
    CRC_POSITION,
    HEADER_SIZE,
    LARGEST_BATCH,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
)
from metadata_log.format.crc import crc32c
from metadata_log.storage.no_ops import NO_OP_BYTES
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.fast_scan import NoOpRun
from metadata_log.tools.read.log_reader import LogReader, SegmentFound, SegmentOpened, SegmentUnreadable
from metadata_log.tools.read.scan import Damage

RANGE_BITS: Final = 12
"""A range has 2 to the power of this many offsets."""
_DIGEST_BYTES: Final = 16
_SHAPE: Final = struct.Struct(">qqiii")
_HEADER: Final = struct.Struct(">qiibIhi")
_CRC: Final = struct.Struct(">I")
_COUNT: Final = struct.Struct(">I")
_NO_EPOCH: Final = -2

Summed: TypeAlias = tuple[int, int, int, int, int, str, int]
"""A batch: base offset, end offset (exclusive), epoch, checksum, size in bytes; its file and position."""


class BatchSums:
    """Digests of the batches of one log, in order. A batch whose offsets go back is skipped.

    A digest covers the checksums of a range's batches. It also covers the shape of each batch, except of a batch that
    has the size of a NoOp and continues the one before. So NoOps have the same digest in runs and one by one.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._segments: list[str] = []
        self._numbers = array("q")
        self._digests = bytearray()
        self._first_segments = array("i")
        self._positions = array("q")
        self._crcs = bytearray()
        self._shapes = bytearray()
        self._epoch = _NO_EPOCH
        self._end = -1
        self._shared: dict[BatchSums, bool] = {}

    @property
    def end(self) -> int:
        """Return one past the last offset, or -1 if the log has no batch."""
        return self._end

    def begin_segment(self, path: str) -> None:
        """Assign the following batches to this segment."""
        self._segments.append(path)

    def on_batch(self, header: BatchHeader, position: int) -> None:
        """Take the next batch."""
        base, end, epoch = int(header.base_offset), int(header.next_offset), int(header.partition_leader_epoch)
        self._take(base, end, epoch, header.crc, header.size_in_bytes, position)

    def on_damage(self, damage: Damage, handle: FileHandle) -> None:
        """Take the batches in a damaged range whose checksums are right, although the scan rejected them."""
        for base, end, epoch, crc, size, position in _sealed(handle, damage):
            self._take(base, end, epoch, crc, size, position)

    def _take(self, base: int, end: int, epoch: int, crc: int, size: int, position: int) -> None:
        if base < self._end:
            return
        self._come_to(base, position)
        if epoch != self._epoch or base != self._end or end != base + 1 or size != NO_OP_BYTES:
            self._shapes += _SHAPE.pack(base, end - base, epoch, size, len(self._crcs))
            self._epoch = epoch
        self._crcs += _CRC.pack(crc)
        self._end = end

    def on_run(self, run: NoOpRun) -> None:
        """Take a run of NoOps."""
        base, at, position = run.base_offset, run.at, run.position
        if base < self._end:
            passed = min(self._end - base, run.count)
            base, at, position = base + passed, at + passed * NO_OP_BYTES, position + passed * NO_OP_BYTES
        while base < run.end_offset:
            end = min(run.end_offset, (base >> RANGE_BITS) + 1 << RANGE_BITS)
            self._come_to(base, position)
            if run.epoch != self._epoch or base != self._end:
                self._shapes += _SHAPE.pack(base, 1, run.epoch, NO_OP_BYTES, len(self._crcs))
                self._epoch = run.epoch
            size = (end - base) * NO_OP_BYTES
            self._crcs += checksums(run.buffer, at, size)
            base, at, position, self._end = end, at + size, position + size, end

    def finish(self) -> None:
        """Close the last range, at the end of the log."""
        if self._crcs:
            digest = hashlib.blake2b(_COUNT.pack(len(self._shapes)), digest_size=_DIGEST_BYTES)
            digest.update(self._shapes)
            digest.update(self._crcs)
            self._digests += digest.digest()
            self._crcs.clear()
            self._shapes.clear()

    def _come_to(self, base: int, position: int) -> None:
        """Begin a range if `base` is the first offset in it."""
        number = base >> RANGE_BITS
        if self._numbers and self._numbers[-1] == number:
            return
        self.finish()
        self._numbers.append(number)
        self._first_segments.append(len(self._segments) - 1)
        self._positions.append(position)
        self._epoch = _NO_EPOCH

    def digests(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the digest of each range that has a batch, in ascending order."""
        for index, number in enumerate(self._numbers):
            yield number, self._digest_at(index)

    def batches(self, numbers: Iterable[int]) -> Iterator[Summed]:
        """Read the batches of these ranges again; `numbers` ascend. Ranges of removed segments are skipped.

        Raises:
            OSError: a segment cannot be read.
        """
        indexes = (index for index in map(self._index_of, numbers) if index is not None)
        for _, adjacent in groupby(enumerate(indexes), key=lambda item: item[1] - item[0]):
            run = [index for _, index in adjacent]
            yield from self._read(run[0], run[-1] + 1)

    def batch_from(self, offset: int) -> tuple[int, int] | None:
        """Return end and checksum of the first batch that ends after `offset`, or None.

        Raises:
            OSError: see `batches`.
        """
        if offset >= self._end:
            return None
        index = max(bisect_right(self._numbers, offset >> RANGE_BITS) - 2, 0)
        found = self._read(index, len(self._numbers))
        return next(((batch[1], batch[3]) for batch in found if batch[1] > offset), None)

    def shares_batch(self, other: BatchSums) -> bool:
        """Return True if both logs have the same batch at one offset at least.

        Raises:
            OSError: see `batches`.
        """
        if other not in self._shared:
            numbers = self._met_in(other)
            is_shown = any(self._digest(one) == other._digest(one) for one in numbers)
            until = min(self._end, other._end)
            self._shared[other] = is_shown or any(same for _, same in self._meetings(other, numbers, until))
        return self._shared[other]

    def first_difference(self, other: BatchSums, until: int) -> int | None:
        """Return the end of the first batch, up to offset `until`, that ends at one offset in both logs and differs, or
        None.

        Raises:
            OSError: see `batches`.
        """
        differ = [one for one in self._met_in(other) if self._digest(one) != other._digest(one)]
        return next((end for end, is_same in self._meetings(other, differ, until) if not is_same), None)

    def _meetings(self, other: BatchSums, numbers: Sequence[int], until: int) -> Iterator[tuple[int, bool]]:
        """Yield each offset up to `until` at which a batch of both logs ends, and True if the two batches are the
        same."""
        mine, theirs = self.batches(numbers), other.batches(numbers)
        left, right = next(mine, None), next(theirs, None)
        while left is not None and right is not None and max(left[1], right[1]) <= until:
            end, other_end = left[1], right[1]
            if end == other_end:
                yield end, left[3] == right[3]
            left = next(mine, None) if end <= other_end else left
            right = next(theirs, None) if other_end <= end else right

    def _met_in(self, other: BatchSums) -> list[int]:
        """Return the numbers of the ranges in which a batch of both may end at one offset."""
        if not self._numbers or not other._numbers:
            return []
        low, high = max(self._numbers[0], other._numbers[0]), min(self._numbers[-1], other._numbers[-1])
        found = set[int]()
        for numbers in (self._numbers, other._numbers):  # a batch may end in the range after the one that it begins in
            found.update(numbers[max(bisect_left(numbers, low) - 1, 0) : bisect_right(numbers, high) + 1])
        return sorted(found)

    def _index_of(self, number: int) -> int | None:
        index = bisect_left(self._numbers, number)
        return index if index < len(self._numbers) and self._numbers[index] == number else None

    def _digest(self, number: int) -> bytes | None:
        index = self._index_of(number)
        return None if index is None else self._digest_at(index)

    def _digest_at(self, index: int) -> bytes:
        return bytes(self._digests[index * _DIGEST_BYTES : (index + 1) * _DIGEST_BYTES])

    def _read(self, first: int, last: int) -> Iterator[Summed]:
        """Read the ranges of indexes `first` to `last` (exclusive) again."""
        until = self._numbers[last] << RANGE_BITS if last < len(self._numbers) else self._end
        segments, expected = self._segments[self._first_segments[first] :], -1
        for batch in _placed(LogReader(self._files, segments, start=self._positions[first])):
            if batch[0] >= until:
                return
            if batch[0] >= expected:
                expected = batch[1]
                yield batch


def ranges_apart(logs: Sequence[BatchSums]) -> Iterator[int]:
    """Yield, in ascending order, the numbers of the ranges in which two logs have batches, but not the same."""
    digests = heapq.merge(*(log.digests() for log in logs))
    for number, found in groupby(digests, key=itemgetter(0)):
        if len({digest for _, digest in found}) > 1:
            yield number


def _placed(reader: LogReader) -> Iterator[Summed]:
    path, handle = "", None
    for event in reader.events():
        if isinstance(event, LocatedBatch):
            header, base = event.header, int(event.header.base_offset)
            epoch, size = int(header.partition_leader_epoch), header.size_in_bytes
            yield base, int(header.next_offset), epoch, header.crc, size, path, event.position
        elif isinstance(event, NoOpRun):
            base, shift = event.base_offset, event.position - event.at
            for at in range(event.at, event.at + event.count * NO_OP_BYTES, NO_OP_BYTES):
                (crc,) = _CRC.unpack_from(event.buffer, at + CRC_POSITION)
                yield base, base + 1, event.epoch, crc, NO_OP_BYTES, path, shift + at
                base += 1
        elif isinstance(event, SegmentFound):
            path = event.file
        elif isinstance(event, SegmentOpened):
            handle = event.handle
        elif isinstance(event, Damage) and handle is not None:
            for *batch, position in _sealed(handle, event):
                yield batch[0], batch[1], batch[2], batch[3], batch[4], path, position
        elif isinstance(event, SegmentUnreadable) and not isinstance(event.error, FileNotFoundError):
            raise event.error


def _sealed(handle: FileHandle, damage: Damage) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Yield offsets, epoch, checksum, size and position of the batches at the start of damage whose checksums are
    right.

    Such batches have wrong counts or are compressed. Other replicas may hold the same ones.
    """
    position = damage.position
    while position < damage.end:
        header = handle.pread(HEADER_SIZE, position)
        if len(header) < HEADER_SIZE:
            return
        base, length, epoch, magic, crc, _, delta = _HEADER.unpack_from(header)
        size = LOG_OVERHEAD + length
        if magic != MAGIC or not HEADER_SIZE <= size <= min(damage.end - position, LARGEST_BATCH):
            return
        if crc32c(memoryview(handle.pread(size, position))[CRC_COVERS_FROM:]) != crc:
            return
        yield base, base + delta + 1, epoch, crc, size, position
        position += size


def checksums(buffer: bytes, at: int, size: int) -> bytearray:
    """Return the concatenated checksums of the NoOp batches in `size` bytes from `at` on."""
    found = bytearray(size // NO_OP_BYTES * _CRC.size)
    for byte in range(_CRC.size):
        found[byte :: _CRC.size] = buffer[at + CRC_POSITION + byte : at + size : NO_OP_BYTES]
    return found
