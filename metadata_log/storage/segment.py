"""One segment of the log: its file names, its sparse indexes in Kafka's form, and reading its batches in order.

Decides: the file names and index bytes of a segment, and what a sound sequence of batches is. Must not know: the other
segments, or the reaction to a fault (`log_recovery` does).
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, MetadataLogError
from metadata_log.files.port import FileHandle, ReadHandle
from metadata_log.format.batch import (
    HEADER_SIZE,
    LARGEST_BATCH,
    BatchHeader,
    check_batch,
    computed_checksum,
    parse_header,
)
from metadata_log.offsets import NO_EPOCH, Epoch, Offset

MAX_RELATIVE_OFFSET: Final = (1 << 31) - 1
"""The largest offset relative to the segment's base, which indexes store in 32 bits; beyond it a segment is rolled."""

_CHUNK_BYTES: Final = 1 << 20
_CHECKED_IN_VAIN: Final = 64
_LEAST_IN_VAIN: Final = 64 << 20
"""Random bytes of the size of a batch, 8 MiB, contain candidates of some 256 MiB that look like batches."""
TOO_MANY: Final = "more of its bytes look like batches, and are not, than are checked"
_SEGMENT = re.compile(r"\d{20}\.log", re.ASCII)
_INDEX_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")


def segment_file(base_offset: int, suffix: str = ".log") -> str:
    """Return a segment's file name, `00000000000000000000.log`, or with another suffix (`.index`, `.timeindex`)."""
    return f"{base_offset:020d}{suffix}"


def segment_bases(names: list[str]) -> list[Offset]:
    """Return the base offsets of the segments among a directory's names, rising."""
    return sorted(Offset(int(name[:20])) for name in names if _SEGMENT.fullmatch(name))


class LocatedBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch in a segment: `position` in its file; its bytes are `buffer[at : at + header.size_in_bytes]`."""

    position: int
    header: BatchHeader
    buffer: bytes
    at: int


class Expected(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The required offset of the next batch, and its least epoch."""

    offset: Offset
    epoch: Epoch = NO_EPOCH


def read_batches(
    handle: FileHandle, file: str, *, expected: Expected, start: int = 0, end: int | None = None
) -> Iterator[LocatedBatch]:
    """Yield the checked batches from byte `start` to byte `end` (by default the file's size), with contiguous offsets.

    Raises:
        CorruptBatchError: the next batch is not sound; the error has file, position and the expected offset.
        UnsupportedBatchError: a batch is compressed.
    """
    size = handle.size() if end is None else end
    offset, epoch = expected.offset, expected.epoch
    buffer, begin = b"", start
    position = start
    while position < size:
        at = position - begin
        if len(buffer) - at < HEADER_SIZE or not _is_whole(buffer, at):
            buffer, begin, at = _load(handle, position, size), position, 0
        try:
            header = check_batch(buffer, at)
            if header.base_offset != offset:
                raise CorruptBatchError(f"a batch of offset {header.base_offset} is where {offset} is due", position=at)
            if header.partition_leader_epoch < epoch:
                raise CorruptBatchError(f"its epoch {header.partition_leader_epoch} comes after {epoch}", position=at)
        except CorruptBatchError as error:
            raise error.in_file(file, shift=begin, base_offset=offset) from error
        yield LocatedBatch(position=position, header=header, buffer=buffer, at=at)
        position += header.size_in_bytes
        offset, epoch = header.next_offset, header.partition_leader_epoch


def _is_whole(buffer: bytes, at: int) -> bool:
    length = int.from_bytes(buffer[at + 8 : at + 12], "big", signed=True)
    return 0 <= length <= len(buffer) - at - 12


def _load(handle: FileHandle, position: int, size: int) -> bytes:
    """Return the bytes from `position`: a chunk, or more if the batch there claims to be larger."""
    buffer = handle.pread(min(_CHUNK_BYTES, size - position), position)
    if len(buffer) >= HEADER_SIZE and not _is_whole(buffer, 0):
        claimed = 12 + int.from_bytes(buffer[8:12], "big", signed=True)
        if len(buffer) < claimed <= min(size - position, LARGEST_BATCH):
            return handle.pread(claimed, position)
    return buffer


class TooManyCandidatesError(MetadataLogError):
    """Too many bytes of a file look like batches and fail. Without this limit a crafted file would take hours."""


class CheckBudget:
    """The bytes that one pass over a file may check in vain. It grows with the file, however candidates overlap."""

    __slots__ = ("_left",)

    def __init__(self, size: int) -> None:
        self._left = _CHECKED_IN_VAIN * size + _LEAST_IN_VAIN

    def spend(self, size: int) -> None:
        """Deduct bytes that were checked and are not a batch.

        Raises:
            TooManyCandidatesError: the budget is used up.
        """
        self._left -= size
        if self._left < 0:
            raise TooManyCandidatesError(TOO_MANY)


