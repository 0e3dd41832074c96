"""Between gRPC and the services: how many calls may be open, and how many requests may be on their way in.

Decides: who is refused. Voters have places of their own, so that no stranger hinders Vote and Fetch. A message that
cannot be parsed ends its call with INVALID_ARGUMENT. Must not know: what a method does.

gRPC reads a unary request before it calls a handler, and only a handler learns the caller's address. Therefore every
method is served as a stream here, and its request is read by this module.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message

from quorum.node.config.door_limits import LARGEST_INT32
from quorum.node.process.refusals import Refusals
from quorum.node.process.voter_hosts import VoterHosts

MAX_OPEN_CALLS: Final = 10_000
"""Streams and single calls together, of callers that are no voters; one more is refused with RESOURCE_EXHAUSTED."""
KEPT_FOR_SINGLE_CALLS: Final = 256
"""Of these places: streams may stay open for days, and must not shut out a `quorum describe`."""
KEPT_FOR_VOTERS: Final = 256
"""Places beyond these, for calls from a voter's address."""
MOST_RECEIVED: Final = 16
"""Single requests that are received at a time from addresses of no voter; others wait, unread."""
MOST_WAITING: Final = 1_000
SMALL_BYTES: Final = 64 * 1024
_LARGE_REQUESTS: Final = "/kraft.v1.Controller/"
"""The service whose requests may be larger than that."""
_AGENT: Final = "/kraft.v1.Agent/"
_AGENT_BYTES: Final = 1 << 20
"""The largest useful request to an agent, a read of 10,000 partitions, has a third of this."""
SLOW_S: Final = 1.0
"""After so long, a request that is not whole makes room for one that waits."""

Behaviour = Callable[[Any, Any], Any]


def _most_bytes(method: str) -> int:
    if method.startswith(_LARGE_REQUESTS):
        return LARGEST_INT32
    return _AGENT_BYTES if method.startswith(_AGENT) else SMALL_BYTES


def host_of(peer: str) -> str:
    """Return the host in a peer's name, such as `ipv4:127.0.0.1:4711` or `ipv6:%5B::1%5D:4711`."""
    _, _, address = unquote(peer).partition(":")
    return address.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


