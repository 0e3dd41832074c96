"""Status 1 with `-o json`: what is wrong is in the JSON, too, and not only on standard error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from quorum.cli import findings_output as findings
from quorum.cli import output
from quorum.cli.errors import CliError
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "basic" / "node-1"


def _damage(path: Path, position: int) -> None:
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("position", [20, 300, -1])
def test_of_a_damaged_backup(position: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = tmp_path / "cluster.backup"
    assert run(["snapshot", "save", str(NODE), str(backup)]) == 0
    _damage(backup, position)
    capsys.readouterr()

    assert run(["snapshot", "status", str(backup), "-o", "json"]) == 1

    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert told["file"] == str(backup)
    assert captured.err == f"kraft: {told['problem']}\n"


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_of_the_only_log_that_is_damaged(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = shutil.copytree(NODE, tmp_path / "node-1")
    _damage(node / "data" / "__cluster_metadata-0" / "00000000000000000000.log", 3000)

    assert run(["log", "hash", str(node), "-o", form]) == 1

    captured = capsys.readouterr()
    told = json.loads(captured.out)
    (line,) = told["hashes"] if form == "json" else [told]
    assert (line["path"], line["hash"]) == (str(node), None)
    assert "--at" in line["problem"]
    assert captured.err == f"kraft: {line['problem']}\n"


def test_of_an_offset_that_the_log_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "hash", str(NODE), "--at", "9999", "-o", "json"]) == 1

    (line,) = json.loads(capsys.readouterr().out)["hashes"]
    assert "has no state at offset 9999" in line["problem"]


@pytest.mark.parametrize("words", [["-o", "json"], ["-ojson"], ["--output", "JSON"], ["--output=json"]])
def test_why_there_is_no_answer(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["check", str(tmp_path / "none")], ["recover", "standalone", "--dir", str(tmp_path)]):
        assert run([*command, *words]) in (1, 2)
        captured = capsys.readouterr()
        assert captured.err == f"kraft: {json.loads(captured.out)['error']}\n"


@pytest.mark.parametrize("words", [[], ["-o", "table"], ["-o", "jsonl"]])
def test_nothing_is_told_as_data_that_was_not_asked_for(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(tmp_path / "none"), *words]) == 2
    assert capsys.readouterr().out == ""


def test_no_second_value_comes_behind_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def show_and_fail(value: object) -> None:
        output.show_json(value)
        raise CliError("too late")

    monkeypatch.setattr(findings, "show_json", show_and_fail)
    assert run(["log", "verify", str(NODE), "-o", "json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["findings"] == []
    assert captured.err == "kraft: too late\n"
