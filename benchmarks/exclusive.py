"""The lock that lets one benchmark run on this machine at a time.

Two that run at once share cores, disk and a directory, and print plausible figures that are wrong.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


class BusyError(RuntimeError):
    """Another benchmark runs; the message names the lock."""


def lock_file() -> Path:
    """Return the lock's path: one for each user, shared by all checkouts."""
    return Path(tempfile.gettempdir()) / f"kraft-bench-{os.getuid()}.lock"


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock `path` within the block; the kernel releases it if this process dies.

    Raises:
        BusyError: another process holds it.
    """
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another benchmark is running, see its lock {path}: wait for its end") from None
        yield


def run_alone(name: str, main: Callable[[], int | None]) -> int:
    """Return the exit status of `main`, or 2 if another benchmark runs; `name` is the command in that message."""
    try:
        with exclusive(lock_file()):
            return main() or 0
    except BusyError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
