"""Files and directories built once into a cache directory; concurrent workers wait, and never see half of one.

Decides: which worker builds one, and when the others may use it. Must not know: its content.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


def made_once(path: Path, make: Callable[[Path], None]) -> Path:
    """Return `path`, a file or a directory; if it is missing, `make` builds it under the temporary name that it
    gets."""
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
