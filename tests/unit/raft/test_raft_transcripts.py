"""The core answers as the transcripts and the table of states and inputs say, byte for byte, under any hash seed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from quorum.raft.transitions import Role
from tests.support.raft_table import INPUTS, SCENES, outcome, table
from tests.support.raft_transcript import play

HERE = Path(__file__).parent
TRANSCRIPTS = sorted((HERE / "transcripts").glob("*.txt"))
TABLE = HERE / "state_by_input.txt"
ROOT = HERE.parents[2]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_is_what_the_core_answers(path: Path) -> None:
    """`python -m tests.support.raft_transcript FILE` rewrites a transcript."""
    assert play(path.read_text()) == path.read_text()


def test_every_state_meets_every_input() -> None:
    """`python -m tests.support.raft_table FILE` rewrites the table."""
    assert set(SCENES) == set(Role)
    assert table() == TABLE.read_text()


@pytest.mark.parametrize("role", list(Role))
def test_no_input_but_a_useless_one_is_passed_over(role: Role) -> None:
    """This test names the inputs without an effect; every other pair has a visible one."""
    silent = {name for name, command in INPUTS.items() if outcome(role, command) == "nothing"}
    allowed = {"Elapsed, too early", "RequestDropped, unknown", "answer, to a question never asked", "SnapshotTaken"}
    allowed |= {name for name in INPUTS if name.endswith(", of none that is received")}
    if role is Role.LEADER:  # repeats its request to silent voters at its own interval, whatever the last one brought
        allowed |= {name for name in INPUTS if name.startswith(("RequestFailed", "answer, same", "answer, older"))}
    if role is Role.UNATTACHED:  # has no request pending: these are responses to earlier ones
        allowed |= {name for name in INPUTS if name.startswith(("RequestFailed", "answer,"))}
    if role is Role.RESIGNED:
        allowed.add("Shutdown")  # it is what made it resign
    assert silent <= allowed


def test_the_same_answers_under_any_hash_seed() -> None:
    """Nothing depends on the order of a set or of a dictionary of strings."""
    program = (
        "import sys, pathlib\nfrom tests.support.raft_transcript import play\n"
        "from tests.support.raft_random_scenarios import run_scenario\n"
        "[sys.stdout.write(play(pathlib.Path(name).read_text())) for name in sys.argv[1:]]\n"
        "[print(seed, run_scenario(seed).describe()) for seed in range(12)]"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program, *map(str, TRANSCRIPTS)],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    ]
    assert outputs[0]
    assert outputs[0] == outputs[1] == outputs[2]
