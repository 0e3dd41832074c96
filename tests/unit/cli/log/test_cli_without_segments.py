"""Directories whose segments are gone: what is left of the log is shown, and what is missing is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.releases_fixture import unpack_release

MISSING = "what was written from there on is missing"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A controller's metadata directory with checkpoints and quorum-state alone."""
    directory = unpack_release("4.4", tmp_path)[0] / "data" / "__cluster_metadata-0"
    for path in directory.iterdir():
        if path.suffix in {".log", ".snapshot"} or path.name == "leader-epoch-checkpoint":
            path.unlink()
    return directory


def _newest(log: Path) -> Path:
    return max(log.glob("*.checkpoint"))


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("form", [(), ("-o", "jsonl"), ("-o", "table")])
def test_dump_shows_the_checkpoints(
    levels: int, form: tuple[str, ...], log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    named = [log, *log.parents][levels]
    assert run(["log", "dump", *map(str, sorted(log.glob("*.checkpoint"))), *form]) == 0
    checkpoints = capfd.readouterr()
    assert not checkpoints.err
    assert run(["log", "dump", str(named), *form]) == 1
    said = capfd.readouterr()
    assert said.out == checkpoints.out
    end = int(_newest(log).name.split("-")[0])
    assert f"{log}: there is no segment. Checkpoints are left, the newest up to offset {end}: {MISSING}" in said.err


def test_what_proves_a_longer_log_is_named(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    end = int(_newest(log).name.split("-")[0]) + 7
    (log / f"{end:020}.snapshot").touch()
    assert run(["log", "dump", str(log)]) == 1
    said = capsys.readouterr().err
    assert f"{end:020}.snapshot proves that the log reached offset {end}" in said
    assert MISSING in said


def test_a_directory_that_was_only_formatted_lacks_nothing(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _newest(log).unlink()
    assert [path.name for path in log.glob("*.checkpoint")] == ["00000000000000000000-0000000000.checkpoint"]
    assert run(["log", "dump", str(log)]) == 0
    assert not capsys.readouterr().err


def test_export_says_that_no_segment_is_in_it(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = tmp_path / "export"
    assert run(["log", "export", str(log.parent), str(export)]) == 1
    said = capsys.readouterr()
    assert "5 files, no segment, high watermark unknown" in said.out
    assert MISSING in said.err
    assert run(["log", "dump", str(export), "-o", "jsonl"]) == 1
    types = {json.loads(line)["type"] for line in capsys.readouterr().out.splitlines()}
    assert "TOPIC_RECORD" in types


@pytest.mark.parametrize("words", ["log verify", "log verify --replay", "check"])
def test_verification_names_the_lost_log(words: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), str(log.parent)]) == 1
    assert "log_missing" in capsys.readouterr().out


def test_the_shell_shows_the_checkpoint(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shell", str(log.parent), "ls", "/topics/by-name"]) == 0
    assert "orders" in capsys.readouterr().out.split()


def test_a_timeline_needs_segments(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "timeline", str(log.parent)]) == 2
    assert "no segment is there, and a checkpoint does not say when" in capsys.readouterr().err


def test_an_empty_metadata_directory_is_not_called_absent(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for checkpoint in log.glob("*.checkpoint"):
        checkpoint.unlink()
    for named in (log, log.parent):
        assert run(["log", "dump", str(named)]) == 2
        assert f"{log} holds neither segments (.log) nor checkpoints\n" in capsys.readouterr().err
