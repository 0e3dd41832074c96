"""One outgoing connection of Kafka's protocol: opened for the first request, kept, and opened again after it breaks.

Decides: when a connection is opened and closed, and which failure its end is for the requests in flight. It begins with
ApiVersions. Requests are pipelined, and responses come in their order. A late response closes the connection, because
all responses behind it would be late too. Must not know: the requests.

There is no backoff here: the next request opens a refused connection again, and the sender decides when.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from metadata_log.voters import Endpoint
from quorum.api.calls import PeerRequest, PeerResponse, RegistrationAnswer
from quorum.api.controllers import RegisterController
from quorum.node.core.peer_failures import NOT_SENT, FailureKind, PeerFailure
from quorum.transport.channel import MESSAGE_LIMIT_BYTES, address_of
from quorum.transport.failures import foreign_protocol, of_system, of_timeout
from quorum.transport.kafka.asking import (
    Asked,
    NotSpokenError,
    Offered,
    asked,
    first_frame,
    first_question,
    offered_in,
)
from quorum.transport.kafka.reader import BadFrame

if TYPE_CHECKING:
    from quorum.transport.kafka.wire import Questions

MAX_IN_FLIGHT: Final = 64
"""The most requests on one connection; one more fails."""
_LENGTH_BYTES: Final = 4
_SMALLEST: Final = 4
"""The size of a response's correlation id."""
_LARGEST_CORRELATION: Final = (1 << 31) - 1
_MS_PER_S: Final = 1000
_HEAD_BYTES: Final = 16
"""The first bytes of a connection that are enough to recognize another protocol."""
_BEFORE_ANY: Final = "before its first response; perhaps TLS, or another protocol"


class Pending:
    """A request that waits for its response. Exactly one of the two callbacks is called, in a later turn."""

    __slots__ = ("asked", "cluster_id", "on_answer", "on_failure", "request", "timeout_ms", "timer")

    def __init__(
        self,
        request: PeerRequest | RegisterController,
        *,
        cluster_id: str | None,
        timeout_ms: int,
        on_answer: Callable[[PeerResponse | RegistrationAnswer], None],
        on_failure: Callable[[PeerFailure], None],
    ) -> None:
        """`on_failure` gets the reason."""
        self.request = request
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.on_answer = on_answer
        self.on_failure = on_failure
        self.asked: Asked | None = None
        self.timer: asyncio.TimerHandle | None = None

    def answered(self, response: PeerResponse | RegistrationAnswer) -> None:
        """Complete the request with its response."""
        self._stop()
        self.on_answer(response)

    def failed(self, failure: PeerFailure) -> None:
        """Complete the request without a response."""
        self._stop()
        self.on_failure(failure)

    def dropped(self) -> None:
        """Complete the request without a callback."""
        self._stop()

    def _stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Link:
    """The connection to one address, open or not."""

    def __init__(self, host: str, port: int, warn: Callable[[str], None]) -> None:
        """`warn` gets each protocol violation of the peer."""
        self._host, self._port = host, port
        self.address: Final = address_of(Endpoint(name="", host=host, port=port))
        self._warn = warn
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Pending] = deque()
        """Requests that wait for the connection to open."""
        self._wire: _Wire | None = None
        self._attempt: _Wire | None = None
        """The latest attempt to connect. An older attempt that still succeeds is closed."""
        self._connecting: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """True if no response is awaited."""
        return not self._waiting and (self._wire is None or not self._wire.in_flight)

    def send(self, pending: Pending) -> None:
        """Send the request; open a connection first if necessary."""
        in_flight = 0 if self._wire is None else len(self._wire.in_flight)
        if len(self._waiting) + in_flight >= MAX_IN_FLIGHT:
            self._loop.call_soon(self._fail, pending)
            return
        pending.timer = self._loop.call_later(pending.timeout_ms / _MS_PER_S, self._on_timeout, pending)
        if self._wire is not None and self._wire.is_ready:
            self._wire.ask(pending)
            return
        self._waiting.append(pending)
        if self._wire is None and self._connecting is None:
            self._connecting = self._loop.create_task(self._connect(), name=f"kafka-{self._host}:{self._port}")

    def replace(self, pending: Pending) -> None:
        """Send this request instead of all that are under way; those fail as not sent."""
        if not self.is_idle:
            for each in self._give_up():
                self._loop.call_soon(self._fail, each)
        self.send(pending)

    async def close(self) -> None:
        """Close the connection; nothing is reported."""
        connecting = self._connecting
        for pending in self._give_up():
            pending.dropped()
        if connecting is not None:
            await asyncio.gather(connecting, return_exceptions=True)

    async def _connect(self) -> None:
        wire = self._attempt = _Wire(self)
        try:
            await self._loop.create_connection(lambda: wire, self._host, self._port)
        except (OSError, UnicodeError) as error:
            if self._attempt is wire:
                self._attempt = self._connecting = None
                self._fail_all(of_system(error, self.address))
            return
        if self._attempt is wire:
            self._connecting = None

    def on_made(self, wire: _Wire) -> bool:
        """Take over the open connection; return False if it is no longer wanted."""
        if wire is not self._attempt:
            return False
        self._wire = wire
        return True

    def on_ready(self, wire: _Wire) -> None:
        """Send the waiting requests: the peer's versions are known now."""
        waiting, self._waiting = self._waiting, deque()
        for pending in waiting:
            wire.ask(pending)

    def on_lost(self, wire: _Wire, failure: PeerFailure) -> None:
        """Fail all requests: the connection broke, or its data made no sense."""
        if not failure.disconnected:
            self._warn(failure.detail)
        self._wire = self._attempt = None
        in_flight, wire.in_flight = wire.in_flight, deque()
        self._waiting.extendleft(reversed([pending for _, pending in in_flight]))
        self._fail_all(failure)

    def warn(self, why: str) -> None:
        """Report a protocol violation of the peer."""
        self._warn(why)

    def _on_timeout(self, pending: Pending) -> None:
        """Fail a request after its timeout. If it was sent, the connection closes with it: the requests behind it
        would be late."""
        if pending in self._waiting and self._wire is None and len(self._waiting) > 1:
            self._waiting.remove(pending)
            pending.failed(of_timeout(self.address, pending.timeout_ms, is_connected=False))
            return
        is_connected = self._wire is not None
        for each in self._give_up():
            each.failed(of_timeout(self.address, pending.timeout_ms, is_connected=is_connected))

    def _give_up(self) -> list[Pending]:
        """Close the connection, or stop opening it; return all requests that waited for it."""
        waiting, self._waiting = list(self._waiting), deque()
        wire, self._wire, self._attempt = self._wire, None, None
        if wire is not None:
            waiting = [*(pending for _, pending in wire.in_flight), *waiting]
            wire.abandon()
        connecting, self._connecting = self._connecting, None
        if connecting is not None:
            connecting.cancel()
        return waiting

    def _fail(self, pending: Pending) -> None:
        pending.failed(NOT_SENT)

    def _fail_all(self, failure: PeerFailure) -> None:
        waiting, self._waiting = self._waiting, deque()
        for pending in waiting:
            pending.failed(failure)


