"""Nodes whose process is forked from one that has imported everything: imports are two thirds of a start.

From its first line on, a forked node is the same process that `Node` starts. A test with another command line, such as
another release's, has it executed; so have the demo and `kraft dev`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorum.cli.demo import cluster
from quorum.cli.demo.interrupts import shielded

_ROOT = Path(__file__).resolve().parents[2]
_LONGEST_ANSWER = 100


class Forked:
    """A node's process, with what `Node` uses of `subprocess.Popen`."""

    def __init__(self, starter: _Starter, pid: int) -> None:
        self.pid = pid
        self.returncode: int | Any = None
        self._starter = starter
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, when it has ended.

        Raises:
            subprocess.TimeoutExpired: it runs on.
        """
        status = self._look(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return status

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            ends = select.poll()
            ends.register(self._handle, select.POLLIN)
            if ends.poll(None if timeout is None else timeout * 1000):
                self.returncode = self._starter.status_of(self.pid)
                os.close(self._handle)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)


class _Starter:
    """The process that forks nodes: it ends with this one, and its nodes end with it."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turns = threading.Lock()
        with theirs, shielded():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm_starter"], stdin=theirs, cwd=_ROOT, start_new_session=True
            )

    def start(self, words: list[str], environment: Mapping[str, str], log: int) -> Forked:
        """Return the process of `kraft words`, which writes to the file descriptor `log`."""
        request = {"words": words, "environment": dict(environment), "directory": os.getcwd()}
        return Forked(self, self._ask(request, [log]))

    def status_of(self, pid: int) -> int:
        """Return the exit status of an ended node: that of SIGKILL if it ended with this process."""
        try:
            return self._ask({"pid": pid}, [])
        except OSError:
            return -signal.SIGKILL

    def _ask(self, request: dict[str, object], descriptors: list[int]) -> int:
        with self._turns, shielded():
            socket.send_fds(self._requests, [json.dumps(request).encode()], descriptors)
            answer = self._requests.recv(_LONGEST_ANSWER)
        if not answer:
            raise ConnectionResetError("the process that forks nodes has ended")
        return int(answer)

    def end(self) -> None:
        """End it and wait, so that this process knows the CPU time of its nodes."""
        self._requests.close()
        self._process.wait()


_starters: list[_Starter] = []
"""At most one: the starter, once a node was started."""


def end_starter() -> None:
    """End the process that forks nodes, if there is one; the next start makes another."""
    while _starters:
        _starters.pop().end()


class WarmNode(cluster.Node):
    """A node whose start costs no imports."""

    def start(self, *, environment: Mapping[str, str] | None = None) -> None:
        """Fork its process, if this machine can and the test has no other command line."""
        if self.launcher != cluster.LAUNCHER or not hasattr(os, "pidfd_open"):
            super().start(environment=environment)
            return
        if not _starters:
            _starters.append(_Starter())
        with self.log_file.open("ab") as log:
            self.process = _starters[0].start(self.command, {**os.environ, **(environment or {})}, log.fileno())
