"""A full disk: who writes names the file, says what to do, ends with 2, and leaves nothing half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metadata_log.tools.partitions.audit import audit
from metadata_log.tools.partitions.quarantine import JOURNAL_FILE, quarantine, read_journal
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "basic" / "node-1"
LARGEST = max(path.stat().st_size for path in (NODE / "data" / "__cluster_metadata-0").iterdir())
TO_DO = ": File too large: make room there or name another place, and run this again\n"


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """The kernel lets no file of this process grow beyond: what is written up to there is written, then it is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("command", "most"),
    [
        ("snapshot save NODE TARGET", 1000),
        ("log export NODE TARGET", 1000),
        ("log export NODE TARGET -o jsonl", LARGEST),
        ("log export NODE TARGET -o parquet", LARGEST),
        ("log timeline NODE --picture TARGET.svg", 1000),
        ("log timeline NODE --picture TARGET.html", 1000),
    ],
)
def test_nothing_half_written_stays(command: str, most: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = command.replace("NODE", str(NODE)).replace("TARGET", str(tmp_path / "target")).split()
    named = next(word for word in words if word.startswith(str(tmp_path)))
    with no_file_larger_than(most):
        assert run(words) == 2
    said = capfd.readouterr().err
    assert said in (f"kraft: {named}{TO_DO}", f"kraft: {named}/decoded{TO_DO}")
    assert list(tmp_path.iterdir()) == []
    assert run(words) == 0


def called(command: str, output: Path, most: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a child process without Python's buffer, so that a short write cannot pass for a whole one."""
    with output.open("wb") as file:
        return subprocess.run(
            [sys.executable, "-m", "quorum.cli.main", *command.replace("NODE", str(NODE)).split()],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            preexec_fn=None if most is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        )


@pytest.mark.parametrize("command", ["log dump NODE", "log dump NODE -o parquet", "shell NODE tree /image"])
def test_output_that_is_cut_short_is_told(command: str, tmp_path: Path) -> None:
    done = called(command, tmp_path / "out", 1000)
    assert (done.returncode, done.stderr) == (2, f"kraft: standard output, which is not whole{TO_DO}")
    assert (tmp_path / "out").stat().st_size == 1000


@pytest.mark.parametrize("command", ["check NODE", "log dump NODE -o jsonl", "log --help"])
def test_a_full_device_is_told(command: str) -> None:
    done = called(command, Path("/dev/full"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("kraft: standard output, which is not whole: No space left on device: make room")


def test_a_journal_line_that_is_cut_short_goes_and_nothing_is_moved(tmp_path: Path) -> None:
    disk = tmp_path / "data"
    (disk / "nobody-0").mkdir(parents=True)
    (disk / "meta.properties").write_text(
        "version=1\nnode.id=13\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\ndirectory.id=vFJ8dSl4SH2HLxQqkVDxNA\n"
    )
    found = audit([disk], [FIXTURES / "stray" / "before" / "node-1"])
    with no_file_larger_than(100), pytest.raises(OSError, match="No space left") as caught:
        quarantine(found.directories, unique=["0" * 32], now_ms=1)
    assert caught.value.filename == str(disk / JOURNAL_FILE)
    assert (list(read_journal(disk)), (disk / "nobody-0").is_dir()) == ([], True)
