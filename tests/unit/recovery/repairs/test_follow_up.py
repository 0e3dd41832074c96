"""After the command has ended, `verify` shows the next steps of a repair again, from its audit file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import NO_WAIT, Bench, last_segment
from tests.unit.recovery.advice.test_obstacles import said_of

JOIN = "Then make it a voter, one controller after the other"
ASIDE = "On each other controller (2, 3): keep its old directory"


def alone(node: Path) -> list[str]:
    return ["standalone", "--dir", str(node), "--missing", "rest", *NO_WAIT, "--apply"]


@pytest.fixture
def repaired(bench: Bench) -> Path:
    node = bench.node("basic", 1)
    assert run(["recover", *alone(node)]) == 0
    return node


def test_verify_tells_the_next_steps_again(repaired: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(capsys, 0, "verify", repaired)
    assert JOIN in said
    assert ASIDE in said
    assert said.count("Start the repaired controller") == 1
    assert "Check the result" not in said


def test_the_audit_file_has_them(repaired: Path) -> None:
    (path,) = repaired.parent.glob("*.recovery/*/audit.json")
    steps = json.loads(path.read_text())["facts"]["steps"]
    assert steps[0]["commands"] == [f"kraft recover verify {repaired}"]
    assert steps[-1]["text"].startswith(JOIN)


def test_the_same_command_once_more_says_where_they_are(repaired: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(capsys, 1, *alone(repaired))
    assert f"What follows the repair that was done: kraft recover verify {repaired}" in said


def test_they_are_told_until_another_controller_has_joined(repaired: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with last_segment(repaired).open("ab") as log:
        log.write(b"\0\0\0\0\0\0\0\x61\0\0\1")
    assert JOIN in said_of(capsys, 0, "verify", repaired)
    assert run(["recover", "undo", "--dir", str(repaired), "--apply"]) == 1  # it has grown


def test_of_a_repair_that_was_taken_back_nothing_follows(repaired: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", "undo", "--dir", str(repaired), "--apply"]) == 0
    assert JOIN not in said_of(capsys, 1, "verify", repaired)


def test_where_the_directory_was_moved_the_audit_file_is_named(
    repaired: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = repaired.with_name("moved")
    shutil.move(repaired, moved)
    shutil.move(f"{repaired}.recovery", f"{moved}.recovery")
    said = said_of(capsys, 0, "verify", moved)
    assert f"Follow the steps of the repair: {moved}.recovery/" in said
    assert f"{repaired} " not in said


def test_a_log_that_was_cut_tells_of_itself(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = bench.node("basic", 1)
    cut = ["truncate", "--dir", str(node), "--to", "83", "--missing", "rest", *NO_WAIT, "--accept-data-loss", "--apply"]
    assert run(["recover", *cut]) == 0
    assert f"What follows the repair that was done: kraft recover verify {node}" in said_of(capsys, 1, *cut)
