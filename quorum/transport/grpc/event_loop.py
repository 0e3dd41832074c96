"""The event loop of a process that serves by gRPC: each pass takes all of gRPC's wake-ups.

gRPC's own thread writes a byte into a socket for each event. It waits while the socket is full, at 278 bytes. The
reader takes one byte for each pass of the loop, and then all events. Where more events come than passes, the socket
fills, and a pass takes one event. A voter's Fetch then waits behind the events of all other streams, longer than an
election takes.

Decides: how often gRPC's reader is called in a pass, and which failures go unreported. Must not know: what events are.
"""

from __future__ import annotations

import array
import asyncio
import fcntl
import functools
import socket
import termios
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple

import uvloop

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

Ts = TypeVarTuple("Ts")

_UNCOUNTED: Final = 7
"""Passes in which no bytes are counted, after one in which a single byte waited. Each of them takes all events."""
_GRPCS_READER: Final = "_handle_events"
"""The method of gRPC's completion queue that reads the socket; a test fails if a release of gRPC renames it."""


def _for_each_byte(descriptor: int, reader: Callable[[*Ts], Any]) -> Callable[[*Ts], None]:
    """Return a reader that calls gRPC's once for each byte that waits.

    The first call takes all events. No byte is taken from gRPC. Its reader may fail at an event, as at one of a loop
    that is closed; the bytes of the events behind it then call the reader again.

    A count of the bytes costs as much as a call of the reader. If a single byte waited, as nearly always, the next
    passes call the reader once and count nothing.
    """
    uncounted = 0

    def read(*arguments: *Ts) -> None:
        nonlocal uncounted
        if uncounted:
            uncounted -= 1
            reader(*arguments)
            return
        waiting = pending_bytes(descriptor)
        if waiting <= 1:
            uncounted = _UNCOUNTED
        for _ in range(max(waiting, 1)):
            reader(*arguments)

    return read


class ServerLoop(uvloop.Loop):
    """uvloop's loop, beside gRPC's thread."""

    def add_reader(self, fd: FileDescriptorLike, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        """See `asyncio.loop.add_reader`."""
        reader = callback
        if _is_grpcs_reader(callback):
            reader = _for_each_byte(fd if isinstance(fd, int) else fd.fileno(), callback)
        super().add_reader(fd, reader, *args)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """See `asyncio.loop.call_exception_handler`.

        If a connection attempt is cancelled, uvloop leaves its lookup of the name behind. A name without an address
        would then print a traceback for each attempt.
        """
        lookup = context.get("future")
        is_left_behind = isinstance(lookup, asyncio.Future) and not isinstance(lookup, asyncio.Task)
        if is_left_behind and isinstance(context.get("exception"), socket.gaierror):
            return
        super().call_exception_handler(context)


def _is_grpcs_reader(callback: Callable[..., Any]) -> bool:
    method = callback.func if isinstance(callback, functools.partial) else callback
    return getattr(method, "__name__", "") == _GRPCS_READER


def pending_bytes(descriptor: int) -> int:
    """Return how many bytes can be read there at once."""
    found = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, found)
    return found[0]
