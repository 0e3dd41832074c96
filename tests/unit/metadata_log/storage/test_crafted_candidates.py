"""Files made of what looks like batches: as many bytes are checked as their size allows, and nothing is cut."""

from __future__ import annotations

import random

import pytest

from metadata_log.errors import CorruptBatchError
from metadata_log.files.port import FileHandle
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.file_log import open_log
from metadata_log.storage.segment import LocatedBatch, TooManyCandidatesError, next_sealed_batch
from metadata_log.tools.read.fast_scan import walk
from metadata_log.tools.read.scan import Damage, Fault, scan

NAME = "00000000000000000000.log"
MOST = 64 << 20
"""Bytes that are checked in vain of any file; and 64 times its size."""
LENGTH = 400_000


def _sound(offset: int) -> bytes:
    return build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=1, values=[b"\x01\x14\x00\x00"])


def _header(length: int, fill: int = 0) -> bytes:
    """The first 32 bytes of what claims to be a batch of that length."""
    return bytes(8) + length.to_bytes(4, "big") + bytes(4) + b"\x02" + bytes([fill]) * 15


CANDIDATES = _header(LENGTH) * (1_000_000 // 32)


class Counting:
    """A file in memory that counts the bytes read of it."""

    def __init__(self, content: bytes) -> None:
        self.content, self.read = content, 0

    def pread(self, count: int, position: int) -> bytes:
        """See the port."""
        data = self.content[position : position + count]
        self.read += len(data)
        return data

    def size(self) -> int:
        """See the port."""
        return len(self.content)

    def close(self) -> None:
        """See the port."""

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Not here."""
        raise AssertionError("only read")

    def truncate(self, size: int) -> None:
        """Not here."""
        raise AssertionError("only read")

    def fdatasync(self) -> None:
        """Not here."""
        raise AssertionError("only read")


def _most(content: bytes) -> int:
    return MOST + (64 + 16) * len(content) + 2 * LENGTH


def test_the_search_ends_after_a_multiple_of_the_file() -> None:
    file = Counting(CANDIDATES)
    with pytest.raises(TooManyCandidatesError, match="look like batches"):
        next_sealed_batch(file, 0, file.size())
    assert file.read < _most(CANDIDATES)


@pytest.mark.parametrize("reader", [scan, walk])
def test_readers_call_the_rest_damaged(reader: object) -> None:
    content = _sound(0) + CANDIDATES + _sound(1)
    file = Counting(content)
    sound, damage = list(walk(file) if reader is walk else scan(file))
    assert isinstance(sound, LocatedBatch)
    assert isinstance(damage, Damage)
    assert (damage.fault, damage.end) == (Fault.CORRUPT, len(content))
    assert "what follows was not read" in damage.what
    assert file.read < _most(content)


@pytest.mark.parametrize("reader", [scan, walk])
def test_the_bound_is_of_the_file_and_not_of_each_damage(reader: object) -> None:
    """Between sound batches, each a claim of many bytes: no search is long, and there are thousands."""
    piece = _header(LENGTH, fill=1) + bytes(40) + _sound(7)
    content = piece * 4000
    file = Counting(content)
    seen = list(walk(file) if reader is walk else scan(file))
    assert isinstance(seen[-1], Damage)
    assert seen[-1].end == len(content)
    assert "what follows was not read" in seen[-1].what
    assert len(seen) * LENGTH < 4 * _most(content)


def _opened(content: bytes) -> None:
    files = SimulatedFiles()
    files.mkdirs("/log")
    handle = files.open(f"/log/{NAME}", create=True)
    handle.pwrite(content, 0)
    handle.fdatasync()
    files.fsync_dir("/log")
    open_log(files, "/log", recover=True)


def test_a_node_cuts_nothing_that_it_cannot_judge() -> None:
    with pytest.raises(CorruptBatchError, match="look like batches"):
        _opened(_sound(0) + CANDIDATES + _sound(1))


def test_rubbish_of_the_size_of_a_batch_is_searched_to_its_end() -> None:
    rubbish = random.Random(5).randbytes(8 << 20)
    assert next_sealed_batch(Counting(rubbish), 0, len(rubbish)) is None
    file: FileHandle = Counting(rubbish + _sound(3))
    found = next_sealed_batch(file, 0, file.size())
    assert found is not None
    assert found[0] == len(rubbish)