class Refused(Exception):
    """A call that is not served, with its status."""

    def __init__(self, code: grpc.StatusCode, reason: str, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.reason = reason
        self.why = why


class Receiving:
    """The single requests of strangers that are on their way in: few at a time, the slowest makes room."""

    def __init__(self, most: int = MOST_RECEIVED, slow_s: float = SLOW_S) -> None:
        self._most = most
        self._slow_s = slow_s
        self._reading: dict[asyncio.Task[Any], float] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def received(self) -> int:
        """How many are received now."""
        return len(self._reading)

    @property
    def waiting(self) -> int:
        """How many wait, unread."""
        return len(self._waiting)

    async def read(self, context: Any) -> Any:
        """Return the raw request of a call.

        Raises:
            Refused: too many wait, or this one was too slow.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("no task reads")
        if len(self._reading) >= self._most:
            await self._room(loop)
        self._reading[task] = loop.time()
        try:
            return await context.read()
        except asyncio.CancelledError:
            if task in self._reading:  # the call is gone
                raise
            task.uncancel()
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "slow", "its request was not whole in time") from None
        finally:
            self._reading.pop(task, None)
            self._next()

    async def _room(self, loop: asyncio.AbstractEventLoop) -> None:
        if len(self._waiting) >= MOST_WAITING:
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", "too many requests wait to be received")
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiter)
        self._watch(loop)
        try:
            await waiter
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _next(self) -> None:
        while self._waiting and len(self._reading) < self._most:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None:
            self._timer = loop.call_later(self._slow_s, self._make_room, loop)

    def _make_room(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the slow ones, as many as wait, oldest first."""
        self._timer = None
        now_s = loop.time()
        slow = [task for task, since_s in self._reading.items() if now_s - since_s >= self._slow_s]
        for task in slow[: len(self._waiting)]:
            del self._reading[task]
            task.cancel()
        if self._waiting:
            self._watch(loop)


class Guard(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """The interceptor of a controller's gRPC server."""

    def __init__(
        self,
        listener: str,
        voters: VoterHosts,
        refusals: Refusals,
        *,
        most_open: int = MAX_OPEN_CALLS,
        most_per_host: int = LARGEST_INT32,
        receiving: Receiving | None = None,
    ) -> None:
        self._listener = listener
        self._voters = voters
        self._refusals = refusals
        self._most_open = most_open
        self._most_per_host = most_per_host
        self._receiving = receiving or Receiving()
        self._open = 0
        self._open_streams = 0
        self._by_host = Counter[str]()
        self._handlers: dict[str, Any] = {}

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        """Return the guarded handler of a method; it is made once."""
        method = handler_call_details.method
        known = self._handlers.get(method)
        if known is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            known = self._handlers[method] = self._guarded(handler, method)
        return known

    def _guarded(self, handler: Any, method: str) -> Any:
        most_bytes = _most_bytes(method)
        is_stream = handler.request_streaming or handler.response_streaming
        served = _behaviour(handler)

        async def behaviour(_: Any, context: Any) -> Any:
            host = host_of(context.peer())
            is_voter = host in self._voters
            refused: Refused | None = None
            try:
                self._enter(host, is_voter, is_stream)
                try:
                    requests = _Requests(context, handler, None if is_voter else self._receiving, most_bytes)
                    return await served(requests, context)
                finally:
                    self._leave(host, is_stream)
            except DecodeError:
                refused = Refused(grpc.StatusCode.INVALID_ARGUMENT, "malformed", "the message cannot be parsed")
            except Refused as why:
                refused = why
            self._refusals.closed(self._listener, refused.reason, host, refused.why)
            return await context.abort(refused.code, refused.why)

        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(behaviour, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(behaviour, None, handler.response_serializer)

    def _enter(self, host: str, is_voter: bool, is_stream: bool) -> None:
        most = self._most_open + (KEPT_FOR_VOTERS if is_voter else 0)
        if self._open >= most or (
            is_stream and not is_voter and self._open_streams >= self._most_open - KEPT_FOR_SINGLE_CALLS
        ):
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", "too many calls are open here")
        if not is_voter and self._by_host[host] >= self._most_per_host:
            why = f"max.connections.per.ip={self._most_per_host}: so many calls are open"
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", why)
        self._open += 1
        self._open_streams += is_stream
        self._by_host[host] += 1

    def _leave(self, host: str, is_stream: bool) -> None:
        self._open -= 1
        self._open_streams -= is_stream
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]


class _Requests:
    """A call's requests, read raw and parsed here. Handlers take it in place of the call's context."""

    def __init__(self, context: Any, handler: Any, receiving: Receiving | None, most_bytes: int) -> None:
        self._context = context
        self._most_bytes = most_bytes
        self._parse = handler.request_deserializer
        self._receiving = receiving
        self.received_bytes = 0
        """The size of the message that was read last."""
        self.write = context.write
        self.peer = context.peer
        self.abort = context.abort
        self.send_initial_metadata = context.send_initial_metadata
        self.time_remaining = context.time_remaining

    async def read(self) -> Any:
        """The next message of a stream, or `grpc.aio.EOF`."""
        raw = await self._context.read()
        return self._parsed(raw) if isinstance(raw, bytes) else raw

    async def only(self) -> Any:
        """The request of a single call."""
        if self._receiving is None:
            raw = await self._context.read()
        else:
            raw = await self._receiving.read(self._context)
        if not isinstance(raw, bytes):
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "malformed", "the call has no request")
        return self._parsed(raw)

    def _parsed(self, raw: bytes) -> Any:
        self.received_bytes = len(raw)
        if len(raw) > self._most_bytes:
            why = f"a request of {len(raw)} bytes: it may have {self._most_bytes}"
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", why)
        return self._parse(raw)

    async def __aiter__(self) -> AsyncIterator[Any]:
        while isinstance(message := await self.read(), Message):
            yield message


def _behaviour(handler: Any) -> Callable[[_Requests, Any], Awaitable[Any]]:
    """Return what serves a call, given its requests: one form for the four of gRPC and its two styles."""
    if not handler.request_streaming and not handler.response_streaming:
        unary: Behaviour = handler.unary_unary

        async def serve_unary(requests: _Requests, context: Any) -> Any:
            return await unary(await requests.only(), requests)

        return serve_unary
    stream: Behaviour = handler.stream_stream or handler.unary_stream

    async def serve_stream(requests: _Requests, context: Any) -> None:
        first = requests if handler.request_streaming else await requests.only()
        served = stream(first, requests)
        if hasattr(served, "__aiter__"):
            async for message in served:
                await context.write(message)
        else:
            await served

    return serve_stream
