"""Records whose numbers name nothing, one at the end of a log: every command answers, and none breaks."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from metadata_log.errors import InvariantViolation, MetadataLogError
from quorum.cli.main import run
from tests.support.damage import append
from tests.support.hostile_logs import METADATA, NODE, every_record, strange_numbers

SEGMENT = f"{METADATA}/00000000000000000000.log"
TYPES = sorted(type(record).__name__ for record, _ in every_record())


@pytest.mark.parametrize("kind", TYPES)
def test_no_command_breaks_at_a_number_that_names_nothing(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each number meets `check`, which replays and judges all, and one other command by turns."""
    _run_at_each_number(kind, tmp_path, capfd, others=1)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", TYPES)
def test_no_command_at_all_breaks_at_a_number_that_names_nothing(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _run_at_each_number(kind, tmp_path, capfd, others=len(_commands("")))


def _run_at_each_number(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], *, others: int) -> None:
    """Append a record of this kind for each of its numbers, and run `check` and so many of the other commands."""
    node = Path(shutil.copytree(NODE, tmp_path / "data", copy_function=shutil.copyfile))
    for path in (node / METADATA).glob("*index"):
        path.unlink()
    whole = (node / SEGMENT).read_bytes()
    commands = itertools.cycle(_commands(str(node)))
    for label, record, version in strange_numbers():
        if not label.startswith(f"{kind}."):
            continue
        (node / SEGMENT).write_bytes(whole)
        try:
            append(node / SEGMENT, [record], version)
        except (MetadataLogError, InvariantViolation):
            continue  # the field has no room for the number
        for words in (["check", str(node)], *itertools.islice(commands, others)):
            assert run(words) in (0, 1), (label, words)
        assert "Traceback" not in capfd.readouterr().err


def _commands(node: str) -> list[list[str]]:
    """Return the commands that read a log, but for `check`."""
    return [
        ["shell", node, "tree", "/"],
        ["shell", node, "-c", "find /", "-c", "hash"],
        ["shell", node, "diff", "300", "end"],
        ["log", "verify", "--replay", node],
        ["log", "dump", node, "--from", "370"],
        ["log", "dump", node, "--from", "370", "-o", "jsonl"],
        ["log", "timeline", node],
    ]
