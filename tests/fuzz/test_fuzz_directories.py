"""Damaged directories, backups and exports through the commands that read them.

No crash, no hang, no memory without bound, and nothing written but at the named target. `FUZZ_SEED=n` repeats a run;
2,000 inputs of each kind, and with `LONG=1` 100,000. Of `analyze`, its tasks take them, without Spark.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metadata_log.analysis.tasks import judge_logs, read_log, tasks_of
from metadata_log.errors import MetadataLogError
from metadata_log.tools.check.plan import until_settled
from quorum.cli.main import run
from tests.support.fixture_files import METADATA_FILES
from tests.support.fresh_seed import fresh_seed
from tests.support.image_logs import FIXTURES
from tests.support.mutated_directories import damage_directory
from tests.support.mutations import mutate

IS_LONG = bool(os.environ.get("LONG"))
COUNT = 100_000 if IS_LONG else 2_000
SLOWEST_S = 5.0
MOST_GROWTH_KIB = 300 << 10
NODES = [FIXTURES / "basic" / "node-1", FIXTURES / "basic" / "node-1" / "data", FIXTURES / "static-3.9" / "node-1"]
OTHERS = [path.read_bytes()[:6000] for path in METADATA_FILES[:12]]
READERS = [
    ["check", "IN"], ["check", "IN", "SOUND"], ["log", "verify", "IN"], ["log", "verify", "--replay", "IN"],
    ["log", "dump", "IN"], ["log", "dump", "IN", "-o", "jsonl"], ["log", "diff", "IN", "SOUND"], ["log", "hash", "IN"],
    ["log", "timeline", "IN"], ["shell", "IN", "tree", "/"], ["shell", "IN", "history", "/topics"],
    ["storage", "info", "IN"], ["features", "check", "IN", "--target", "3.9"], ["recover", "inspect", "IN", "SOUND"],
    ["recover", "verify", "IN"], ["log", "export", "IN", "OUT"], ["snapshot", "save", "IN", "OUT"],
    ["storage", "audit", "IN"],
]  # fmt: skip


def kraft(*words: str) -> tuple[int, bytes]:
    """Run a command in this process; a defect is raised. Return its status and what it printed."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = run(words)
        out.flush()
    return status, out.buffer.getvalue()  # type: ignore[attr-defined]


def _state(place: Path, target: Path) -> list[tuple[Path, int, int]]:
    """Return names, sizes and modes of all that is there, but for the target."""
    found = [(path, path.lstat()) for path in sorted(place.rglob("*")) if not path.is_relative_to(target)]
    return [(path, 0 if stat.S_ISDIR(one.st_mode) else one.st_size, one.st_mode) for path, one in found]


