"""Misuses that `kraft recover` refuses: each ends in a sentence that says what to do, and changes no byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import NO_WAIT, Bench, Case, contents
from tests.support.misuses_of_files import FILES_MISUSES
from tests.support.misuses_of_members import MEMBERS_MISUSES
from tests.support.misuses_of_survivor import SURVIVOR_MISUSES

CASES = (*SURVIVOR_MISUSES, *MEMBERS_MISUSES, *FILES_MISUSES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_misuse_is_refused_and_changes_nothing(
    case: Case, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(clusters, tmp_path)
    words = [*map(str, ["recover", *case.words(bench), "--apply"])]
    if words[1] not in ("undo", "rebuild-indexes"):
        words += NO_WAIT
    before = contents(tmp_path)
    capsys.readouterr()
    status = run(words)
    bench.stop()
    assert status in (1, 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kraft: ")
    assert re.search(case.says, said.err.replace("\n", " ")), said.err
    assert contents(tmp_path) == before


def test_there_are_enough_of_them() -> None:
    assert len({case.name for case in CASES}) >= 40
