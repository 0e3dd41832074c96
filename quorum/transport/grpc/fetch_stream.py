"""The outgoing Fetch stream to one address: one request in flight, matched to its response by correlation id.

Decides: when the stream is opened and closed, and which failure its end is for the request in flight. Must not know:
the fetched data, or whether to retry. A reader and a writer task live as long as the stream; a request needs no task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import grpc
import msgspec

from kraft.v1 import quorum_pb2, quorum_pb2_grpc
from quorum.api.raft_messages import FetchResponse
from quorum.node.core.peer_failures import NOT_SENT, FailureKind, PeerFailure
from quorum.transport.failures import of_call, of_timeout
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.fetch import fetch_response_from


class FetchReplies(Protocol):
    """The receiver of responses and failures (a part of the node's `Replies`)."""

    def on_peer_response(self, destination_id: int, correlation: int, response: FetchResponse) -> None:
        """Receive the response."""

    def on_peer_failure(self, destination_id: int, correlation: int, failure: PeerFailure) -> None:
        """Receive the failure; no response follows."""


class _InFlight(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    destination_id: int
    correlation: int
    timeout_ms: int
    timer: asyncio.TimerHandle


class FetchStream:
    """Sends Fetches to one address. A second Fetch replaces the first, which then fails as not sent."""

    def __init__(
        self,
        stub: quorum_pb2_grpc.QuorumAsyncStub,
        address: str,
        replies: FetchReplies,
        *,
        on_bad_answer: Callable[[str], None],
    ) -> None:
        self._stub = stub
        self._address = address
        self._replies = replies
        self._on_bad_answer = on_bad_answer
        self._loop = asyncio.get_running_loop()
        self._in_flight: _InFlight | None = None
        self._outgoing: quorum_pb2.FetchRequest | None = None
        self._wake = asyncio.Event()
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def is_idle(self) -> bool:
        """True if no response is awaited."""
        return self._in_flight is None

    def send(self, message: quorum_pb2.FetchRequest, *, destination_id: int, correlation: int, timeout_ms: int) -> None:
        """Send a Fetch, and open the stream if necessary. One response or failure follows, in a later turn."""
        if self._in_flight is not None:
            self._loop.call_soon(self._report, self._take_in_flight(), NOT_SENT)
        timer = self._loop.call_later(timeout_ms / 1000, self._on_timeout)
        self._in_flight = _InFlight(
            destination_id=destination_id, correlation=correlation, timeout_ms=timeout_ms, timer=timer
        )
        self._outgoing = message
        self._wake.set()
        if not self._tasks:
            call = self._stub.Fetch(None)
            self._tasks = (
                self._loop.create_task(self._write(call), name="fetch-writer"),
                self._loop.create_task(self._read(call), name="fetch-reader"),
            )

    async def close(self) -> None:
        """End the stream; nothing is reported."""
        if self._in_flight is not None:
            self._take_in_flight()
        tasks, self._tasks = self._tasks, ()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self, call: grpc.aio.StreamStreamCall[quorum_pb2.FetchRequest, quorum_pb2.FetchResponse]) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                message, self._outgoing = self._outgoing, None
                if message is not None:
                    await call.write(message)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The stream has ended. The reader gets the status and reports it.
            return

    async def _read(self, call: grpc.aio.StreamStreamCall[quorum_pb2.FetchRequest, quorum_pb2.FetchResponse]) -> None:
        failure = PeerFailure(kind=FailureKind.CLOSED, address=self._address)
        try:
            while True:
                answer = await call.read()
                if not isinstance(answer, quorum_pb2.FetchResponse):
                    break
                self._on_answer(answer)
        except grpc.aio.AioRpcError as error:
            timeout_ms = 0 if self._in_flight is None else self._in_flight.timeout_ms
            failure = of_call(error, self._address, timeout_ms)
        finally:
            call.cancel()
        self._on_end(failure)

    def _on_answer(self, answer: quorum_pb2.FetchResponse) -> None:
        waiting = self._in_flight
        if waiting is None or answer.correlation_id != waiting.correlation:
            return
        self._take_in_flight()
        try:
            response = fetch_response_from(answer)
        except BadMessage as bad:
            self._on_bad_answer(f"Fetch: {bad.why}")
            kind = FailureKind.BAD_RESPONSE
            self._report(waiting, PeerFailure(kind=kind, address=self._address, detail=bad.why))
            return
        self._replies.on_peer_response(waiting.destination_id, waiting.correlation, response)

    def _on_end(self, failure: PeerFailure) -> None:
        writer, self._tasks = self._tasks[:1], ()
        for task in writer:
            task.cancel()
        self._outgoing = None
        self._wake.clear()
        if self._in_flight is not None:
            self._report(self._take_in_flight(), failure)

    def _on_timeout(self) -> None:
        if self._in_flight is not None:
            waiting = self._take_in_flight()
            self._report(waiting, of_timeout(self._address, waiting.timeout_ms, is_connected=True))

    def _take_in_flight(self) -> _InFlight:
        waiting = self._in_flight
        if waiting is None:
            raise RuntimeError("no Fetch is in flight")
        self._in_flight = None
        waiting.timer.cancel()
        return waiting

    def _report(self, waiting: _InFlight, failure: PeerFailure) -> None:
        self._replies.on_peer_failure(waiting.destination_id, waiting.correlation, failure)
