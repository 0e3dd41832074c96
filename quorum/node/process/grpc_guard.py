"""The guard between gRPC and the services: bounds of open calls, and of requests that are being received.

Decides: which calls are rejected. Voters have separate places, so that no other client hinders Vote and Fetch. A
message that cannot be parsed ends its call with INVALID_ARGUMENT. Must not know: the purpose of a method.

gRPC reads a unary request before it calls a handler, and only a handler learns the client's address. Therefore every
method is served as a stream here, and this module reads its request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message

from quorum.node.config.door_limits import LARGEST_INT32
from quorum.node.process.large_requests import AT_ONCE_BYTES, Done, LargeRequests
from quorum.node.process.raw_messages import TooManyElementsError, parsed_in_turn
from quorum.node.process.receiving import CallRejectedError, Receiving
from quorum.node.process.refusals import Refusals
from quorum.node.process.rounds import SMALL_BYTES as ROUND_SMALL_BYTES
from quorum.node.process.turns import TooManyWaitError
from quorum.node.process.voter_hosts import VoterHosts

MAX_OPEN_CALLS: Final = 10_000
"""Streams and single calls together, of clients that are no voters; one more is rejected with RESOURCE_EXHAUSTED."""
KEPT_FOR_SINGLE_CALLS: Final = 256
"""Places that streams may not take: a stream may stay open for days, and must not shut out a `quorum describe`."""
KEPT_FOR_VOTERS: Final = 256
"""Additional places for calls from a voter's address."""
SMALL_BYTES: Final = 64 * 1024
_LARGE_REQUESTS: Final = "/kraft.v1.Controller/"
"""The service whose requests may be larger than that."""
_AGENT: Final = "/kraft.v1.Agent/"
_AGENT_BYTES: Final = 1 << 20
"""The largest useful request to an agent, a read of 10,000 partitions, has a third of this."""
_AGENT_ELEMENTS: Final = 20_000
"""The most elements of such a read: it names at most as many topics, and as many partitions."""

Behaviour = Callable[[Any, Any], Any]


