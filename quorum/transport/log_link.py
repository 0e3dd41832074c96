"""The connection over which the log is fetched from another controller of ours: Kafka's protocol, at its CONTROLLER
listener (`kafka/log_fetch_frames`).

Decides: when the connection is opened and given up, and what its end means for the request in flight. It takes the
Fetches that come while it is open; until then, and for every answer that is not plain, they go by gRPC, which says
all. Must not know: what is fetched, and whether to ask again.

Beside a gRPC stream it saves a leader a third of its processor time a commit: no object, task or thread is woken for a
message, and an answer is written within the turn that gives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, cast

import msgspec

from metadata_log.voters import Endpoint
from quorum.node.ports import OutgoingRequest, Replies
from quorum.raft.messages import FetchRequest
from quorum.transport.channel import MESSAGE_LIMIT_BYTES
from quorum.transport.kafka.log_fetch_frames import LENGTH_BYTES, correlation_in, read_plain_answer, request_frame

_SMALLEST: Final = 4
_CONNECT_S: Final = 2.0
_AGAIN_S: Final = 1.0
"""Between two attempts to connect."""
_AGAIN_AFTER_NONSENSE_S: Final = 600.0
"""Where the connection was closed before anything was answered, or what was answered made no sense."""
_MS_PER_S: Final = 1000


class LogLink:
    """To one endpoint. A second Fetch replaces the first, which then fails without suspicion."""

    def __init__(
        self, at: Endpoint, replies: Replies, ask_fully: Callable[[OutgoingRequest], None], warn: Callable[[str], None]
    ) -> None:
        """`ask_fully`: ask the same by gRPC. `warn`: what the other side did wrong."""
        self._at = at
        self._replies = replies
        self._ask_fully = ask_fully
        self._warn = warn
        self._loop = asyncio.get_running_loop()
        self._wire: _Wire | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._not_before_s = 0.0
        self._in_flight: OutgoingRequest | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for an answer."""
        return self._in_flight is None

    def send(self, request: OutgoingRequest, fetch: FetchRequest) -> bool:
        """Send, and see to one answer or failure; False, and nothing is sent, while there is no connection: one is
        made then."""
        wire = self._wire
        if wire is None:
            self._maybe_connect()
            return False
        if self._in_flight is not None:
            self._loop.call_soon(self._fail, self._take_in_flight(), False)
        self._timer = self._loop.call_later(request.timeout_ms / _MS_PER_S, self._on_timeout)
        self._in_flight = request
        wire.transport.write(
            request_frame(
                fetch,
                cluster_id=request.cluster_id,
                topic_id=request.topic_id,
                correlation_id=_number_of(request),
            )
        )
        return True

    async def close(self) -> None:
        """Close; nothing is reported."""
        if self._in_flight is not None:
            self._take_in_flight()
        connecting, self._connecting = self._connecting, None
        self._give_up()
        if connecting is not None:
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)

    def _maybe_connect(self) -> None:
        if self._connecting is None and self._loop.time() >= self._not_before_s:
            self._connecting = self._loop.create_task(self._connect(), name=f"log-link-{self._at.host}:{self._at.port}")

    async def _connect(self) -> None:
        self._not_before_s = self._loop.time() + _AGAIN_S
        try:
            async with asyncio.timeout(_CONNECT_S):
                _, wire = await self._loop.create_connection(lambda: _Wire(self), self._at.host, self._at.port)
        except OSError:  # the Fetches go by gRPC, whose failure tells what there is to tell
            return
        finally:
            self._connecting = None
        if not wire.transport.is_closing():
            self._wire = wire

    # --- the connection's side

    def on_answer(self, frame: bytes) -> None:
        """A whole answer, without its length."""
        request = self._in_flight
        if request is None or correlation_in(frame) != _number_of(request):
            return
        left_ms = 0 if self._timer is None else int((self._timer.when() - self._loop.time()) * _MS_PER_S)
        self._take_in_flight()
        response = read_plain_answer(frame, request.topic_id)
        if response is None:
            self._ask_fully(msgspec.structs.replace(request, timeout_ms=max(1, left_ms)))
            return
        self._replies.on_peer_response(request.destination.node_id, request.correlation, response)

    def on_lost(self, wire: _Wire) -> None:
        """The connection is over, and not by us."""
        if wire is not self._wire:
            return
        self._wire = None
        if not wire.has_answered:
            self._not_before_s = self._loop.time() + _AGAIN_AFTER_NONSENSE_S
        if self._in_flight is not None:
            self._fail(self._take_in_flight(), wire.has_answered)

    def on_nonsense(self, why: str) -> None:
        """What came cannot be understood: nothing after it can."""
        self._warn(why)
        self._not_before_s = self._loop.time() + _AGAIN_AFTER_NONSENSE_S
        self._give_up()
        if self._in_flight is not None:
            self._fail(self._take_in_flight(), False)

    def _on_timeout(self) -> None:
        """Nothing came in time: what was sent may never arrive."""
        self._give_up()
        if self._in_flight is not None:
            self._fail(self._take_in_flight(), False)

    def _give_up(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.transport.abort()

    def _take_in_flight(self) -> OutgoingRequest:
        request = self._in_flight
        if request is None or self._timer is None:
            raise RuntimeError("no Fetch is in flight")
        self._in_flight = None
        self._timer.cancel()
        return request

    def _fail(self, request: OutgoingRequest, disconnected: bool) -> None:
        self._replies.on_peer_failure(request.destination.node_id, request.correlation, disconnected=disconnected)


def _number_of(request: OutgoingRequest) -> int:
    """The correlation as Kafka's 32 bits hold it."""
    return request.correlation & 0x7FFF_FFFF


class _Wire(asyncio.Protocol):
    """One open connection."""

    def __init__(self, link: LogLink) -> None:
        self._link = link
        self._buffer = bytearray()
        self.has_answered = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        # uvloop's transports are no subclass of asyncio's.
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._link.on_lost(self)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._buffer += data
        while not self.transport.is_closing() and len(self._buffer) >= LENGTH_BYTES:
            size = int.from_bytes(self._buffer[:LENGTH_BYTES], "big", signed=True)
            if not _SMALLEST <= size <= MESSAGE_LIMIT_BYTES:
                self._link.on_nonsense(f"an answer of {size} bytes: it may have {_SMALLEST} to {MESSAGE_LIMIT_BYTES}")
                return
            end = LENGTH_BYTES + size
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[LENGTH_BYTES:end])
            del self._buffer[:end]
            self.has_answered = True
            self._link.on_answer(frame)