class _Wire(asyncio.Protocol):
    """One open connection. Its first response is that to ApiVersions."""

    def __init__(self, link: Link) -> None:
        self._link: Link | None = link
        self._buffer = bytearray()
        self._offered: Offered | None = None
        self._first: Questions = first_question()
        self._correlation = 0
        self._transport: asyncio.Transport
        self.in_flight: deque[tuple[int, Pending]] = deque()

    @property
    def is_ready(self) -> bool:
        """True if the peer's versions are known."""
        return self._offered is not None

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if self._link is None or not self._link.on_made(self):
            self._link = None
            self._transport.abort()
            return
        self._transport.write(first_frame(self._first, self._next()))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        spoken = None if self.is_ready else foreign_protocol(bytes(self._buffer))
        if spoken is not None:
            self._lose(FailureKind.OTHER_PROTOCOL, spoken, disconnected=True)
        else:
            self._lose(FailureKind.CLOSED, "" if self.is_ready else _BEFORE_ANY, disconnected=True)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._buffer += data
        while self._link is not None and len(self._buffer) >= _LENGTH_BYTES:
            size = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big", signed=True)
            spoken = None if self.is_ready else foreign_protocol(bytes(self._buffer[:_HEAD_BYTES]))
            if spoken is not None:
                self._break(spoken, FailureKind.OTHER_PROTOCOL)
                return
            if not _SMALLEST <= size <= MESSAGE_LIMIT_BYTES:
                self._break(f"an answer of {size} bytes: it may have {_SMALLEST} to {MESSAGE_LIMIT_BYTES}")
                return
            end = _LENGTH_BYTES + size
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[_LENGTH_BYTES:end])
            del self._buffer[:end]
            try:
                self._take(frame)
            except BadFrame as bad:
                self._break(str(bad))

    # --- the link's side

    def ask(self, pending: Pending) -> None:
        """Send a request."""
        link = self._link
        if link is None or self._offered is None:
            raise RuntimeError("nothing can be asked over this connection")
        try:
            pending.asked = asked(
                pending.request, self._offered, cluster_id=pending.cluster_id, timeout_ms=pending.timeout_ms
            )
        except NotSpokenError as error:
            why = str(error)
            link.warn(why)
            kind = FailureKind.UNSUPPORTED_VERSION
            failure = PeerFailure(kind=kind, address=link.address, detail=why)
            asyncio.get_running_loop().call_soon(pending.failed, failure)
            return
        correlation = self._next()
        self.in_flight.append((correlation, pending))
        self._transport.write(pending.asked.frame(correlation))

    def abandon(self) -> None:
        """Close the connection without a report to the link."""
        self._link = None
        self.in_flight.clear()
        self._transport.abort()

    def _take(self, frame: bytes) -> None:
        link, offered = self._link, self._offered
        if link is None:
            return
        number = int.from_bytes(frame[:4], "big", signed=True)
        if offered is None:
            self._expect(number, self._correlation)
            found = offered_in(self._first, frame)
            if isinstance(found, Mapping):
                self._offered = found
                link.on_ready(self)
            else:
                self._first = found
                self._transport.write(first_frame(found, self._next()))
            return
        if not self.in_flight:
            raise BadFrame("a response without a request")
        correlation, pending = self.in_flight[0]
        self._expect(number, correlation)
        if pending.asked is None:
            raise RuntimeError("a request is in flight that was never written")
        response = pending.asked.read(frame)
        self.in_flight.popleft()
        pending.answered(response)

    def _expect(self, number: int, correlation: int) -> None:
        if number != correlation:
            raise BadFrame(f"an answer to request {number}, where {correlation} is due")

    def _next(self) -> int:
        self._correlation = self._correlation % _LARGEST_CORRELATION + 1
        return self._correlation

    def _break(self, why: str, kind: FailureKind = FailureKind.BAD_RESPONSE) -> None:
        """Close the connection: its bytes are malformed, so no later byte has a meaning."""
        self._lose(kind, why, disconnected=False)
        self._transport.abort()

    def _lose(self, kind: FailureKind, detail: str, *, disconnected: bool) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.on_lost(self, PeerFailure(kind=kind, address=link.address, detail=detail, disconnected=disconnected))
