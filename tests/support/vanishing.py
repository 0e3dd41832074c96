"""A segment that a node's retention removes just before a reader opens it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Vanishing(msgspec.Struct):
    """Renames `path`, as Kafka marks removed files, just before the open after `stays` opens."""

    path: str
    stays: int
    opened: int = 0


_armed: list[Vanishing] = []
_hooks: list[str] = []
"""An audit hook cannot be removed: one is added, and does nothing between tests."""


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _armed or arguments[0] != _armed[0].path:
        return
    armed = _armed[0]
    if armed.opened == armed.stays:
        os.rename(armed.path, f"{armed.path}.deleted")
    armed.opened += 1


@contextlib.contextmanager
def vanishing(path: Path, *, stays: int) -> Iterator[Vanishing]:
    """Let the file be opened `stays` times, and then vanish."""
    if not _hooks:
        sys.addaudithook(_on_event)
        _hooks.append("open")
    armed = Vanishing(path=str(path), stays=stays)
    _armed.append(armed)
    try:
        yield armed
    finally:
        _armed.clear()
