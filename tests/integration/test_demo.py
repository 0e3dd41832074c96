"""The whole demo as a user runs it, and the remains of a demo that is stopped in the middle."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import wait_until
from quorum.cli.demo.place import MARKER

# Five processes and two Spark jobs a run: half a minute on free cores, minutes on busy ones.
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

_TOKEN = "KRAFT_DEMO_TEST"
PAGE = Path(__file__).parents[2] / "docs" / "demo.md"
_CHANCE = (
    (r"\b20\d\d-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"(?<![\w-])[\w-]{22}(?![\w-]{10})", "ID"),
    (r"(?:/[^\s/]+)*/demo-out\b", "demo-out"),
    (r"\.venv/bin/kraft", "kraft"),
    (r"\d+", "N"),
    (r"\((?:N: controller N(?:, )?)+\)", "(N: controller N)"),
    (r"Committed (?:at least up to offset N|up to offset N, and no record from there on)", "Committed up to offset N"),
    (r" +", " "),
)
"""The parts of the output that differ between runs and places.

A vote of two rounds adds an epoch. An export may end beyond the high watermark.
"""
_EITHER_WAY = ("then leader of epoch", "Everything in it is committed", "Started again, it cut")
"""A vote may need several rounds, and a killed leader may have had records that no other node had."""


class Run:
    """One `kraft demo`. All that it starts inherit a variable of its environment, by which they are found again."""

    def __init__(self, directory: Path, *words: str) -> None:
        self.token = secrets.token_hex(8)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quorum.cli.main", "demo", "--directory", str(directory), *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment(self.token),
        )  # fmt: skip
        self.lines: list[str] = []

    def read_until(self, pattern: str) -> None:
        """Read the output up to a line that matches."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if re.search(pattern, line):
                return
        raise AssertionError(f"it ended without saying {pattern}:\n{''.join(self.lines)}")

    def finish(self) -> str:
        """All it said, when it has ended."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        self.process.wait(60)
        return "".join(self.lines)

    def left(self) -> list[str]:
        """The command lines of its processes that still run."""
        return [_command(entry) for entry in _running(self.token)]


def _environment(token: str) -> Mapping[str, str]:
    return {**os.environ, _TOKEN: token}


def _running(token: str) -> Iterator[Path]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{_TOKEN}={token}".encode() in (entry / "environ").read_bytes():
                yield entry
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def _command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "(just ended)"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "demo-out"


def words_of(story: str) -> list[str]:
    """Its lines, each different one once, without what chance decides."""
    lines = [line for line in story.splitlines() if line.strip() and not any(each in line for each in _EITHER_WAY)]
    for pattern, word in _CHANCE:
        lines = [re.sub(pattern, word, line).strip() for line in lines]
    return list(dict.fromkeys(lines))


def quoted_story() -> str:
    """Return the output of the demo that its page quotes."""
    found = re.search(r"^    The main job: .*?topics --help$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None
    return found[0]


def test_demo_tells_the_whole_story_where_a_former_run_was_stopped_at_its_end(directory: Path) -> None:
    """The first run in an empty directory is one of `tests/packaging/test_installed.py`."""
    _stop_at(directory, r"^\[9/9\]", signal.SIGINT)
    assert (directory / "verdict.html").is_file()
    run = Run(directory)
    said = run.finish()
    assert run.process.returncode == 0, said
    assert run.left() == []
    for number in range(1, 10):
        assert f"[{number}/9]" in said
    assert re.search(r"Nothing could be written for \d+\.\d\d s", said)
    assert re.search(r"it cut offsets \d+ to \d+, which were never committed", said)
    assert re.search(r"staged for deletion.* remove_at=\d{4}-\d\d-\d\dT", said)
    assert re.search(r"error +log_mismatch +node \d", said)
    assert "\x1b[" not in said
    assert words_of(said) == words_of(quoted_story()), "docs/demo.md quotes other output: quote this"
    assert (directory / "verdict.html").is_file()
    assert (directory / "verdict-planted.html").is_file()
    assert sorted(path.name for path in (directory / "exports").iterdir()) == [
        "agent-11", "agent-12", "controller-1", "controller-2", "controller-3",
    ]  # fmt: skip
    assert list((directory / "tmp").iterdir()) == []


def _stop_at(directory: Path, moment: str, number: signal.Signals) -> None:
    """Stop a run at a line: it ends with all that it started, and leaves nothing temporary."""
    run = Run(directory)
    run.read_until(moment)
    run.process.send_signal(number)
    said = run.finish()
    assert run.process.returncode == 128 + number, said
    assert "no process is left" in said
    assert "Traceback" not in said
    assert run.left() == []
    assert list(directory.glob("tmp/*")) == []


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (r"^The main job", signal.SIGINT),
        (r"Five processes on loopback", signal.SIGTERM),
        (r"^\[3/9\]", signal.SIGINT),
        (r"^\[6/9\]", signal.SIGTERM),
        (r"Exported the five logs", signal.SIGINT),
        (r"^\[8/9\]", signal.SIGTERM),
    ],
)
def test_stopped_in_the_middle_leaves_no_process(directory: Path, moment: str, number: signal.Signals) -> None:
    _stop_at(directory, moment, number)


def test_killed_outright_takes_its_nodes_with_it(directory: Path) -> None:
    run = Run(directory)
    run.read_until(r"^\[3/9\]")
    run.process.kill()
    run.finish()
    wait_until("the nodes to end with it", lambda: not run.left())


def test_a_directory_that_is_not_its_own_is_left_alone(directory: Path) -> None:
    directory.mkdir()
    (directory / "precious.txt").write_text("mine")
    run = Run(directory)
    said = run.finish()
    assert run.process.returncode == 2
    assert "was not made by kraft demo" in said
    assert "--directory" in said
    assert [path.name for path in directory.iterdir()] == ["precious.txt"]


def test_two_demos_do_not_share_a_directory(directory: Path) -> None:
    first = Run(directory)
    first.read_until(r"^\[1/9\]")
    assert (directory / MARKER).is_file()
    second = Run(directory)
    said = second.finish()
    assert second.process.returncode == 1
    assert "another kraft demo is running" in said
    first.process.send_signal(signal.SIGINT)
    first.finish()
    assert first.left() == []
