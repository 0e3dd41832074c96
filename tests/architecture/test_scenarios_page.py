"""`quorum/SCENARIOS.md` against Kafka's list of tests and against ours: nothing missing, nothing that is not run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.collected import Collected

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "quorum" / "SCENARIOS.md").read_text()
KAFKA = json.loads((ROOT / "tests" / "scenarios" / "kafka_raft_tests.json").read_text())
NOT_YET, OTHERS = "Not covered yet", "The other classes of raft's module"
NOT_APPLICABLE = "does not apply: "


def _sections() -> dict[str, list[tuple[str, str]]]:
    """The rows of each table, by its heading."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for part in PAGE.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        rows = [line.strip("|").split(" | ") for line in body.splitlines() if line.startswith("| ")]
        assert all(len(row) == 2 for row in rows), heading
        sections[heading] = [(name.strip(), cell.strip()) for name, cell in rows[1:]]
    return sections


def _named(cell: str) -> list[str]:
    """Return the tests that one cell names: `module` or `module::function[case]`."""
    return [name for name in re.findall(r"`([^`]+)`", cell) if name.startswith("test_")]


def _collected(named: frozenset[str]) -> Collected:
    """Return the tests of the named modules that a run without the campaigns collects."""
    modules = {ours.partition("::")[0] for ours in named}
    files = [str(file) for file in sorted((ROOT / "tests").rglob("test_*.py")) if file.stem in modules]
    options = ["-q", "--collect-only", "-p", "tests.support.collected", "-m", "not campaign"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return Collected.read(done.stdout)


def test_every_test_of_kafkas_stands_there_once() -> None:
    sections = _sections()
    open_rows = [name for name, _ in sections[NOT_YET]]
    for class_name, tests in KAFKA["tests"].items():
        rows = [name for name, _ in sections.get(class_name, [])]
        rows += [name.removeprefix(f"{class_name}.") for name in open_rows if name.startswith(f"{class_name}.")]
        assert sorted(rows) == sorted(tests), class_name
    assert sum(len(tests) for tests in KAFKA["tests"].values()) == 366
    assert {name.split(".")[0] for name in open_rows} <= set(KAFKA["tests"])
    assert [name for name, _ in sections[OTHERS]] == sorted(KAFKA["other_classes"])


def test_every_row_says_where_or_why() -> None:
    for heading, rows in _sections().items():
        for name, cell in rows:
            assert cell, name
            if heading not in (NOT_YET, OTHERS):
                assert bool(_named(cell)) != cell.startswith(NOT_APPLICABLE), name
                assert all("::" in ours for ours in _named(cell)), name


def test_the_numbers_are_those_of_the_rows() -> None:
    sections = _sections()
    rows = [cell for class_name in KAFKA["tests"] for _, cell in sections.get(class_name, [])]
    outside = sum(cell.startswith(NOT_APPLICABLE) for cell in rows)
    said = (
        f"**{len(rows) - outside} are covered, {outside} do not apply, {len(sections[NOT_YET])} are not covered yet**"
    )
    assert said in PAGE.replace("\n", " "), said


@pytest.mark.timeout(600)  # a few seconds of processor time, which a loaded machine may not have in two minutes
def test_every_test_of_ours_that_is_named_is_run() -> None:
    """Collected by the very command that runs all tests, under that name, and nowhere told to skip."""
    named = frozenset(ours for rows in _sections().values() for _, cell in rows for ours in _named(cell))
    collected = _collected(named)
    assert {ours for ours in named if not collected.runs(ours)} == set()


def test_what_is_not_there_or_skipped_would_be_noticed() -> None:
    collected = Collected.read(
        "scenario-test tests/a/test_a.py::test_x[one - 1] runs\n"
        "scenario-test tests/a/test_a.py::test_y skips\n"
        "scenario-test tests/b/test_b.py::TestB::test_z runs\n"
    )
    assert collected.runs("test_a::test_x")
    assert collected.runs("test_a::test_x[one - 1]")
    assert not collected.runs("test_a::test_x[two]")
    assert not collected.runs("test_a::test_y")
    assert not collected.runs("test_a::test_w")
    assert not collected.runs("test_a")
    assert collected.runs("test_b")
    assert collected.runs("test_b::test_z")
    assert not collected.runs("test_c")
