"""Paths that a symbolic link makes unreadable: it leads to itself.

Decides: such a path is no absent one, which `pathlib` and `os.path` take it for. Must not know: what should be there.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path


def exists(path: Path) -> bool:
    """Return True if something is there.

    Raises:
        OSError: it cannot be known; a link leads to itself.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_loop(path: Path) -> bool:
    """Return True if a link there leads to itself."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def remedy(error: OSError) -> str | None:
    """Return what an operator does so that the path can be read, or None if the error says nothing of that."""
    if isinstance(error, PermissionError):
        return "run this as the user that the node runs as"
    if error.errno == errno.ELOOP and error.strerror == os.strerror(errno.ELOOP):
        return "a symbolic link leads to itself: put the file or the directory itself in its place"
    return None
