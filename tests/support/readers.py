"""An unprivileged user, who may not read directories of others, and a directory that every user may list.

Python cannot import new modules while it runs as that user: run the same command once before.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NOBODY: Final = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run as an unprivileged user if the process is root; another user stays as it is."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@contextmanager
def open_root() -> Iterator[Path]:
    """Yield a new directory that every user may list, unlike those of pytest."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    try:
        yield root
    finally:
        shutil.rmtree(root)
