"""One replica's incoming Fetch stream, with at most one parked request and at most one unsent response.

Decides: a second request replaces the first, and a broken stream drops the parked one. Must not know: the log.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from kraft.v1 import quorum_pb2
from metadata_log.ids import TopicId
from quorum.api.calls import NO_CALLER, PeerResponse
from quorum.api.context import RequestContext
from quorum.api.raft_messages import FetchResponse
from quorum.node.core.ports import IncomingRequests
from quorum.server.grpc.callers import end_tasks
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.fetch import fetch_request_from, fetch_response_to


class FetchContext(Protocol):
    """The methods of the gRPC context that the stream uses."""

    async def read(self) -> quorum_pb2.FetchRequest | object:
        """Return the next message, or `grpc.aio.EOF`."""

    async def write(self, message: quorum_pb2.FetchResponse) -> None:
        """Send a message. Return once the connection has accepted it."""


class _Parked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    request_id: int
    correlation_id: int
    topic_id: TopicId


class FetchDoor:
    """Serves one stream until the replica ends it. If the connection breaks, gRPC cancels `serve`."""

    def __init__(self, context: FetchContext, node: IncomingRequests, caller: RequestContext = NO_CALLER) -> None:
        self._context = context
        self._node = node
        self._caller = caller
        self._parked: _Parked | None = None
        self._answer: quorum_pb2.FetchResponse | None = None
        self._has_answer = asyncio.Event()
        self._is_ending = False

    async def serve(self) -> None:
        """Read requests and send responses until the replica ends its side. Then drop the parked request."""
        writer = asyncio.get_running_loop().create_task(self._write(), name="fetch-answers")
        try:
            while not writer.done():
                message = await self._context.read()
                if not isinstance(message, quorum_pb2.FetchRequest):
                    break
                self._take(message)
            self._drop()
            self._is_ending = True
            self._has_answer.set()
            # gRPC cannot end a stream while a message is on its way into it.
            await asyncio.wait((writer,))
        finally:
            self._drop()
            await end_tasks(writer)

    def _take(self, message: quorum_pb2.FetchRequest) -> None:
        self._drop()
        correlation_id = message.correlation_id
        try:
            call = msgspec.structs.replace(fetch_request_from(message), context=self._caller)
        except BadMessage as bad:
            self._send(quorum_pb2.FetchResponse(correlation_id=correlation_id, error_code=bad.error))
            return
        topic_id = call.topic_id

        def respond(response: PeerResponse) -> None:
            self._on_answer(correlation_id, topic_id, response)

        request_id = self._node.peer_request(call, respond)
        self._parked = _Parked(request_id=request_id, correlation_id=correlation_id, topic_id=topic_id)

    def _on_answer(self, correlation_id: int, topic_id: TopicId, response: PeerResponse) -> None:
        if self._parked is None or self._parked.correlation_id != correlation_id:
            return
        if not isinstance(response, FetchResponse):
            raise TypeError(f"a Fetch was answered with {type(response).__name__}")
        self._parked = None
        self._send(fetch_response_to(response, topic_id, correlation_id))

    def _drop(self) -> None:
        parked, self._parked = self._parked, None
        if parked is not None:
            self._node.peer_gone(parked.request_id)

    def _send(self, message: quorum_pb2.FetchResponse) -> None:
        """Queue a response. It replaces an unsent one, whose request a newer request has replaced."""
        self._answer = message
        self._has_answer.set()

    async def _write(self) -> None:
        while not self._is_ending or self._answer is not None:
            await self._has_answer.wait()
            self._has_answer.clear()
            message, self._answer = self._answer, None
            if message is not None:
                await self._context.write(message)
