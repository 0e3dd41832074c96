"""Ctrl-C and SIGTERM as one exception, raised once, so that cleaning up is never itself interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, Final

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

_ASKED_TO_STOP: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def signal_name(number: int) -> str:
    """Return the signal's name, such as SIGKILL; Python names only the first and the last of the real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"signal {number}"


class Interrupted(BaseException):
    """Somebody wants this process to stop. Not an Exception: nothing that handles failures may swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal_name(number))
        self.exit_code = 128 + number


class _Shield:
    """How deep the main thread is in code that must not be interrupted, and which signal came meanwhile; and what has
    been raised."""

    depth = 0
    pending: int | None = None
    raised: Interrupted | None = None


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """Within the block the first such signal raises `Interrupted` in the main thread.

    From then on they are ignored, also after the block: this process is about to end, and does so in good order. What
    is ignored already stays so: SIGHUP under nohup, SIGINT of a shell's background job. What is interrupted may fail at
    it in its own way, as a lock does that was being waited for: that is an interrupt all the same.
    """

    def on_signal(number: int, _: FrameType | None) -> None:
        if _Shield.depth:
            _Shield.pending = number
            return
        _raise(number)

    heard = [number for number in _ASKED_TO_STOP if signal.getsignal(number) is not signal.SIG_IGN]
    _Shield.raised = None
    before = {number: signal.signal(number, on_signal) for number in heard}
    try:
        yield
    except Interrupted:
        raise
    except BaseException as error:
        if _Shield.raised is not None:
            raise _Shield.raised from error
        _restore(before)
        raise
    _restore(before)


def _restore(before: Mapping[signal.Signals, _Handler]) -> None:
    _Shield.pending = None
    for number, handler in before.items():
        signal.signal(number, handler)


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """What is within the block is done to its end; a signal that came meanwhile interrupts after it.

    Signals interrupt the main thread alone: in another thread nothing needs this, and nothing is held back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Shield.depth += 1
    try:
        yield
    finally:
        _Shield.depth -= 1
    if not _Shield.depth and _Shield.pending is not None:
        _raise(_Shield.pending)


def _raise(number: int) -> None:
    _Shield.pending = None
    for each in _ASKED_TO_STOP:
        signal.signal(each, signal.SIG_IGN)
    _Shield.raised = Interrupted(number)
    raise _Shield.raised
