"""Directories that a user of few rights may not read: the user, and a place below which such a user may look.

Decides: who that is. What is imported while one is nobody has to be imported before: run the same command once.
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
    """Root, to whom nothing is closed, is nobody meanwhile; another user stays who it is."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@contextmanager
def open_root() -> Iterator[Path]:
    """A new directory into which everybody may look, unlike those of pytest."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    try:
        yield root
    finally:
        shutil.rmtree(root)
