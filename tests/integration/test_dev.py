"""`kraft dev` as a user runs it: what it starts, what it prints, and what is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import LOOPBACK, wait_until
from quorum.cli.dev.place import PORTS
from tests.support.port_rows import free_row

# Five processes a start.
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

KRAFT = Path(sys.executable).with_name("kraft")
_TOKEN = "KRAFT_DEV_TEST"
_READY = "goes on with this cluster"


_started: list[Dev] = []


class Dev:
    """One `kraft dev`. All that it starts inherit a variable of its environment, by which they are found again."""

    def __init__(self, directory: Path, *words: str) -> None:
        self.token = secrets.token_hex(8)
        self.process = subprocess.Popen(
            [KRAFT, "dev", "--dir", str(directory), *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=directory.parent, env={**os.environ, _TOKEN: self.token},
        )  # fmt: skip
        self.lines: list[str] = []
        _started.append(self)

    def read_until(self, pattern: str) -> str:
        """All that it has said, up to a line that matches."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if re.search(pattern, line):
                return "".join(self.lines)
        raise AssertionError(f"it ended without saying {pattern}:\n{''.join(self.lines)}")

    def finish(self) -> str:
        """All it said, when it has ended."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        self.process.wait(60)
        return "".join(self.lines)

    def stop(self, number: signal.Signals = signal.SIGINT) -> str:
        """Send a signal, and return all that it said."""
        self.process.send_signal(number)
        return self.finish()

    def left(self) -> dict[int, str]:
        """The command lines of its processes that still run, itself among them."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"{_TOKEN}={self.token}".encode() in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
        return found


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Ends what a failed test left."""
    _started.clear()
    yield
    for dev in _started:
        with dev.process:
            dev.process.kill()
        for pid in dev.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "kraft-dev"


@pytest.fixture
def port() -> Iterator[int]:
    with free_row(PORTS) as first:
        yield first


def _commands(said: str) -> list[str]:
    return re.findall(r"^  (.*kraft .*)$", said.partition("Try in another terminal:")[2], re.MULTILINE)


def _cluster_id(said: str) -> str:
    found = re.search(r"Cluster id ([\w-]{22}),", said)
    assert found is not None
    return found[1]


def test_every_printed_command_works_and_a_second_start_goes_on_with_the_same_cluster(
    directory: Path, port: int, tmp_path: Path
) -> None:
    dev = Dev(directory, "--port", str(port))
    said = dev.read_until(_READY)
    for number in range(port, port + PORTS):
        assert f"{LOOPBACK}:{number}" in said
    commands = _commands(said)
    assert len(commands) == 5
    answers = []
    for command in commands:
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert (done.returncode, done.stderr) == (0, ""), command
        answers.append(done.stdout)
    topic_id = re.search(r"TopicId: ([\w-]{22})", answers[1])
    assert topic_id is not None
    assert "PartitionCount: 3  ReplicationFactor: 2" in answers[1]
    assert topic_id[1] in answers[4], "the log that is dumped has the topic"
    said = dev.stop(signal.SIGINT)
    assert (dev.process.returncode, dev.left()) == (0, {}), said
    assert "no process is left" in said

    again = Dev(directory)
    said_again = again.read_until(_READY)
    assert _cluster_id(said_again) == _cluster_id(said)
    described = subprocess.run(["/bin/sh", "-c", _commands(said_again)[1]], capture_output=True, text=True, check=True)
    assert topic_id[0] in described.stdout
    said_again = again.stop(signal.SIGTERM)
    assert (again.process.returncode, again.left()) == (0, {}), said_again


def test_one_that_dies_is_named_and_the_others_go_on_until_the_parent_is_killed(directory: Path, port: int) -> None:
    dev = Dev(directory, "--port", str(port))
    dev.read_until(_READY)
    (victim,) = [pid for pid, command in dev.left().items() if "agent-12" in command]
    os.kill(victim, signal.SIGKILL)
    said = dev.read_until("Start it in another terminal")
    assert "agent 12 was killed by SIGKILL; the others go on" in said
    assert f"less {directory}/agent-12/node.log" in said
    assert len(dev.left()) == 5

    second = Dev(directory)
    assert f"another kraft dev is running in {directory}" in second.finish()
    assert second.process.returncode == 1

    dev.process.kill()
    wait_until("the nodes to end with it", lambda: not dev.left())
    dev.finish()
    after = Dev(directory)
    after.read_until(_READY)
    assert after.stop().count("Traceback") == 0


def test_ended_while_it_starts_it_leaves_no_process_and_nothing_half_made(directory: Path, port: int) -> None:
    dev = Dev(directory, "--port", str(port))
    wait_until("a node to be started", lambda: list(directory.glob("*/node.log")))
    said = dev.stop(signal.SIGTERM)
    assert dev.left() == {}
    assert "Traceback" not in said
    assert json.loads((directory / "cluster.json").read_text())["port"] == port
    again = Dev(directory)
    again.read_until(_READY)
    again.stop()
    assert (again.process.returncode, again.left()) == (0, {})
