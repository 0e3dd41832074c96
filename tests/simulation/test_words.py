"""`make sim` and the mutant runner reject meaningless words with one sentence and status 2."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.mutant_run import main as run_mutants
from tests.simulation.mutant_table import ROOT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["MINUTES=0"], "'0' is not a number above 0"),
        (["MINUTES=nan"], "'nan' is not a number above 0"),
        (["WORKERS=0"], "'0' is not a whole number above 0"),
        (["SEED=7", "KEEP=999"], "'999' is no fault of seed 7"),
        (["SEED=7", "KEEP=x"], "'x' is no fault of seed 7"),
        (["SEED=7", "CHANGE=foo=1"], "'foo=1' is not NAME=NUMBER"),
        (["SEED=7", "CHANGE=clients=many"], "'clients=many' is not NAME=NUMBER"),
        (["KEEP=1"], "belong to the scenario of one --seed"),
    ],
)
def test_make_sim_refuses_words_that_mean_nothing(words: list[str], said: str) -> None:
    python = f"BIN={sys.executable.rpartition('/')[0]}"
    # Variables of the make that runs the tests, such as ARGS, are not meant for this one.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("ARGS", "MAKEFLAGS", "MAKEOVERRIDES")
    }
    done = subprocess.run(
        ["make", "-s", "sim", python, *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["stale"], ["stale", "1", "2"]])
def test_a_planted_bug_that_is_none_is_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_mutants(words) == 2
    said = capsys.readouterr().err
    assert "no planted bug is called 'stale'. There are:" in said
    assert "  two votes in an epoch" in said
