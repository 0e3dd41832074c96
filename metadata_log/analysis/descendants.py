"""The processes that this one has started, and those that they have: Spark's JVM, its launcher, its Python workers.

Decides: how they are found and ended. Must not know: what they do. Where there is no /proc, none is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_STATE, _PARENT, _GROUP = 0, 1, 2
"""Of /proc/PID/stat, counted behind the name in brackets."""
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.01


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int


def own_group() -> dict[str, int]:
    """For Popen: a terminal's Ctrl-C is to reach this process alone, which then ends the others."""
    return {"process_group": 0} if _PROC.is_dir() else {}


def end_descendants() -> None:
    """Kill all of them, and wait until they are gone.

    Those that lead a group of their own (`own_group`) with all who are in it: one that was started after we looked has
    lost its parent by the next look, but not its group.
    """
    until, groups = time.monotonic() + _WAIT_S, set[int]()
    while time.monotonic() < until:
        processes = _processes()
        found = _descendants(processes, os.getpid())
        groups |= {each.group for each in found if each.group == each.pid}
        left = found | {each for each in processes if each.group in groups}
        if not left:
            return
        _kill({each.pid for each in left}, groups & {each.group for each in left})
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(_LOOK_S)


def _kill(pids: Iterable[int], groups: Iterable[int]) -> None:
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(processes: Collection[_Process], of: int) -> set[_Process]:
    found, newest = set[_Process](), {of}
    while newest:
        children = {each for each in processes if each.parent in newest}
        newest = {each.pid for each in children}
        found |= children
    return found


def _processes() -> list[_Process]:
    """Those that still run; a child that waits to be reaped does not."""
    found = []
    for entry in _PROC.glob("[0-9]*/stat") if _PROC.is_dir() else ():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = entry.read_text().rpartition(")")[2].split()
            if fields[_STATE] != "Z":
                found.append(_Process(int(entry.parent.name), int(fields[_PARENT]), int(fields[_GROUP])))
    return found
