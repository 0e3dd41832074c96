"""The bad bytes at a log's end that one write can leave which a crash interrupted."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.torn_write import LARGEST_WRITE, may_be_one_write

_VALUE = bytes(range(1, 200))


def _batch(offset: int = 70, epoch: int = 3, values: int = 20) -> bytes:
    return build_batch(base_offset=Offset(offset), epoch=Epoch(epoch), timestamp_ms=5, values=[_VALUE] * values)


def _may_be(tmp_path: Path, before: int, tail: bytes) -> bool:
    """With so many bytes before it; offset 70 of epoch 3 is due."""
    path = tmp_path / "log"
    path.write_bytes(b"x" * before + tail)
    handle = OsFiles().open(str(path), read_only=True)
    try:
        return may_be_one_write(handle, before, len(tail), offset=70, epoch=3)
    finally:
        handle.close()


@pytest.mark.parametrize("length", [1, 7, 8, 11, 12, 16, 17, 60, 61, 62, 500, 4000])
def test_the_beginning_of_the_batch_that_was_due(length: int, tmp_path: Path) -> None:
    assert _may_be(tmp_path, 700, _batch()[:length])
    assert _may_be(tmp_path, 700, _batch(epoch=5)[:length])


@pytest.mark.parametrize("length", [17, 61, 500, 4000])
@pytest.mark.parametrize(
    "other",
    [_batch(offset=71), _batch(epoch=2), Random(1).randbytes(5000), b"\xff" * 5000],
    ids=["offset", "epoch", "random", "ones"],
)
def test_something_else(other: bytes, length: int, tmp_path: Path) -> None:
    assert not _may_be(tmp_path, 700, other[:length])


@pytest.mark.parametrize("at", [512, 1024, 2048])
def test_sectors_that_were_lost_read_as_zeros(at: int, tmp_path: Path) -> None:
    whole, before = _batch(), 700
    kept = at - before % 512

    assert _may_be(tmp_path, before, whole[:kept] + bytes(len(whole) - kept))
    assert not _may_be(tmp_path, before, whole[: kept + 100] + bytes(len(whole) - kept - 100))


def test_nothing_but_zeros_up_to_the_size_of_a_write(tmp_path: Path) -> None:
    assert _may_be(tmp_path, 700, bytes(5000))
    assert _may_be(tmp_path, 0, bytes(LARGEST_WRITE))
    assert not _may_be(tmp_path, 0, bytes(LARGEST_WRITE + 1))
