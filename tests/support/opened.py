"""Hooks for the moment just before a reader opens a file, to play nodes that go on meanwhile."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

_armed: list[tuple[str, Callable[[], None]]] = []
_hooks: list[str] = []
"""An audit hook cannot be removed: one is added, and does nothing between tests."""


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _armed or arguments[0] != _armed[0][0]:
        return
    armed = _armed.pop()  # the action may open the file itself
    try:
        armed[1]()
    finally:
        _armed.append(armed)


@contextlib.contextmanager
def on_opening(path: Path, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` each time before the file is opened."""
    if not _hooks:
        sys.addaudithook(_on_event)
        _hooks.append("open")
    _armed.append((str(path), act))
    try:
        yield
    finally:
        _armed.clear()
