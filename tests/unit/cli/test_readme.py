"""The README: its length, its targets of make, and its transcript, which the commands print today."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LEFT_OUT = "..."


def transcript(page: str) -> list[tuple[str, list[str]]]:
    """Return each command of the first block with a prompt, and the lines that the page shows below it."""
    found = re.search(r"^    \$ .*\n(?:    .*\n)+", page, re.MULTILINE)
    assert found is not None
    lines = [line.removeprefix("    ") for line in found[0].splitlines()]
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    ends = [*starts[1:], len(lines)]
    return [(lines[start][2:], lines[start + 1 : end]) for start, end in zip(starts, ends, strict=True)]


def shown_in(printed: str, shown: list[str]) -> bool:
    """Return True if a command printed these lines, with others only in place of `...`."""
    parts = [re.escape(line) + "\n" if line != LEFT_OUT else "(?:.*\n)*?" for line in [*shown, LEFT_OUT]]
    return re.match("".join(parts), printed) is not None


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `broken`: three controllers of Kafka, and one byte changed in the log of controller 3."""
    shutil.copytree(ROOT / "tests" / "fixtures" / "basic", tmp_path / "broken")
    log = tmp_path / "broken" / "node-3" / "data" / "__cluster_metadata-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes().replace(b"orders-3", b"0rders-3", 1))
    return tmp_path


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_its_transcript_is_what_the_commands_print(place: Path) -> None:
    commands = transcript(README)
    assert [command.split()[1] for command, _ in commands] == ["check", "shell", "recover"]
    for command, shown in commands:
        words = [sys.executable, "-m", "quorum.cli.main", *shlex.split(command)[1:]]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        assert shown_in(done.stdout, shown), f"{command} printed:\n{done.stdout}{done.stderr}"


def test_its_targets_of_make_exist() -> None:
    targets = re.findall(r"^    make ([a-z-]+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize(
    ("shown", "is_shown"),
    [
        (["a", "b"], True),
        (["a", LEFT_OUT, "c"], True),
        ([LEFT_OUT, "b"], True),
        (["b"], False),
        (["a", "c"], False),
        ([LEFT_OUT, "c", "b"], False),
    ],
)
def test_another_transcript_is_found(shown: list[str], is_shown: bool) -> None:
    assert shown_in("a\nb\nc\n", shown) == is_shown
