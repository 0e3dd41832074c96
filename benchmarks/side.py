"""The interface of a side of the benchmark: three servers as processes, and requests for their state.

Must not know: what is measured.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

_KIB: Final = 1024
_TIMEOUT_S: Final = 10.0
_END_S: Final = 60.0


class Side(Protocol):
    """Three servers of one make, on this machine, each with its directory on the same file system."""

    kind: str
    """As the load generator calls it."""
    title: str
    """Name and version, for the report."""
    warm_s: float
    """How long it has to be under load before its rates are its own: compilers need time."""
    takes_checkpoints: bool
    """Whether it has Kafka's settings of when a checkpoint is written."""

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """Start all three on fresh directories, and wait until one leads and takes writes.

        `properties`: more of Kafka's settings, for sides that take checkpoints.
        """

    def stop(self) -> None:
        """Leave no process and no directory behind."""

    @property
    def members(self) -> tuple[str, ...]:
        """The servers' names."""

    def leader(self) -> str:
        """The one that leads now; waits until there is one."""

    def address(self, member: str) -> str:
        """`host:port` that clients connect to."""

    def pid(self, member: str) -> int:
        """Return the id of its process."""

    def directory(self, member: str) -> Path:
        """Return the directory of its log and its checkpoints."""

    def signal(self, member: str, number: signal.Signals) -> int:
        """Send it a signal, and wait for its end where that ends it; the time just before, in ns since 1970."""

    def restart(self, member: str) -> None:
        """Start it again; returns as soon as the process is there."""

    def await_replayed(self, member: str) -> None:
        """Wait until it has applied all that is committed now."""

    def syncs(self, member: str) -> int | None:
        """Return its durable writes (fsync or fdatasync) since its start, or None if it does not report them."""


class MissingError(RuntimeError):
    """A peer is not installed; the message says what to do."""


def send_signal(process: subprocess.Popen[bytes], number: signal.Signals) -> int:
    """See `Side.signal`."""
    now = time.time_ns()
    process.send_signal(number)
    if number in (signal.SIGKILL, signal.SIGTERM):
        process.wait(_END_S)
    return now


def page(address: str, path: str) -> str:
    """The body of `GET http://address/path`."""
    with urllib.request.urlopen(f"http://{address}{path}", timeout=_TIMEOUT_S) as answer:
        return str(answer.read().decode())


def samples(text: str) -> Mapping[str, float]:
    """Prometheus' text form: value by name and labels, as written there."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def resident_mb(pid: int) -> float:
    """Resident memory of a process in MB (10^6 bytes)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * _KIB / 1e6
    raise ProcessLookupError(f"process {pid} has no VmRSS: it has ended")


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
