"""Bugs planted in the launcher of the test: each is seen in the one round that brings it out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.chaos import enter

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        enter.command(["-m", "tests.chaos", "--seed", "1", "--directory", str(root), *words]),
        env=enter.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_answer_before_the_commit_is_seen(tmp_path: Path) -> None:
    """A leader that nobody follows any more acknowledges what the next one never hears of."""
    done = _run(tmp_path, "--launcher", "tests.chaos.planted_early_answer", "--round", "leader apart,nothing")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is not linearizable" in done.stdout
    assert "is lost" in done.stdout
    assert list(tmp_path.glob("*.html"))


def test_the_same_round_without_it_is_clean(tmp_path: Path) -> None:
    done = _run(tmp_path, "--round", "leader apart,nothing")
    assert done.returncode == 0, done.stdout + done.stderr
