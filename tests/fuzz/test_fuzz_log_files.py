"""Every reader of a log meets damage without a crash, a hang or unbounded memory, and reports each flipped bit.

`FUZZ_SEED=n` repeats a run of 40,000 inputs; `LONG=1` makes it a million. `corpus/` keeps the inputs that failed once;
every run of the unit tests tries them. With the fix of a failure comes its input.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from metadata_log.errors import MetadataLogError
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import batch_values, build_batch, check_batch, iter_batches
from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import TopicRecord, encode_record
from metadata_log.storage.file_log import open_log
from metadata_log.tools.dump.course import Course
from metadata_log.tools.dump.dump import Shown, dump_rows, dump_text, show_text
from metadata_log.tools.dump.lines import Style
from metadata_log.tools.dump.pieces import Piece
from metadata_log.tools.dump.rows import text_rows
from metadata_log.tools.dump.selection import Selection
from metadata_log.tools.read.scan import Damage, scan
from metadata_log.tools.replicas.hashes import histories
from metadata_log.tools.shell.shell import Shell
from metadata_log.tools.verify.verify_log import verify_file
from tests.support.fixture_files import METADATA_FILES
from tests.support.fresh_seed import fresh_seed
from tests.support.mutations import mutate

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.bin"))
NAME = "00000000000000000000.log"
NO_OP = b"\x01\x14\x00\x00"
COUNT = 1_000_000 if os.environ.get("LONG") else 40_000
EVERY_DIRECTORY = 2
"""Recovery, verification and the shell open files and directories: every so many inputs go through them."""
SLOWEST_S = 5.0
MOST_GROWTH_KIB = 300 << 10


def _seeds() -> list[bytes]:
    """Short logs: every batch of the fixtures that is not like another, some with their neighbours."""
    seeds: dict[tuple[object, ...], bytes] = {}
    for path in METADATA_FILES:
        content = path.read_bytes()
        bounds = [(position, position + header.size_in_bytes) for position, header in iter_batches(content)]
        for index, (start, end) in enumerate(bounds):
            alike = _likeness(content, start)
            if alike not in seeds and end - start < 4000:
                last = bounds[min(index + index % 3, len(bounds) - 1)][1]
                seeds[alike] = content[start : min(last, start + 6000)]
    return list(seeds.values())


def _likeness(content: bytes, position: int) -> tuple[object, ...]:
    """Control batches are alike by their size, others by the types and versions in them."""
    header = check_batch(content, position)
    if header.is_control:
        return (header.count, header.size_in_bytes)
    return tuple(sorted({value[:3] for value in batch_values(content, header, position)}))[:6]


SEEDS = _seeds()


class _InMemory:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def pread(self, count: int, position: int) -> bytes:
        return self._content[position : position + count]

    def size(self) -> int:
        return len(self._content)


def _read(content: bytes) -> None:
    """The reader that goes on past damage accounts for every byte of a file, up to trailing zeros."""
    position = 0
    for found in scan(_InMemory(content)):  # type: ignore[arg-type]
        assert found.position == position
        position = found.end if isinstance(found, Damage) else position + found.header.size_in_bytes
    assert not any(content[position:])


def _dump(content: bytes) -> None:
    for lines in (dump_text(NAME, content), dump_text(NAME, content, Style.KAFKA_3_9)):
        _to_the_end(lines)
    _to_the_end(dump_rows(content))
    _course(content)
    piece = Piece(position=0, size=len(content), buffer=content)
    _to_the_end(text_rows(piece, Selection(types=frozenset({"topic"}), broker_id=11)))


def _course(content: bytes) -> None:
    """The dump that goes on behind damage comes to an end, and forward only."""
    course = Course(_InMemory(content), len(content), 0)  # type: ignore[arg-type]
    while course.tail is None:
        before = course.position
        _to_the_end(_sealed(piece) for piece in course.pieces(course.position))
        _to_the_end(course.past_trouble(_sealed, _unsealed))
        assert course.tail is not None or course.position > before
    assert course.position + course.tail == len(content)


def _sealed(piece: Piece) -> str:
    return _text(show_text(piece, sealed=True))


def _unsealed(piece: Piece) -> str:
    return _text(show_text(piece))


def _text(shown: Shown) -> str:
    if shown.error is not None:
        raise shown.error
    return shown.text


def _to_the_end(stream: Iterator[object]) -> None:
    with contextlib.suppress(MetadataLogError):
        for _ in stream:
            pass


def _recover(content: bytes) -> None:
    """Recovery refuses, or leaves a log that opens again as it is."""
    files = SimulatedFiles()
    files.mkdirs("/log")
    handle = files.open(f"/log/{NAME}", create=True, exclusive=True)
    handle.pwrite(content, 0)
    try:
        log, _ = open_log(files, "/log", recover=True)
    except MetadataLogError:
        return
    again, report = open_log(files, "/log", recover=False)
    assert again.log_end_offset == log.log_end_offset
    assert not report.warnings


def _verify(directory: Path, content: bytes) -> None:
    path = directory / NAME
    path.write_bytes(content)
    for found in verify_file(path).findings:
        assert found.meaning


def _explore(directory: Path, content: bytes) -> None:
    """The shell shows what it can, or says why it cannot."""
    path = directory / NAME
    path.write_bytes(content)
    with contextlib.suppress(MetadataLogError):
        ((_, history),) = histories([path])
        for command in ("tree /", "at 2", "ls /topics/by-name", "history /topics/by-name/orders"):
            for _ in Shell(history, "fuzz").run(command):
                pass


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_failed_once_does_not_fail_again(path: Path, directory: Path) -> None:
    for reader in _readers(directory):
        reader(path.read_bytes())


def test_some_damage_of_every_seed(directory: Path) -> None:
    draw = random.Random(1)
    for seed in SEEDS:
        for reader in _readers(directory):
            reader(seed)
            reader(mutate(seed, draw, SEEDS))


def test_no_flipped_bit_of_a_batch_goes_unreported(directory: Path) -> None:
    """The neighbours of a batch reveal a bit in the fields outside the checksum: offset, length, epoch."""
    value = encode_record(TopicRecord(name="orders", topic_id=TopicId(bytes(range(16)))), 0)
    batches = [
        build_batch(base_offset=Offset(2 * at), epoch=Epoch(3), timestamp_ms=1000, values=[value, NO_OP])
        for at in range(3)
    ]
    whole, first, size = b"".join(batches), len(batches[0]), len(batches[1])
    path = directory / NAME
    path.write_bytes(whole)
    before = {(found.kind, found.position) for found in verify_file(path).findings}
    for bit in range(size * 8):
        flipped = bytearray(whole)
        flipped[first + bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        after = {(found.kind, found.position) for found in verify_file(path).findings}
        assert after != before, f"bit {bit % 8} of byte {bit // 8}"


@pytest.mark.campaign
@pytest.mark.timeout(7200 if os.environ.get("LONG") else 1200)
def test_damage_without_end(directory: Path) -> None:
    seed = fresh_seed("FUZZ_SEED")
    print(f"\nFUZZ_SEED={seed}")
    draw = random.Random(seed)
    start_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for index in range(COUNT):
        content = mutate(draw.choice(SEEDS), draw, SEEDS)
        readers = _readers(directory) if index % EVERY_DIRECTORY == 0 else [_read, _dump]
        _try(readers, content, f"FUZZ_SEED={seed}, input {index}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start_kib < MOST_GROWTH_KIB


def _readers(directory: Path) -> list[Callable[[bytes], None]]:
    return [
        _read,
        _dump,
        _recover,
        partial(_verify, directory),
        partial(_explore, directory),
    ]


def _try(readers: Sequence[Callable[[bytes], None]], content: bytes, where: str) -> None:
    for reader in readers:
        began = time.thread_time()
        try:
            reader(content)
        except BaseException as error:
            path = Path(__file__).parent / "corpus" / f"{where.replace(' ', '-').replace(',', '').lower()}.bin"
            path.write_bytes(content)
            error.add_note(f"{where}; saved as {path}")
            raise
        assert time.thread_time() - began < SLOWEST_S, where
