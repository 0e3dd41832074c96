"""Runs of NoOps that numpy finds are the runs that are found batch by batch, whatever lies between them."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import msgspec
import pytest

from metadata_log.columnar.no_op_runs import find_no_op_run
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, check_batch
from metadata_log.format.crc import crc32c
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import NoOpRecord, encode_record
from metadata_log.storage.no_ops import NO_OP_BYTES
from metadata_log.tools.read.fast_scan import CLOCK_STEP_MS, NO_MARKS, FindRun, Marks, NoOpRun, no_op_run, walk

NO_OP = encode_record(NoOpRecord(), 0)
START_MS = 1_700_000_000_000
EPOCH = 5
CRC = struct.Struct(">I")


def batch(offset: int, time_ms: int, count: int = 1) -> bytes:
    return build_batch(base_offset=Offset(offset), epoch=Epoch(EPOCH), timestamp_ms=time_ms, values=[NO_OP] * count)


def idle_log(count: int) -> bytes:
    return b"".join(batch(offset, START_MS + 500 * offset) for offset in range(count))


def seen(path: Path, data: bytes, find: FindRun, marks: Marks = NO_MARKS) -> list[dict[str, object]]:
    """Return the fields of what `walk` yields of these bytes, without the buffers."""
    path.write_bytes(data)
    handle = OsFiles().open(str(path), read_only=True)
    try:
        found = list(walk(handle, offset=0, epoch=EPOCH, marks=marks, find_run=find))
    finally:
        handle.close()
    return [{**msgspec.structs.asdict(one), "buffer": None, "kind": type(one)} for one in found]


def test_a_long_run_is_one(tmp_path: Path) -> None:
    found = seen(tmp_path / "log", idle_log(5000), find_no_op_run)
    assert [(one["kind"], one["base_offset"], one["end_offset"]) for one in found] == [(NoOpRun, 0, 5000)]
    assert found[0]["last_timestamp"] == found[0]["max_timestamp"] == START_MS + 500 * 4999


@pytest.mark.parametrize("at", range(12, NO_OP_BYTES))
def test_a_changed_byte_ends_the_run_there(tmp_path: Path, at: int) -> None:
    """One byte of batch 70 is changed: the checksum, or a field that it does not cover, ends the run before it."""
    data = bytearray(idle_log(100))
    data[70 * NO_OP_BYTES + at] ^= 0x10
    found = seen(tmp_path / "log", bytes(data), find_no_op_run)
    assert (found[0]["kind"], found[0]["end_offset"]) == (NoOpRun, 70)
    assert found == seen(tmp_path / "log", bytes(data), no_op_run)


@pytest.mark.parametrize("at", [*range(21, 27), *range(27, NO_OP_BYTES)])
def test_a_resealed_change_is_no_noop(tmp_path: Path, at: int) -> None:
    """A byte is changed and the checksum fits again: only both timestamps together may differ from a NoOp's."""
    data = bytearray(idle_log(100))
    first = 70 * NO_OP_BYTES
    data[first + at] ^= 0x01
    CRC.pack_into(data, first + 17, crc32c(bytes(data[first + 21 : first + NO_OP_BYTES])))
    found = seen(tmp_path / "log", bytes(data), find_no_op_run)
    assert found[0]["end_offset"] == 70
    assert found == seen(tmp_path / "log", bytes(data), no_op_run)


@pytest.mark.parametrize("time_ms", [0, 1, START_MS, 2**40 + 12345, 2**62])
def test_checksums_of_any_time(tmp_path: Path, time_ms: int) -> None:
    data = b"".join(batch(offset, time_ms + offset) for offset in range(40))
    assert check_batch(data, 39 * NO_OP_BYTES).base_timestamp == time_ms + 39
    (run,) = seen(tmp_path / "log", data, find_no_op_run)
    assert run["end_offset"] == 40


@pytest.mark.parametrize("seed", range(40))
def test_drawn_logs(tmp_path: Path, seed: int) -> None:
    """Clock steps, other batches, damage and marks."""
    draw = random.Random(seed)
    parts: list[bytes] = []
    offset, time_ms = 0, START_MS
    for _ in range(draw.randrange(30, 3000)):
        time_ms += draw.choice([500] * 60 + [0, -10, -CLOCK_STEP_MS + 1, -CLOCK_STEP_MS - 1, 10**9])
        count = 1 if draw.random() < 0.99 else draw.choice([1, 2, 3])
        parts.append(batch(offset, time_ms, count))
        offset += count
    data = bytearray(b"".join(parts))
    for _ in range(draw.choice([0, 0, 1, 2])):
        data[draw.randrange(12, len(data))] ^= 1 << draw.randrange(8)
    positions = sorted(draw.sample(range(0, len(data), NO_OP_BYTES), draw.choice([0, 2])))
    offsets = sorted(draw.sample(range(offset), draw.choice([0, 3])))
    marks = Marks(positions=positions, offsets=offsets)
    expected = seen(tmp_path / "log", bytes(data), no_op_run, marks)
    assert seen(tmp_path / "log", bytes(data), find_no_op_run, marks) == expected
