"""`kraft` in a process that starts others (a JVM, Python workers), all of which end with it.

They share a kernel session, by which they are found. Without /proc only the process group is killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from quorum.cli.demo.cluster import wait_until
from quorum.cli.demo.interrupts import shielded

_PROC: Final = Path("/proc")
_SESSION_FIELD: Final = 3
"""The field of /proc/PID/stat, counted behind the name in brackets: state, parent, group, session."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The exit status of a process, and its standard output and standard error."""

    status: int
    output: str
    errors: str


def run_kraft(words: Sequence[str], *, scratch: Path) -> Done:
    """Run `kraft words` to its end, with temporary files below `scratch`.

    When this returns or is interrupted, none of its processes and none of these files is left.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    own = Path(tempfile.mkdtemp(dir=scratch))
    process: subprocess.Popen[str] | None = None
    try:
        with shielded():
            process = subprocess.Popen(
                [sys.executable, "-m", "quorum.cli.demo.child", str(os.getpid()), *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                start_new_session=True, env={**os.environ, "TMPDIR": str(own)},
            )  # fmt: skip
        output, errors = process.communicate()
        return Done(status=process.returncode, output=output, errors=errors)
    finally:
        with shielded():
            if process is not None:
                _end_session(process)
            shutil.rmtree(own, ignore_errors=True)


def _end_session(process: subprocess.Popen[str]) -> None:
    """Kill a process and those that it started, and wait until they are gone."""

    def is_gone() -> bool:
        left = list(_members(process.pid))
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    if process.poll() is None:
        process.kill()
        process.wait()
    wait_until("Spark's processes to end", is_gone)


def _members(session: int) -> Iterator[int]:
    """Yield the running processes of a session."""
    if not _PROC.is_dir():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)
        return
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[_SESSION_FIELD]) == session and fields[0] != "Z":
            yield int(entry.name)
