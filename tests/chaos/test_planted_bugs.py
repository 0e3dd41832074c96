"""Bugs planted in the test's launcher: each is noticed in the one round that exposes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.chaos import enter
from tests.chaos.planted import VARIABLE

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

_HOLD = ("--hold", "10", "--names-live", "60")
"""Seconds: enough for an election on a slow machine, and for a name's state on one side to be read on the other."""


_SEEDS = range(1, 5)
"""Nearly every round exposes a bug; if a slow machine delayed the requests, the next one does."""


def _run(root: Path, planted: str, network: str, seed: int = 1) -> subprocess.CompletedProcess[str]:
    words = ["--seed", str(seed), "--directory", str(root), "--launcher", "tests.chaos.planted", *_HOLD]
    return subprocess.run(
        enter.command(["-m", "tests.chaos", *words, "--round", f"{network},nothing"]),
        env={**enter.environment(), VARIABLE: planted}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _seen(root: Path, planted: str, network: str, *signs: str) -> tuple[Path, str]:
    """Return the directory of the first round whose verdict has all `signs`, and its output."""
    said = []
    for seed in _SEEDS:
        directory = root / str(seed)
        directory.mkdir()
        done = _run(directory, planted, network, seed)
        said.append(done.stdout + done.stderr)
        if done.returncode == 1 and all(sign in done.stdout for sign in signs):
            return directory, done.stdout
    pytest.fail(f"no round of {len(said)} was seen to be {signs}:\n" + "\n\n".join(said))


def test_an_answer_before_the_commit_is_seen(tmp_path: Path) -> None:
    """A leader without followers acknowledges writes that the next leader never gets."""
    directory, _ = _seen(tmp_path, "early-answer,no-check-quorum", "leader apart", "is not linearizable", "is lost")
    assert list(directory.glob("*.html"))


def test_a_read_without_a_barrier_is_seen(tmp_path: Path) -> None:
    """A client of the deposed leader reads state that clients of the next leader have changed."""
    _, said = _seen(tmp_path, "stale-read,no-check-quorum", "split", "is not linearizable")
    assert "is lost" not in said


@pytest.mark.parametrize("network", ["leader apart", "split"])
def test_the_same_round_without_them_is_clean(tmp_path: Path, network: str) -> None:
    """The deposed leader never notices its deposition, but without the bug no client sees a wrong response."""
    done = _run(tmp_path, "no-check-quorum", network)
    assert done.returncode == 0, done.stdout + done.stderr
