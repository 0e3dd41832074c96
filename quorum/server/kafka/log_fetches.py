"""The connection over which another controller of ours fetches the log: nothing else is asked here.

Decides: that a second request replaces the first, as on a Fetch stream of gRPC, that a broken connection drops the one
that waits, and that an answer leaves within the node's turn. Must not know: what is fetched.

Bounds: one request waits, one answer is being taken; whoever asks on while two are not taken is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from metadata_log.ids import TopicId
from quorum.node.ports import PeerResponse
from quorum.raft.messages import FetchResponse
from quorum.server.kafka.bounds import Bounds
from quorum.server.kafka.frames import BadLengthError, Frames
from quorum.server.node import Caller, Node
from quorum.transport.channel import MESSAGE_LIMIT_BYTES
from quorum.transport.kafka.log_fetch_frames import answer_frame, read_request

_LARGEST_REQUEST_BYTES: Final = 1024


class LogFetches(asyncio.Protocol):
    """Takes an open connection over, from its first request on."""

    def __init__(
        self, transport: asyncio.Transport, node: Node, caller: Caller, bounds: Bounds, log: Callable[[str], None]
    ) -> None:
        """`log`: why the connection was closed by us."""
        self._transport = transport
        self._node = node
        self._context = caller.context()
        self._bounds = bounds
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._frames = Frames(_LARGEST_REQUEST_BYTES)
        self._correlation_id: int | None = None
        self._request_id: int | None = None
        bounds.on_open(self, self._loop.time())

    # --- asyncio's side

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._frames.feed(data)
        try:
            while not self._transport.is_closing() and (frame := self._frames.next()) is not None:
                self._take(frame)
        except BadLengthError as bad:
            self.evict(str(bad))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._bounds.on_closed(self)
        self._drop()

    # --- the door's side

    def evict(self, why: str) -> None:
        """See `bounds.Holder`."""
        if not self._transport.is_closing():
            self._log(why)
        self._transport.abort()

    def close(self) -> None:
        """The node stops."""
        self._transport.abort()

    def _take(self, frame: bytes) -> None:
        found = read_request(frame, self._context)
        if found is None:
            self.evict("it fetched the log like a controller of ours, and then asked for something else")
            return
        if self._transport.get_write_buffer_size() > MESSAGE_LIMIT_BYTES:
            self.evict("it asks for more of the log and does not read what it gets")
            return
        self._drop()
        correlation_id, call = found
        self._correlation_id = correlation_id
        topic_id = call.topic_id
        self._bounds.on_request(self, self._loop.time())

        def respond(response: PeerResponse) -> None:
            self._answer(correlation_id, topic_id, response)

        self._request_id = self._node.peer_request(call, respond)

    def _answer(self, correlation_id: int, topic_id: TopicId, response: PeerResponse) -> None:
        if self._correlation_id != correlation_id or self._transport.is_closing():
            return
        if not isinstance(response, FetchResponse):
            raise TypeError(f"a Fetch was answered with {type(response).__name__}")
        self._correlation_id = self._request_id = None
        self._transport.write(answer_frame(response, topic_id, correlation_id))
        self._bounds.on_answered(self, self._loop.time())

    def _drop(self) -> None:
        request_id, self._request_id, self._correlation_id = self._request_id, None, None
        if request_id is not None:
            self._node.peer_gone(request_id)
