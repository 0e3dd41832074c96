"""A signal during the start of a process does not hide that process from the cleanup."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from quorum.cli.demo.cluster import Cluster, Node
from quorum.cli.demo.interrupts import Interrupted, interrupts, shielded


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """Puts this process's handlers back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


_started: Final[list[subprocess.Popen[Any]]] = []


class _InterruptedPopen(subprocess.Popen[Any]):
    """A child that sleeps. After the child's start, SIGTERM interrupts its parent, before the caller has the object."""

    def __init__(self, _: object, **words: Any) -> None:
        super().__init__(["sleep", "600"], **words)
        _started.append(self)
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[Any]]]:
    """The processes that were started, each interrupted meanwhile."""
    monkeypatch.setattr(subprocess, "Popen", _InterruptedPopen)
    _started.clear()
    yield _started
    for process in _started:
        with process:
            process.kill()


def test_a_node_is_known_to_whoever_ends_it(tmp_path: Path, started: list[subprocess.Popen[Any]]) -> None:
    node = Node("controller", 1, tmp_path, {}, {})
    with pytest.raises(Interrupted), interrupts():
        node.start()
    assert [node.process] == started
    node.kill()
    assert not node.is_running


def test_a_command_ends_with_whoever_ran_it(tmp_path: Path, started: list[subprocess.Popen[Any]]) -> None:
    cluster = Cluster(tmp_path)
    with pytest.raises(Interrupted), interrupts():
        cluster.run("storage", "random-uuid")
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_a_shield_of_another_thread_holds_nothing_back() -> None:
    inside, done = threading.Event(), threading.Event()

    def start() -> None:
        with shielded():
            inside.set()
            done.wait()

    thread = threading.Thread(target=start)
    thread.start()
    try:
        assert inside.wait(30)
        with pytest.raises(Interrupted), interrupts():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        done.set()
        thread.join()
