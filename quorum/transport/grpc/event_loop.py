"""The event loop of a process that serves by gRPC: each pass takes all of gRPC's wake-ups.

gRPC's own thread writes one byte into a socket for each event, and blocks while the socket is full, at 278 bytes. Its
reader takes one byte in each pass of the loop, and then all events. If events come faster than passes, the socket fills
up, and a pass takes one event. Then a voter's Fetch waits behind the events of all other streams, longer than an
election timeout.

Decides: how often gRPC's reader is called in a pass, and which failures go unreported. Must not know: what the events
are.
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
"""Passes without counting after one in which a single byte waited. Each of them takes all events."""
_GRPCS_READER: Final = "_handle_events"
"""The method of gRPC's completion queue that reads the socket. A test fails if a gRPC release renames it."""


def _for_each_byte(descriptor: int, reader: Callable[[*Ts], Any]) -> Callable[[*Ts], None]:
    """Return a reader that calls gRPC's reader once for each byte that waits.

    The first call takes all events. No byte is taken from gRPC. Its reader may raise at an event, for example at one of
    a closed loop. Then the bytes of the remaining events call it again.

    Counting the bytes costs as much as a call of the reader. If a single byte waited, as in most passes, the next
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
    """uvloop's event loop, adapted to gRPC's thread."""

    def add_reader(self, fd: FileDescriptorLike, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        """See `asyncio.loop.add_reader`."""
        reader = callback
        if _is_grpcs_reader(callback):
            reader = _for_each_byte(fd if isinstance(fd, int) else fd.fileno(), callback)
        super().add_reader(fd, reader, *args)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """See `asyncio.loop.call_exception_handler`.

        If a connection attempt is cancelled, uvloop abandons its name lookup. Otherwise a name without an address would
        print a traceback for each attempt.
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
    """Return the number of bytes that can be read at once."""
    found = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, found)
    return found[0]