@lru_cache(maxsize=4_096)
def host_of(peer: str) -> str:
    """Return the host in a peer's name, such as `ipv4:127.0.0.1:4711` or `ipv6:%5B::1%5D:4711`."""
    _, _, address = unquote(peer).partition(":")
    return address.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


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
        large: LargeRequests | None = None,
    ) -> None:
        self._listener = listener
        self._voters = voters
        self._refusals = refusals
        self._most_open = most_open
        self._most_per_host = most_per_host
        self._receiving = receiving or Receiving()
        self._large = large or LargeRequests()
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
        rules = _rules_of(method, handler, self._large)
        is_stream = handler.request_streaming or handler.response_streaming
        served = _behaviour(handler)

        async def behaviour(_: Any, context: Any) -> Any:
            peer = context.peer()
            host = host_of(peer)
            is_voter = host in self._voters
            try:
                self._enter(host, is_voter, is_stream)
                requests = _Requests(context, peer, host, rules, None if is_voter else self._receiving)
                try:
                    return await served(requests, context)
                finally:
                    self._leave(host, is_stream)
                    if requests.done is not None:
                        requests.done()
            except (CallRejectedError, DecodeError, TooManyWaitError, TooManyElementsError) as refused:
                code, reason, why = _status_of(refused)  # and not the exception: its frames hold the request
            self._refusals.closed(self._listener, reason, host, why)
            return await context.abort(code, why)

        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(behaviour, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(behaviour, None, handler.response_serializer)

    def _enter(self, host: str, is_voter: bool, is_stream: bool) -> None:
        most = self._most_open + (KEPT_FOR_VOTERS if is_voter else 0)
        if self._open >= most or (
            is_stream and not is_voter and self._open_streams >= self._most_open - KEPT_FOR_SINGLE_CALLS
        ):
            raise CallRejectedError(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", "too many calls are open here")
        if not is_voter and self._by_host[host] >= self._most_per_host:
            why = f"max.connections.per.ip={self._most_per_host}: so many calls are open"
            raise CallRejectedError(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", why)
        self._open += 1
        self._open_streams += is_stream
        self._by_host[host] += 1

    def _leave(self, host: str, is_stream: bool) -> None:
        self._open -= 1
        self._open_streams -= is_stream
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]


class _Rules(NamedTuple):
    """The bounds and the parsing of a method's requests."""

    most_bytes: int
    at_once_bytes: int
    """Up to this size, a request is parsed where it is read."""
    in_turn: Callable[[str, bytes], Awaitable[tuple[Any, Done]]] | None
    """Parses a larger request; None if the method takes it raw, and parses it in its turn."""
    parse: Callable[[bytes], Any]


def _rules_of(method: str, handler: Any, large: LargeRequests) -> _Rules:
    parse = handler.request_deserializer
    if method.startswith(_LARGE_REQUESTS):
        return _Rules(LARGEST_INT32, ROUND_SMALL_BYTES, None, parse)
    if not method.startswith(_AGENT):
        return _Rules(SMALL_BYTES, SMALL_BYTES, None, parse)
    kind = parse.__self__

    async def in_turn(host: str, raw: bytes) -> tuple[Any, Done]:
        return await parsed_in_turn(large, host, raw, kind, _AGENT_ELEMENTS)

    return _Rules(_AGENT_BYTES, AT_ONCE_BYTES, in_turn, parse)


def _status_of(refused: Exception) -> tuple[grpc.StatusCode, str, str]:
    """Return the status of a rejected call, the reason in a word, and the sentence."""
    if isinstance(refused, CallRejectedError):
        return refused.code, refused.reason, refused.why
    if isinstance(refused, DecodeError):
        return grpc.StatusCode.INVALID_ARGUMENT, "malformed", "the message cannot be parsed"
    if isinstance(refused, TooManyElementsError):
        return grpc.StatusCode.INVALID_ARGUMENT, "limit", str(refused)
    return grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", str(refused)


class _Requests:
    """A call's requests, read raw, and parsed here unless they are large. Handlers use it as the call's context."""

    __slots__ = (
        "_context",
        "_host",
        "_peer",
        "_receiving",
        "_rules",
        "abort",
        "done",
        "send_initial_metadata",
        "time_remaining",
        "write",
    )

    def __init__(self, context: Any, peer: str, host: str, rules: _Rules, receiving: Receiving | None) -> None:
        self._context = context
        self._peer = peer
        self._host = host
        self._rules = rules
        self._receiving = receiving
        self.done: Done | None = None
        """Must be called once a large request is answered."""
        self.write = context.write
        self.abort = context.abort
        self.send_initial_metadata = context.send_initial_metadata
        self.time_remaining = context.time_remaining

    def peer(self) -> str:
        """Return the name of the client's connection. Cached, because gRPC builds the text on each call."""
        return self._peer

    async def read(self) -> Any:
        """Return the next message of a stream, raw unless it is small, or `grpc.aio.EOF`."""
        raw = await self._context.read()
        return self._parsed(raw) if isinstance(raw, bytes) else raw

    async def only(self) -> Any:
        """Return the request of a single call, raw if it is large and its method takes raw requests."""
        if self._receiving is None:
            raw = await self._context.read()
        else:
            raw = await self._receiving.read(self._context, self._host)
        if not isinstance(raw, bytes):
            raise CallRejectedError(grpc.StatusCode.INVALID_ARGUMENT, "malformed", "the call has no request")
        request = self._parsed(raw)
        if request is raw and self._rules.in_turn is not None:
            request, self.done = await self._rules.in_turn(self._host, raw)
        return request

    def _parsed(self, raw: bytes) -> Any:
        """Parse a message that is not large."""
        size = len(raw)
        if size <= self._rules.at_once_bytes:
            return self._rules.parse(raw)
        if size > self._rules.most_bytes:
            why = f"a request of {size} bytes: it may have {self._rules.most_bytes}"
            raise CallRejectedError(grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", why)
        return raw

    async def __aiter__(self) -> AsyncIterator[Any]:
        while isinstance(message := await self.read(), Message):
            yield message


def _behaviour(handler: Any) -> Callable[[_Requests, Any], Awaitable[Any]]:
    """Return the function that serves a call, given its requests: one form for gRPC's four kinds and two styles."""
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
