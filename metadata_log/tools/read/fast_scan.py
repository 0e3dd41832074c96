"""A fast pass over a segment: it yields every batch and damaged range, and joins an idle leader's NoOps to runs.

Decides: which batches must be looked at one by one: all but consecutive NoOps, which an idle leader writes every 500
ms. Every batch's checksum is checked. Must not know: the meaning of records, and findings.

`walk` reports the same damage as `scan` does for the same bytes. Large logs are read with it.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from metadata_log.errors import CorruptBatchError, UnsupportedBatchError
from metadata_log.files.port import ReadHandle
from metadata_log.format.batch import CRC_COVERS_FROM, HEADER_SIZE, LOG_OVERHEAD, MAGIC, check_batch
from metadata_log.format.crc import crc32c
from metadata_log.storage.no_ops import NO_OP_BYTES, NO_OP_RECORD
from metadata_log.storage.segment import CheckBudget, LocatedBatch
from metadata_log.tools.read.scan import Damage, scan

_CHUNK_BYTES: Final = 1 << 20

_NOOP_LENGTH: Final = NO_OP_BYTES - LOG_OVERHEAD
_NO_PRODUCER: Final = b"\xff" * 14
_NOOP: Final = struct.Struct(">qiibIhiqq14si11s")
"""Base offset, length, epoch, magic, checksum, attributes, last offset delta, first and greatest timestamp, producer
(its id, its epoch, the sequence), count, the record."""
TIME_AT: Final = 35
"""Position of the greatest timestamp in a batch, in bytes."""
_NO_MARK: Final = 1 << 62
CLOCK_STEP_MS: Final = 60_000
"""If a batch is further back in time than this, it is yielded by itself. No clock is slewed so far."""


class NoOpRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A run of intact, consecutive batches of one NoOp each, all of one epoch: offsets `base_offset` to `end_offset`
    (exclusive).

    Times are in ms: the greatest of the run, and that of its last batch. The run's bytes begin at `at` in `buffer`,
    which neighbouring runs and batches share.
    """

    position: int
    end_position: int
    base_offset: int
    end_offset: int
    epoch: int
    max_timestamp: int
    last_timestamp: int
    buffer: bytes
    at: int

    @property
    def count(self) -> int:
        """Return the number of batches."""
        return self.end_offset - self.base_offset


Seen: TypeAlias = LocatedBatch | Damage | NoOpRun


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """File positions and offsets, ascending, where a batch is yielded by itself even if it is a NoOp."""

    positions: Sequence[int] = ()
    offsets: Sequence[int] = ()


NO_MARKS: Final = Marks()

FindRun: TypeAlias = Callable[[bytes, int, int, int, int, int, Marks], NoOpRun | None]
"""Finds the run at a position of a buffer that begins `shift` bytes into the file, as `no_op_run` does. All such
functions find the same runs."""


def no_op_run(
    buffer: bytes, at: int, shift: int, expected: int, epoch: int, time_ms: int, marks: Marks
) -> NoOpRun | None:
    """Return the run at `at` that continues from `expected`, `epoch` and time, up to the next mark, or None."""
    if int.from_bytes(buffer[at + TIME_AT : at + TIME_AT + 8], "big") < time_ms - CLOCK_STEP_MS:
        return None
    stop = next_mark(marks.positions, shift + at) - shift
    stop_offset = next_mark(marks.offsets, expected)
    start, base, max_timestamp = at, expected, -1
    last = min(len(buffer) - NO_OP_BYTES, stop - 1)
    unpack = _NOOP.unpack_from
    view = memoryview(buffer)
    while at <= last and expected < stop_offset:
        found, length, found_epoch, magic, crc, attributes, delta, first, timestamp, producer, count, record = unpack(
            buffer, at
        )
        if (
            length != _NOOP_LENGTH
            or found != expected
            or record != NO_OP_RECORD
            or crc32c(view[at + CRC_COVERS_FROM : at + NO_OP_BYTES]) != crc
            or found_epoch != epoch
            or magic != MAGIC
            or attributes
            or delta
            or count != 1
            or first != timestamp
            or producer != _NO_PRODUCER
        ):
            break
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        elif timestamp < max_timestamp - CLOCK_STEP_MS:
            break
        expected += 1
        at += NO_OP_BYTES
    if at == start:
        return None
    return NoOpRun(
        position=shift + start,
        end_position=shift + at,
        base_offset=base,
        end_offset=expected,
        epoch=epoch,
        max_timestamp=max_timestamp,
        last_timestamp=unpack(buffer, at - NO_OP_BYTES)[8],
        buffer=buffer,
        at=start,
    )


def next_mark(marks: Sequence[int], least: int) -> int:
    """Return the first mark that is not below `least`."""
    index = bisect_left(marks, least)
    return marks[index] if index < len(marks) else _NO_MARK


def walk(
    handle: ReadHandle,
    start: int = 0,
    end: int | None = None,
    *,
    offset: int = -1,
    epoch: int = -1,
    time_ms: int = -1,
    marks: Marks = NO_MARKS,
    find_run: FindRun = no_op_run,
) -> Iterator[Seen]:
    """Yield every batch, run and damaged range of bytes `start` to `end` (default: the file's size), in order.

    `start` is the beginning of a batch. The caller expects `offset` and `epoch` there; `time_ms` is that of the batch
    before. Zeros up to the end yield nothing.
    """
    limit, position, expected = handle.size() if end is None else end, start, offset
    budget = CheckBudget(limit - start)
    while position < limit:
        buffer = handle.pread(min(_CHUNK_BYTES, limit - position), position)
        if not buffer:
            return
        at = 0
        while True:
            run = find_run(buffer, at, position, expected, epoch, time_ms, marks)
            if run is not None:
                yield run
                at += run.end_position - run.position
                expected, time_ms = run.end_offset, run.last_timestamp
            if at and not _is_whole(buffer, at):
                break
            try:
                header = check_batch(buffer, at)
            except (CorruptBatchError, UnsupportedBatchError):
                seen = next(scan(handle, position + at, limit, budget), None)
                if seen is None:
                    return
                yield seen
                passed = seen.end if isinstance(seen, Damage) else seen.position + seen.header.size_in_bytes
                if isinstance(seen, LocatedBatch):
                    expected, epoch = seen.header.next_offset, seen.header.partition_leader_epoch
                    time_ms = seen.header.max_timestamp
                at = passed - position
                break
            yield LocatedBatch(position=position + at, header=header, buffer=buffer, at=at)
            expected, epoch, time_ms = header.next_offset, header.partition_leader_epoch, header.max_timestamp
            at += header.size_in_bytes
            if at == len(buffer):
                break
        position += at


def _is_whole(buffer: bytes, at: int) -> bool:
    """Return True if the buffer holds the whole batch that begins at `at`, by the length in its header."""
    if len(buffer) - at < HEADER_SIZE:
        return False
    return LOG_OVERHEAD + int.from_bytes(buffer[at + 8 : at + 12], "big", signed=True) <= len(buffer) - at
