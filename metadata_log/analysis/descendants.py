"""The processes that this one has started, and those that they have: Spark's JVM, its launcher, its Python workers.

Decides: how they are found and ended. Must not know: what they do. Where there is no /proc, none is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_STATE, _PARENT = 0, 1
"""Of /proc/PID/stat, counted behind the name in brackets."""
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.01


def own_group() -> dict[str, int]:
    """For Popen: a terminal's Ctrl-C is to reach this process alone, which then ends the others."""
    return {"process_group": 0} if _PROC.is_dir() else {}


def end_descendants() -> None:
    """Kill all of them, and wait until they are gone."""
    until = time.monotonic() + _WAIT_S
    while (left := _descendants(os.getpid())) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(_LOOK_S)


def _descendants(of: int) -> list[int]:
    """Those that still run; a child that waits to be reaped does not."""
    parents = dict(_parents())
    found, newest = list[int](), {of}
    while newest:
        newest = {pid for pid, parent in parents.items() if parent in newest}
        found += newest
    return found


def _parents() -> list[tuple[int, int]]:
    found = []
    for entry in _PROC.glob("[0-9]*/stat") if _PROC.is_dir() else ():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = entry.read_text().rpartition(")")[2].split()
            if fields[_STATE] != "Z":
                found.append((int(entry.parent.name), int(fields[_PARENT])))
    return found
