"""New files and directories of the tools: whole or not there, and what is not theirs stays."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from metadata_log.tools.new_files import TargetError, new_directory
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES

LOG = FIXTURES / "basic" / "node-1" / "data"


def test_a_new_directory_appears_whole_and_closed(tmp_path: Path) -> None:
    target = tmp_path / "above" / "new"
    with new_directory(target) as beside:
        (beside / "file").write_text("x")
        assert not target.exists()
    assert (target / "file").read_text() == "x"
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert [path.name for path in target.parent.iterdir()] == ["new"]


def test_nothing_is_left_of_a_directory_that_fails(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="whole"), new_directory(tmp_path / "new"):
        raise OSError("whole")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["directory", "link", "file"])
def test_what_is_at_the_hidden_name_stays(kind: str, tmp_path: Path) -> None:
    theirs, hidden = tmp_path / "theirs", tmp_path / ".new.unfinished"
    theirs.mkdir()
    (theirs / "work").write_text("x")
    if kind == "link":
        hidden.symlink_to(theirs)
    elif kind == "directory":
        shutil.copytree(theirs, hidden)
    else:
        hidden.write_text("x")

    with pytest.raises(TargetError, match="Remove it if it is left of that"), new_directory(tmp_path / "new"):
        raise AssertionError("refused before")

    assert hidden.read_text() == "x" if kind == "file" else (hidden / "work").read_text() == "x"
    assert (theirs / "work").exists()


@pytest.mark.parametrize("words", [["-o", "json"], ["-o", "jsonl", "--redact"]], ids=" ".join)
def test_an_export_removes_no_directory_of_others(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / ".out.unfinished"
    theirs.mkdir()
    (theirs / "work").write_text("x")

    assert run(["log", "export", str(LOG), str(tmp_path / "out"), *words]) == 2

    assert (theirs / "work").read_text() == "x"
    assert not (tmp_path / "out").exists()
    assert f"{theirs} is there" in capsys.readouterr().err
