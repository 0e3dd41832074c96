"""The umask of this process, for tests of file modes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Set the umask for a while."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
