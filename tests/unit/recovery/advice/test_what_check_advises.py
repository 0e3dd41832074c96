"""`kraft check` names the command that repairs a finding; the runbook for a corrupt log names the same one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.kafka.runbook import RUNBOOKS
from tests.support.misuses import NO_WAIT, Bench, flipped, last_segment, metadata


def wrong_epochs(node: Path) -> None:
    (metadata(node) / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")


def unreadable_epochs(node: Path) -> None:
    (metadata(node) / "leader-epoch-checkpoint").write_text("rubbish\n")


def wrong_index(node: Path) -> None:
    (metadata(node) / "00000000000000000000.timeindex").write_bytes(b"x" * 12)


def damaged_checkpoint(node: Path) -> None:
    flipped(max(metadata(node).glob("*.checkpoint")), 100)


def cut_checkpoint(node: Path) -> None:
    newest = max(metadata(node).glob("*.checkpoint"))
    os.truncate(newest, newest.stat().st_size - 7)


def torn_tail(node: Path) -> None:
    log = last_segment(node)
    os.truncate(log, log.stat().st_size - 7)
    for index in log.parent.glob("*index"):  # they would prove that it was whole
        index.unlink()


@pytest.mark.parametrize(
    ("damage", "command"),
    [
        (wrong_epochs, "rebuild-indexes"),
        (unreadable_epochs, "rebuild-indexes"),
        (wrong_index, "rebuild-indexes"),
        (damaged_checkpoint, "drop-snapshot"),
        (cut_checkpoint, "drop-snapshot"),
        (torn_tail, "truncate"),
    ],
)
def test_the_command_that_is_advised_mends_it(
    damage: Callable[[Path], None],
    command: str,
    clusters: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    node = Bench(clusters, tmp_path).node("every-record", 1)
    damage(node)
    assert run(["check", str(node), "-o", "json"]) != 0
    findings = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["severity"] != "note"]
    assert findings
    assert all(f"kraft recover {command}" in one["advice"] for one in findings)
    assert f"kraft recover {command} " in (RUNBOOKS / "corrupt-log.md").read_text(encoding="utf-8")
    words = ["--to", findings[0]["offset"]] if command == "truncate" else []
    words += [] if command == "rebuild-indexes" else ["--missing", "rest", *NO_WAIT]
    assert run(["recover", command, "--dir", str(node), *map(str, words), "--apply"]) == 0
    capsys.readouterr()
    assert run(["check", str(node)]) == 0


def test_a_checkpoint_of_the_formatting_is_moved_out_not_dropped(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("every-record", 1)
    flipped(node / "bootstrap.checkpoint", 100)
    assert run(["check", str(node), "-o", "json"]) != 0
    for one in json.loads(capsys.readouterr().out)["findings"]:
        assert "drop-snapshot" not in one["advice"]
        assert "move it out of the directory, and keep it" in one["advice"]