class Bench:
    """One place with an input, a sound directory, and a target; and what one input may cost."""

    def __init__(self, place: Path) -> None:
        self.place, self.input, self.target, self.sound = place, place / "in", place / "out", place / "sound"
        shutil.copytree(NODES[0], self.sound, copy_function=shutil.copyfile)

    def clean(self) -> None:
        """Remove input and target."""
        for path in (self.input, self.target, self.place / ".out.unfinished"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def call(self, words: Sequence[str]) -> int:
        """Run a command, which writes nothing but at the target."""
        names = {"IN": str(self.input), "OUT": str(self.target), "SOUND": str(self.sound)}
        before = _state(self.place, self.target)
        began = time.thread_time()
        status, said = kraft(*(names.get(word, word) for word in words))
        assert time.thread_time() - began < SLOWEST_S
        assert status in (0, 1, 2), said
        assert _state(self.place, self.target) == before
        return status


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _fuzz(one: Callable[[random.Random], object]) -> None:
    """Try as many inputs as are due, each by a seed that the error names."""
    seed = fresh_seed("FUZZ_SEED")
    print(f"\nFUZZ_SEED={seed}")
    start_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for index in range(COUNT):
        try:
            one(random.Random(f"{seed}/{index}"))
        except BaseException as error:
            error.add_note(f"FUZZ_SEED={seed}, input {index}")
            raise
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start_kib < MOST_GROWTH_KIB


def _directory(bench: Bench, draw: random.Random) -> None:
    bench.clean()
    shutil.copytree(draw.choice(NODES), bench.input, copy_function=shutil.copyfile)
    damage_directory(bench.input, draw, OTHERS)
    bench.call(draw.choice(READERS))


def _backup(bench: Bench, whole: bytes, draw: random.Random) -> None:
    bench.clean()
    bench.input.write_bytes(_other_backup(whole, draw))
    if draw.random() < 0.5:
        bench.call(["snapshot", "status", "IN"])
    else:
        status = bench.call(["snapshot", "restore", "IN", "OUT", "--node-id", "1"])
        assert (status == 0) == bench.target.exists()


def _other_backup(whole: bytes, draw: random.Random) -> bytes:
    """A backup with damage; mostly with the tar's own checksums right again: then its members are read."""
    changed = bytearray(mutate(whole, draw, OTHERS) if draw.random() < 0.5 else whole)
    for _ in range(draw.randint(0, 2)):
        at = draw.choice((0, 1536)) + draw.choice((0, 100, 124, 136, 156, 257, 345, 386, 483))
        changed[at : at + draw.randint(1, 12)] = draw.choice(
            (b"\x80" + b"\xff" * 11, b"S", b"x", b"77777777777", b"\0")
        )
    for at in (0, 1536):
        block = changed[at : at + 512]
        if len(block) == 512:
            block[148:156] = b" " * 8
            changed[at + 148 : at + 156] = b"%06o\0 " % sum(block)
    return bytes(changed)


def _export(bench: Bench, whole: Path, draw: random.Random) -> None:
    bench.clean()
    shutil.copytree(whole, bench.input, copy_function=shutil.copyfile)
    damage_directory(bench.input, draw, OTHERS)
    if draw.random() < 0.5:
        _analysed(bench.input)
    else:
        bench.call(draw.choice(READERS))


def _analysed(export: Path) -> None:
    """Judge an export as the analysis does, without Spark: it is refused, or gives a verdict."""
    began = time.thread_time()
    with contextlib.suppress(MetadataLogError, OSError):  # the command says it in a sentence
        until_settled([export], lambda plan: judge_logs(plan, map(read_log, tasks_of(plan))), lambda _: True)
    assert time.thread_time() - began < SLOWEST_S


def _saved(place: Path) -> bytes:
    assert kraft("snapshot", "save", str(NODES[0]), str(place / "whole"))[0] == 0
    return (place / "whole").read_bytes()


def _exported(place: Path) -> Path:
    assert kraft("log", "export", str(NODES[0]), str(place), "-o", "jsonl")[0] == 0
    return place


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _saved(tmp_path_factory.mktemp("backup"))


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _exported(tmp_path_factory.mktemp("export"))


def test_some_damage_of_each_kind(bench: Bench, backup: bytes, export: Path) -> None:
    for index in range(40):
        draw = random.Random(index)
        _directory(bench, draw)
        _backup(bench, backup, draw)
        _export(bench, export, draw)


@pytest.mark.campaign
@pytest.mark.timeout(14_400 if IS_LONG else 1200)
def test_damaged_directories_without_end(bench: Bench) -> None:
    _fuzz(lambda draw: _directory(bench, draw))


@pytest.mark.campaign
@pytest.mark.timeout(14_400 if IS_LONG else 1200)
def test_damaged_backups_without_end(bench: Bench, backup: bytes) -> None:
    _fuzz(lambda draw: _backup(bench, backup, draw))


@pytest.mark.campaign
@pytest.mark.timeout(14_400 if IS_LONG else 1200)
def test_damaged_exports_without_end(bench: Bench, export: Path) -> None:
    _fuzz(lambda draw: _export(bench, export, draw))
