"""One connection of Kafka's protocol: requests in, one response for each, in order.

Decides: when the next request is served. The one before it must be answered, and the client must have read the
response. So a connection has at most one request in flight and one unread response; what the client sends meanwhile
waits in the client's kernel. (Kafka's brokers mute a connection likewise.) A client that has used up its quota is muted
for a while. Must not know: the requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

from quorum.server.kafka.bounds import Bounds
from quorum.server.kafka.exchange import GiveUp
from quorum.server.kafka.frames import BadLengthError, Frames
from quorum.server.kafka.misdirected import GrpcVisitor, may_be_http2
from quorum.server.node import ClientIdentity


class Listener(Protocol):
    """The listener that accepted a connection, as the connection sees it."""

    @property
    def refusal(self) -> str: ...

    def caller(self, host: str) -> ClientIdentity:
        """Return the identity of a client at that address, before its first request."""

    def serve(self, connection: Connection, caller: ClientIdentity, frame: bytes) -> GiveUp | None:
        """Serve a request, or close its connection. Return the function to call if the connection closes first."""

    def on_refused(self, host: str, why: str, reason: str) -> None:
        """Count and log that this side closed a connection."""


_MOST_BEHIND: Final = 64 * 1024
"""The bytes that are read from the socket while a request is in flight."""
_FIRST_BYTES: Final = 4
_MOST_MUTED_S: Final = 20.0
"""The longest mute. It is shorter than `Limits.frame_s`, after which unread bytes count as an incomplete request."""
_MOST_WRITTEN: Final = 0
"""asyncio calls `pause_writing` for every response that the kernel does not accept at once."""


class Connection(asyncio.Protocol):
    """See `Connection` of asyncio: made, data received, lost."""

    def __init__(self, door: Listener, bounds: Bounds) -> None:
        self._door = door
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._frames = Frames(bounds.limits.max_frame_bytes)
        self._visitor: GrpcVisitor | None = None
        self._is_first = True
        self._is_in_flight = False
        self._is_paused = False
        self._is_unsent = False
        self._give_up: GiveUp | None = None
        self._over: Callable[[], None] | None = None
        self._muted: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self._caller: ClientIdentity

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_MOST_WRITTEN)
        peer = transport.get_extra_info("peername")
        host = str(peer[0]) if peer else ""
        self._caller = self._door.caller(host)
        opened = transport.get_extra_info("socket")
        refusal = self._bounds.refusal_of(host, -1 if opened is None else opened.fileno())
        if refusal is not None:
            self.fail(refusal, "limit")
            return
        self._bounds.on_open(self, host, self._loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._bounds.on_closed(self)
        if self._muted is not None:
            self._muted.cancel()
        give_up, self._give_up = self._give_up, None
        if give_up is not None:
            give_up()
        self._finish()

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._transport.is_closing():
            return
        self._frames.feed(data)
        if self._is_first and not self._is_kafkas():
            # The protocol is not known yet, or is not Kafka's: the time limit of an incomplete request applies.
            self._bounds.set_received(self, max(len(self._frames), 1), self._loop.time())
            return
        self._advance()

    def pause_writing(self) -> None:
        """See asyncio: the client has not read a whole response yet."""
        self._is_unsent = True
        self._bounds.set_unsent(self, self._transport.get_write_buffer_size(), self._loop.time())

    def resume_writing(self) -> None:
        """See asyncio: the client has read the response."""
        self._is_unsent = False
        self._bounds.set_unsent(self, 0, self._loop.time())
        self._advance()

    # --- the listener's side

    def evict(self, why: str, reason: str) -> None:
        """See `bounds.Holder`."""
        self.fail(why, reason)

    def fail(self, why: str, reason: str = "malformed") -> None:
        """Close at once; `why` is for the log, `reason` for the count."""
        if not self._transport.is_closing():
            self._door.on_refused(self._caller.host, why, reason)
        self._transport.abort()

    def answer(self, data: bytes, muted_s: float = 0.0) -> None:
        """Send the response to the request in flight; `data` has the header, but not the length.

        The next request is served after `muted_s` at the earliest.
        """
        if not self._is_in_flight:
            return
        self._is_in_flight, self._give_up = False, None
        self._finish()
        if self._transport.is_closing():
            return
        self._transport.write(len(data).to_bytes(4, "big") + data)
        self._bounds.on_answered(self, self._loop.time())
        if muted_s > 0:
            self._muted = self._loop.call_later(min(muted_s, _MOST_MUTED_S), self._unmute)
        self._advance()

    def when_over(self, call: Callable[[], None]) -> None:
        """Call `call` once the request in flight is answered, or the connection is lost."""
        self._over = call

    def _finish(self) -> None:
        over, self._over = self._over, None
        if over is not None:
            over()

    def _unmute(self) -> None:
        self._muted = None
        if not self._transport.is_closing():
            self._advance()

    def close(self) -> None:
        """Close at once, since the node stops."""
        self._transport.abort()

    def _is_kafkas(self) -> bool:
        """Return True if the first bytes may be a request of Kafka's protocol, False also if they are too few."""
        if self._visitor is None:
            if len(self._frames) < _FIRST_BYTES:
                return False
            first = self._frames.take_all()
            if not may_be_http2(first):
                self._is_first = False
                self._frames.feed(first)
                return True
            self._visitor = GrpcVisitor(self._door.refusal)
            self._frames.feed(first)
        self._transport.write(self._visitor.on_bytes(self._frames.take_all()))
        if self._visitor.is_over:
            self._transport.close()
        return False

    def _advance(self) -> None:
        """Serve the next request if none is in flight, then resume or pause reading."""
        now_s = self._loop.time()
        is_held = self._is_in_flight or self._is_unsent or self._muted is not None
        if not is_held:
            try:
                frame = self._frames.next()
            except BadLengthError as bad:
                self.fail(str(bad))
                return
            if frame is not None:
                is_held = self._is_in_flight = True
                self._bounds.on_request(self, now_s)
                self._give_up = self._door.serve(self, self._caller, frame)
        self._bounds.set_received(self, len(self._frames), now_s)
        # Unread bytes stay in the client's kernel: a pipelining client cannot fill this process's memory.
        self._read_on(not is_held or len(self._frames) < _MOST_BEHIND)

    def _read_on(self, wanted: bool) -> None:
        if self._transport.is_closing() or wanted is not self._is_paused:
            return
        self._is_paused = not wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
