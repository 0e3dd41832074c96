"""Bugs planted in the launcher of the test: each is seen in the one round that brings it out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.chaos import enter
from tests.chaos.planted import VARIABLE

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

_HOLD = ("--hold", "10")
"""Seconds: enough for the others to elect a leader, on a slow machine too."""


def _run(root: Path, planted: str, network: str) -> subprocess.CompletedProcess[str]:
    words = ["--seed", "1", "--directory", str(root), "--launcher", "tests.chaos.planted", *_HOLD]
    return subprocess.run(
        enter.command(["-m", "tests.chaos", *words, "--round", f"{network},nothing"]),
        env={**enter.environment(), VARIABLE: planted}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_answer_before_the_commit_is_seen(tmp_path: Path) -> None:
    """A leader that nobody follows any more acknowledges what the next one never hears of."""
    done = _run(tmp_path, "early-answer,no-check-quorum", "leader apart")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is not linearizable" in done.stdout
    assert "is lost" in done.stdout
    assert list(tmp_path.glob("*.html"))


def test_a_read_without_a_barrier_is_seen(tmp_path: Path) -> None:
    """Who is still with the deposed leader reads what the others, with the next one, have changed."""
    done = _run(tmp_path, "stale-read,no-check-quorum", "split")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is not linearizable" in done.stdout
    assert "is lost" not in done.stdout


@pytest.mark.parametrize("network", ["leader apart", "split"])
def test_the_same_round_without_them_is_clean(tmp_path: Path, network: str) -> None:
    """Though the deposed leader never notices."""
    done = _run(tmp_path, "no-check-quorum", network)
    assert done.returncode == 0, done.stdout + done.stderr
