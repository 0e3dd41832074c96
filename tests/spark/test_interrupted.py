"""`kraft analyze` is interrupted: nothing of Spark is left, no process and no file, and nothing is printed about it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.fixture_files import FIXTURES

DEADLINE_S = 120.0


def _with_java(directory: Path) -> list[str]:
    """Processes that were given files below a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(directory) in words:
            found.append(words)
    return found


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("starting Spark", signal.SIGTERM),
        ("reading and judging", signal.SIGINT),
        pytest.param("starting Spark", signal.SIGINT, marks=pytest.mark.campaign),
        pytest.param("reading and judging", signal.SIGTERM, marks=pytest.mark.campaign),
    ],
)
def test_nothing_of_spark_is_left(step: str, number: signal.Signals, tmp_path: Path) -> None:
    said = tmp_path / "said"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with said.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "quorum.cli.main", "analyze", str(FIXTURES / "basic")],
            stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )  # fmt: skip
    until = time.monotonic() + DEADLINE_S
    while not (step in said.read_text() and _with_java(scratch)):
        assert process.poll() is None, said.read_text()
        assert time.monotonic() < until, f"no {step!r} in time: {said.read_text()}"
        time.sleep(0.01)
    os.killpg(process.pid, number)
    assert process.wait(timeout=DEADLINE_S) == 128 + number
    assert _with_java(scratch) == []
    assert list(scratch.iterdir()) == []
    assert [line for line in said.read_text().splitlines() if " ..." not in line] == []
