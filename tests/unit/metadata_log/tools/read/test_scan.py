"""Reading past damage: every byte of a file is a sound batch, or named as damaged, or zeros at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import CRC_COVERS_FROM, CRC_POSITION, iter_batches
from metadata_log.format.crc import crc32c
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.scan import Damage, Fault, scan

WHOLE = (
    Path(__file__).parents[4] / "fixtures/basic/node-1/data/__cluster_metadata-0/00000000000000000000.log"
).read_bytes()
STARTS = [position for position, _ in iter_batches(WHOLE)]


def scanned(path: Path, data: bytes) -> tuple[list[LocatedBatch], list[Damage]]:
    path.write_bytes(data)
    handle = OsFiles().open(str(path), read_only=True)
    try:
        found = list(scan(handle))
    finally:
        handle.close()
    batches = [each for each in found if isinstance(each, LocatedBatch)]
    return batches, [each for each in found if isinstance(each, Damage)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "segment.log"


def test_a_sound_file(path: Path) -> None:
    batches, damage = scanned(path, WHOLE)
    assert ([batch.position for batch in batches], damage) == (STARTS, [])


@pytest.mark.parametrize("number", [0, 1, 10, len(STARTS) - 1])
@pytest.mark.parametrize("inside", [9, 11, 16, 17, 40, 58, 65])
def test_one_damaged_batch_costs_only_itself(path: Path, number: int, inside: int) -> None:
    data = bytearray(WHOLE)
    data[STARTS[number] + inside] ^= 0x41
    batches, damage = scanned(path, bytes(data))
    ends = [*STARTS[1:], len(WHOLE)]
    assert [batch.position for batch in batches] == STARTS[:number] + STARTS[number + 1 :]
    assert [(each.position, each.end) for each in damage] == [(STARTS[number], ends[number])]


@pytest.mark.parametrize("cut", [12, 30, 60, 70])
def test_a_torn_tail(path: Path, cut: int) -> None:
    batches, damage = scanned(path, WHOLE + WHOLE[:cut])
    assert len(batches) == len(STARTS)
    assert [(each.position, each.size, each.fault) for each in damage] == [(len(WHOLE), cut, Fault.TORN)]


def test_zeros_at_the_end_are_no_damage(path: Path) -> None:
    batches, damage = scanned(path, WHOLE + bytes(10_000))
    assert (len(batches), damage) == (len(STARTS), [])


def test_garbage_between_batches_is_named_with_its_extent(path: Path) -> None:
    garbage = b"\x02" * 500
    _, damage = scanned(path, WHOLE[: STARTS[5]] + garbage + WHOLE[STARTS[5] :])
    assert [(each.position, each.size, each.fault) for each in damage] == [(STARTS[5], 500, Fault.CORRUPT)]


def test_a_compressed_batch_is_named_as_such(path: Path) -> None:
    batch = bytearray(WHOLE[STARTS[3] : STARTS[4]])
    batch[22] |= 1
    batch[CRC_POSITION : CRC_POSITION + 4] = crc32c(batch[CRC_COVERS_FROM:]).to_bytes(4, "big")
    batches, damage = scanned(path, WHOLE[: STARTS[3]] + batch + WHOLE[STARTS[4] :])
    assert len(batches) == len(STARTS) - 1
    assert [(each.position, each.fault) for each in damage] == [(STARTS[3], Fault.UNSUPPORTED)]
