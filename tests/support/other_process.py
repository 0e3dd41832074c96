"""Another process that holds the lock of a log directory, as a node does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

HOLD: Final = (
    "import sys, fcntl, os; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); {take}; "
    "print('held', flush=True); sys.stdin.read()"
)
TAKE: Final = "fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)"
TAKE_AS_JAVA: Final = (
    "import struct; fcntl.fcntl(fd, fcntl.F_SETLK, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 2**63 - 1, 0))"
)


@contextmanager
def held_by_another(path: Path, take: str = TAKE) -> Iterator[int]:
    """Hold the lock file `path` in another process; yield its process id."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD.format(take=take), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other.pid
        other.communicate("")
