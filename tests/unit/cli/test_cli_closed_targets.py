"""Commands that write where their user may not: the error names the place that was asked for, and what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from metadata_log.tools.new_files import TargetError, new_file
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES
from tests.support.readers import as_nobody, open_root

NODE: Final = FIXTURES / "basic/node-1"
COMMANDS: Final = (
    "log export NODE OUT",
    "log export NODE OUT -o jsonl --redact",
    "log timeline NODE --picture OUT.svg",
    "snapshot save NODE OUT",
    "snapshot restore BACKUP OUT --node-id 1",
)


@pytest.mark.parametrize("closed", ["to be written", "to be looked into"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_target_is_named(command: str, closed: str, capfd: pytest.CaptureFixture[str]) -> None:
    with open_root() as root:
        backup = root / "backup"
        assert run(["snapshot", "save", str(NODE), str(backup)]) == 0
        backup.chmod(0o644)
        assert _run(command, backup, root / "first") == 0  # imports need the rights of this user
        parent = root / "parent"
        parent.mkdir()
        parent.chmod(0o555 if closed == "to be written" else 0)
        capfd.readouterr()
        try:
            with as_nobody():
                status = _run(command, backup, parent / "out")
        finally:
            parent.chmod(0o755)
        err = capfd.readouterr().err
        assert (status, err.count("\n")) == (2, 1)
        assert err.startswith(f"kraft: {parent / 'out'}"), err
        assert "Permission denied" in err
        assert "run this as the user" not in err or command.startswith("snapshot restore")  # a node's directory
        assert "meta.properties" not in err
        assert os.listdir(parent) == []


def test_a_hidden_file_is_named_by_its_target() -> None:
    with open_root() as root:
        root.chmod(0o555)
        with as_nobody(), pytest.raises(TargetError, match=r"report\.html cannot be written") as raised:
            new_file(root / ".hidden", named=root / "report.html").__enter__()
    assert ".hidden" not in str(raised.value)


def _run(command: str, backup: Path, out: Path) -> int:
    words = command.replace("OUT", str(out)).replace("NODE", str(NODE)).replace("BACKUP", str(backup))
    return run(words.split())