def next_sealed_batch(
    handle: ReadHandle, start: int, size: int, budget: CheckBudget | None = None
) -> tuple[int, BatchHeader] | None:
    """Return position and header of the first batch with a valid checksum at any byte from `start` on, or None.

    After a torn write no such batch follows; after corruption in the middle of a log one does.

    Raises:
        TooManyCandidatesError: the search was given up, by default after a multiple of the bytes from `start`.
    """
    spare = CheckBudget(size - start) if budget is None else budget
    position = start
    while size - position >= HEADER_SIZE:
        chunk = handle.pread(min(_CHUNK_BYTES, size - position), position)
        at = chunk.find(b"\x02", 16)
        while at >= 0:
            begin, length = position + at - 16, int.from_bytes(chunk[at - 8 : at - 4], "big", signed=True)
            if HEADER_SIZE - 12 <= length <= min(size - begin, LARGEST_BATCH) - 12:
                found = _sealed_batch_at(handle, begin, length)
                if found is not None:
                    return begin, found
                spare.spend(length)
            at = chunk.find(b"\x02", at + 1)
        position += max(1, len(chunk) - 16)
    return None


def _sealed_batch_at(handle: ReadHandle, position: int, length: int) -> BatchHeader | None:
    whole = handle.pread(12 + length, position)
    header = parse_header(whole)
    return header if computed_checksum(whole, header) == header.crc else None


def only_zeros(handle: ReadHandle, start: int, end: int) -> bool:
    """Return True if bytes `start` to `end` are zeros. Read in chunks, since a sparse file may have any length."""
    position = start
    while position < end:
        chunk = handle.pread(min(_CHUNK_BYTES, end - position), position)
        if not chunk or chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True


class SegmentIndex:
    """The sparse indexes of one segment, in memory; `index_bytes` and `time_index_bytes` return Kafka's files.

    The first batch that begins more than `interval_bytes` after the batch of the last entry gets an entry.
    """

    def __init__(self, base_offset: Offset, interval_bytes: int) -> None:
        self.base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._last_offsets = array("q")
        self._positions = array("q")
        self._times: list[tuple[int, int]] = []
        self._since_entry = 0
        self._max_timestamp = -1
        self._offset_of_max = -1
        self.first_timestamp = -1
        """The timestamp of the segment's first batch, which Kafka uses for the segment's age; -1 without one."""

    def on_batch(self, header: BatchHeader, position: int) -> None:
        """Add a batch that begins at `position`."""
        if position == 0:
            self.first_timestamp = header.max_timestamp
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
            self._offset_of_max = header.last_offset
        if self._since_entry > self._interval_bytes:
            self._last_offsets.append(header.last_offset)
            self._positions.append(position)
            self._add_time()
            self._since_entry = 0
        self._since_entry += header.size_in_bytes

    @property
    def greatest_timestamp(self) -> int:
        """The greatest timestamp of the batches in ms; -1 without batches."""
        return self._max_timestamp

    def position_before(self, offset: int) -> int:
        """Return the position of a batch that is not after the one with `offset`: a start for a search."""
        # An entry names its batch's last offset, so the batch of the greatest entry below `offset` is a safe start.
        index = bisect_right(self._last_offsets, offset - 1) - 1
        return self._positions[index] if index >= 0 else 0

    def truncate(self, end_position: int) -> None:
        """Drop entries at or after `end_position`, and timestamps that no remaining entry covers."""
        while self._positions and self._positions[-1] >= end_position:
            self._positions.pop()
            self._last_offsets.pop()
        last = self._positions[-1] if self._positions else 0
        self._since_entry = end_position - last
        self._times = [entry for entry in self._times if self._last_offsets and entry[1] <= self._last_offsets[-1]]
        self._max_timestamp, self._offset_of_max = self._times[-1] if self._times else (-1, -1)

    def index_bytes(self) -> bytes:
        """Return the `.index` file: 8 bytes an entry, the batch's relative last offset and its position."""
        base = self.base_offset
        pairs = zip(self._last_offsets, self._positions, strict=True)
        return b"".join(_INDEX_ENTRY.pack(offset - base, position) for offset, position in pairs)

    def time_index_bytes(self) -> bytes:
        """Return the `.timeindex` file: 12 bytes an entry, greatest timestamp so far and its batch's relative offset.

        As in Kafka, closing or rolling a segment adds its greatest timestamp.
        """
        self._add_time()
        base = self.base_offset
        return b"".join(_TIME_ENTRY.pack(timestamp, offset - base) for timestamp, offset in self._times)

    def _add_time(self) -> None:
        if self._max_timestamp > (self._times[-1][0] if self._times else -1):
            self._times.append((self._max_timestamp, self._offset_of_max))


class Segment:
    """A segment in the log's memory, including staged batches."""

    __slots__ = ("base_offset", "index", "size")

    def __init__(self, base_offset: Offset, index: SegmentIndex, size: int = 0) -> None:
        self.base_offset = base_offset
        self.index = index
        self.size = size
