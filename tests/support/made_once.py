"""What is brought or built once and kept in a cache directory, whoever asks first: workers that ask at once wait.

Decides: who makes it, and that nobody sees half of it. Must not know: what it is.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


def made_once(path: Path, make: Callable[[Path], None]) -> Path:
    """`path`, a file or a directory, which `make` makes under the name that it is given, unless it is there."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
            make(partial)
            partial.rename(path)
    return path
