"""Ctrl-C and SIGTERM as one exception that is raised once, so that cleaning up is never interrupted."""

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
    """A signal asks this process to stop. Not an Exception, so that no handler of failures swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal_name(number))
        self.exit_code = 128 + number


class _Shield:
    """The state of `shielded`: its depth in the main thread, the waiting signal, and the raised exception."""

    depth = 0
    pending: int | None = None
    raised: Interrupted | None = None


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """Raise `Interrupted` in the main thread at the first such signal within the block.

    Later signals are ignored, also after the block: this process cleans up and ends. A signal that is ignored already
    stays so: SIGHUP under nohup, SIGINT of a shell's background job. The interrupted code may fail with its own error,
    for example if it awaited a lock. That counts as the interrupt, too.
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
    """Complete the block before a signal interrupts it: the signal is raised at the end.

    Signals interrupt only the main thread. In another thread this does nothing.
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
