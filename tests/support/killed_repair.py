"""`kraft COMMAND...` in a separate process that is killed just before its n-th call that changes a file.

In that process the functions of `os` that change files count themselves; no code is replaced. The process is forked
from one that has loaded the program, which makes it cheap.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from multiprocessing.context import ForkServerContext
from typing import Final

from quorum.cli.main import run

KILLED: Final = -signal.SIGKILL
_CHANGING: Final = ("pwrite", "ftruncate", "fdatasync", "fsync", "rename", "unlink", "mkdir", "rmdir", "chown")
_LOADED: Final = (
    "pytest", "quorum.cli.app", "quorum.cli.recover.recover", "quorum.cli.recover.run", "quorum.cli.recover.probe",
    "quorum.recovery.verification", "quorum.recovery.repairs.undo", "tests.support.killed_repair",
)  # fmt: skip


@lru_cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_LOADED))
    return context


def status_of(
    words: Sequence[str],
    *,
    killed_at: int = 0,
    killed_after_s: float | None = None,
    by: signal.Signals = signal.SIGKILL,
    most_bytes: int | None = None,
) -> int:
    """Return the status of `kraft words`, or -9.

    Args:
        killed_at: the number, from 1, of the changing call before which it gets the signal `by`; 0: no signal.
        killed_after_s: seconds until kill -9 from outside; None: never.
        most_bytes: the size in bytes above which the kernel lets no file grow (RLIMIT_FSIZE).
    """
    process = _context().Process(target=_live, args=(list(words), killed_at, by, most_bytes))
    process.start()
    process.join(killed_after_s)
    process.kill()  # has no effect on an ended process
    process.join()
    status = process.exitcode
    process.close()
    return -1 if status is None else status


def _live(words: list[str], killed_at: int, by: signal.Signals, most_bytes: int | None) -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    if killed_at:
        _kill_at(killed_at, by)
    sys.exit(run(words))


def _kill_at(number: int, by: signal.Signals) -> None:
    """Let this process signal itself just before its changing call of this number."""
    left = itertools.count(number - 1, -1)

    def dying(call: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **named: object) -> object:
            if next(left) == 0:
                os.kill(os.getpid(), by)
            return call(*arguments, **named)

        return called

    for name in _CHANGING:
        setattr(os, name, dying(getattr(os, name)))
