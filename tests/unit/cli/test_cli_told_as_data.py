"""Status 1 with `-o json`: what is wrong is in the JSON, too, and not only on standard error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

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
    (line,) = told if form == "json" else [told]
    assert (line["path"], line["hash"]) == (str(node), None)
    assert "--at" in line["problem"]
    assert captured.err == f"kraft: {line['problem']}\n"


def test_of_an_offset_that_the_log_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "hash", str(NODE), "--at", "9999", "-o", "json"]) == 1

    (line,) = json.loads(capsys.readouterr().out)
    assert "has no state at offset 9999" in line["problem"]
