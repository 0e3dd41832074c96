"""Finds runs of NoOps with numpy: the same runs as `no_op_run`, many batches at a time.

The bytes of such a batch that its checksum covers are constant, except the timestamp. CRC-32C is linear, so the
checksum is a constant and one table entry for each byte of the timestamp, joined by exclusive or.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from metadata_log.format.batch import CRC_COVERS_FROM, LOG_OVERHEAD, MAGIC
from metadata_log.format.crc import crc32c
from metadata_log.storage.no_ops import NO_OP_BYTES, NO_OP_RECORD
from metadata_log.tools.read.fast_scan import CLOCK_STEP_MS, Marks, NoOpRun, next_mark, no_op_run

_LENGTH: Final = NO_OP_BYTES - LOG_OVERHEAD
_LENGTH_BYTES: Final = struct.pack(">i", _LENGTH)
_LENGTH_AT: Final = 8
_LEAST_RUN: Final = 32
"""A run that is not this long is faster to find batch by batch."""
_GROWTH: Final = 8
_TAIL: Final = struct.Struct(">hiqqqhii")
"""Attributes, last offset delta, first and greatest timestamp, producer id and epoch, sequence, count."""
_BATCH: Final = np.dtype([
    ("base", ">i8"), ("length", ">i4"), ("epoch", ">i4"), ("magic", "u1"), ("crc", ">u4"), ("attributes", ">i2"),
    ("delta", ">i4"), ("first", ">i8"), ("time", ">i8"), ("producer_id", ">i8"), ("producer_epoch", ">i2"),
    ("sequence", ">i4"), ("count", ">i4"), ("record", ">u8"), ("record_rest", "u1", 3),
])  # fmt: skip
_RECORD, _RECORD_REST = int.from_bytes(NO_OP_RECORD[:8], "big"), np.frombuffer(NO_OP_RECORD[8:], np.uint8)
_CONSTANT: Final = {
    "length": _LENGTH, "magic": MAGIC, "attributes": 0, "delta": 0, "producer_id": -1, "producer_epoch": -1,
    "sequence": -1, "count": 1, "record": _RECORD,
}  # fmt: skip


def find_no_op_run(
    buffer: bytes, at: int, shift: int, expected: int, epoch: int, time_ms: int, marks: Marks
) -> NoOpRun | None:
    """Return what `no_op_run` returns for the same arguments."""
    ahead = at + (_LEAST_RUN - 1) * NO_OP_BYTES + _LENGTH_AT
    if not buffer.startswith(_LENGTH_BYTES, ahead) or not buffer.startswith(_LENGTH_BYTES, at + _LENGTH_AT):
        return no_op_run(buffer, at, shift, expected, epoch, time_ms, marks)
    until = min(len(buffer), next_mark(marks.positions, shift + at) - shift + NO_OP_BYTES - 1)
    most = min((until - at) // NO_OP_BYTES, next_mark(marks.offsets, expected) - expected)
    count, greatest, last, block = 0, -1, time_ms, _LEAST_RUN
    while count < most:
        size = min(block, most - count)
        batches = np.frombuffer(buffer, _BATCH, size, at + count * NO_OP_BYTES)
        times = batches["time"].astype(np.int64)
        reached = np.maximum.accumulate(np.maximum(times, greatest))
        sound = _sound(batches, times, expected + count, epoch) & (times >= reached - CLOCK_STEP_MS)
        if not count:
            sound[0] &= times[0] >= time_ms - CLOCK_STEP_MS
        passed = size if sound.all() else int(np.argmin(sound))
        if passed:
            greatest, last = int(reached[passed - 1]), int(times[passed - 1])
        count += passed
        if passed < size:
            break
        block *= _GROWTH
    if not count:
        return None
    return NoOpRun(
        position=shift + at,
        end_position=shift + at + count * NO_OP_BYTES,
        base_offset=expected,
        end_offset=expected + count,
        epoch=epoch,
        max_timestamp=greatest,
        last_timestamp=last,
        buffer=buffer,
        at=at,
    )


def _sound(batches: npt.NDArray[np.void], times: npt.NDArray[np.int64], base: int, epoch: int) -> npt.NDArray[np.bool_]:
    """Return True for each batch that is an intact NoOp of this epoch at its place after `base`."""
    sound: npt.NDArray[np.bool_] = batches["base"] == np.arange(base, base + len(batches))
    sound &= batches["epoch"] == epoch
    sound &= batches["first"] == times
    for name, value in _CONSTANT.items():
        sound &= batches[name] == value
    sound &= (batches["record_rest"] == _RECORD_REST).all(axis=1)
    sound &= batches["crc"] == _checksums(times)
    return sound


def _checksums(times: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Return the CRC-32C of the NoOp batch of each time in ms."""
    start, tables = _tables()
    found = np.full(len(times), start, np.uint32)
    rest = times.view(np.uint64)
    for byte in range(8):
        found ^= tables[byte][(rest >> np.uint64(8 * byte)) & np.uint64(0xFF)]
    return found


@cache
def _tables() -> tuple[int, list[npt.NDArray[np.uint32]]]:
    """Return the checksum of the batch of time 0, and how each value of each of the time's bytes changes it.

    Bytes are counted from the least significant one.
    """
    start = _checksum(0)
    return start, [
        np.array([_checksum(value << 8 * byte) ^ start for value in range(256)], np.uint32) for byte in range(8)
    ]


def _checksum(time_ms: int) -> int:
    signed = time_ms - (1 << 64) if time_ms >> 63 else time_ms
    covered = _TAIL.pack(0, 0, signed, signed, -1, -1, -1, 1) + NO_OP_RECORD
    if len(covered) != NO_OP_BYTES - CRC_COVERS_FROM:
        raise AssertionError("the checksum covers all after itself")
    return crc32c(covered)
