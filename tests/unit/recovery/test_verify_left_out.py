"""`kraft recover verify` of directories some of which cannot be judged: it names each, checks the others, and fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import Bench, empty, foreign, last_segment
from tests.support.readers import as_nobody, open_root


def verified(capsys: pytest.CaptureFixture[str], *paths: Path) -> str:
    assert run(["recover", "verify", *map(str, paths)]) == 1
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_each_bad_directory_is_named_and_the_others_are_checked(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = bench.node("basic", 2)
    with last_segment(cut).open("r+b") as log:
        log.truncate(last_segment(cut).stat().st_size - 7)
    sound, bad = bench.node("basic", 1), [bench.root / "none", empty(bench), foreign(bench, 3)]
    said = verified(capsys, bad[0], sound, bad[1], cut, bad[2])
    for path, what in zip(bad, ("does not exist", "holds no metadata log", "is of another cluster"), strict=True):
        assert any(line.startswith(f"WRONG: {path}: left out: ") and what in line for line in said.splitlines()), said
    assert any(line.startswith(f"WRONG: {cut}") for line in said.splitlines()), said
    assert len([line for line in said.splitlines() if str(sound) in line and "WRONG" not in line]) == 1
    assert "Next:" not in said


def test_where_one_may_not_look_the_others_are_checked(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_root() as root:
        bench = Bench(clusters, root)
        closed, sound = bench.node("basic", 2), [bench.node("basic", 1), bench.node("basic", 3)]
        assert run(["recover", "verify", *map(str, [closed, *sound])]) == 0
        capsys.readouterr()
        closed.chmod(0o000)
        with as_nobody():
            said = verified(capsys, closed, *sound)
        closed.chmod(0o755)
    [wrong] = [line for line in said.splitlines() if line.startswith("WRONG: ")]
    assert wrong.startswith(f"WRONG: {closed}: left out: {closed} cannot be read (Permission denied): run this as")
    assert all(str(path) in said for path in sound)


def test_one_directory_alone_that_is_none_is_an_error(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", "verify", str(bench.root / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_programs_are_told_which_were_left_out(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [bench.node("basic", 1), bench.node("basic", 2), bench.root / "none"]
    assert run(["recover", "verify", *map(str, paths), "-o", "json"]) == 1
    seen = json.loads(capsys.readouterr().out)
    assert [one["path"] for one in seen["directories"]] == [str(path) for path in paths[:2]]
    assert [one["path"] for one in seen["left_out"]] == [str(paths[2])]
    assert seen["steps"] == []
