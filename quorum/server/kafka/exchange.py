"""One request, and the way of its response.

Decides: a response is encoded and sent after the node's turn, never within it. Then an error in it concerns one
connection only, and the log's writes do not wait for it. Only a Fetch response leaves before those writes. Must not
know: the requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from metadata_log.offsets import Offset
from quorum.api.calls import NO_OFFSET, ClientAnswer, ClientCall
from quorum.api.error_codes import Error
from quorum.api.request import Request, Response
from quorum.server.kafka.offered_versions import OFFERED
from quorum.server.node import ClientIdentity, Node, timeout_of

if TYPE_CHECKING:  # `wire` imports kio, which is slow: a process without a CONTROLLER listener does without
    from quorum.transport.kafka.wire import Answers, Header

R = TypeVar("R", bound=Response)

_ERROR_TRANSLATION = {Error.OFFSET_NOT_AVAILABLE: Error.REQUEST_TIMED_OUT}
"""Errors that only this software's clients handle, and the error that a Kafka client gets."""


class Sink(Protocol):
    """The destination of a response."""

    def answer(self, data: bytes, error: Error, throttle_ms: int) -> None:
        """Send a response.

        Args:
            data: the encoded response with its header.
            error: of the request as a whole.
            throttle_ms: the time for which the client may send no further request.
        """

    def fail(self, why: str) -> None:
        """Give up: there will be no response."""


Soon = Callable[[Callable[[], None]], object]
"""Schedules a call for a time when no turn is under way."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A decoded request, and the means to answer it."""

    header: Header
    body: Any
    """kio's entity; for a plain request (`transport.kafka.plain_requests`), the request to the node itself."""
    caller: ClientIdentity
    answers: Answers
    sink: Sink

    def send(self, make: Callable[[], Any], error: Error = Error.NONE) -> None:
        """Send the entity that `make` returns, in the next iteration of the loop."""
        self.send_frame(lambda: self.answers.frame(self.header.correlation_id, make()), error)

    def send_frame(
        self,
        make: Callable[[], bytes],
        error: Error = Error.NONE,
        throttle_ms: int = 0,
        *,
        soon: Soon | None = None,
    ) -> None:
        """Send the bytes that `make` returns, header included, when `soon` calls: by default in the next iteration."""
        later = soon or asyncio.get_running_loop().call_soon
        later(lambda: self._send(make, error, throttle_ms))

    def _send(self, make: Callable[[], bytes], error: Error, throttle_ms: int) -> None:
        data: bytes | None = None
        try:
            data = make()
        finally:
            if data is None:  # a bug in this software: the loop logs the exception
                self.sink.fail("its answer could not be made")
        self.sink.answer(data, error, throttle_ms)


def ask_controller(
    exchange: Exchange,
    node: Node,
    request: Request[R],
    to_entity: Callable[[Answers, R], Any],
    *,
    is_local: bool = False,
) -> None:
    """Hand a request to the controller; `to_entity` makes kio's entity from its response.

    `is_local`: this controller answers a read from its own published image, active or standby.
    """
    answers, correlation_id = exchange.answers, exchange.header.correlation_id
    at_least = Offset(0) if is_local else NO_OFFSET
    ask_for_frame(
        exchange, node, request, lambda said: answers.frame(correlation_id, to_entity(answers, said)), at_least
    )


def ask_for_frame(
    exchange: Exchange,
    node: Node,
    request: Request[R],
    to_frame: Callable[[R], bytes],
    at_least_offset: Offset = NO_OFFSET,
) -> None:
    """Hand a request to the controller; `to_frame` encodes its response, header included.

    `at_least_offset`: see `ClientCall`.
    """

    def respond(answer: ClientAnswer[R]) -> None:
        response = answer.response
        if response is None:
            response = request.rejected(_ERROR_TRANSLATION.get(answer.error, answer.error), answer.message)
        exchange.send_frame(partial(to_frame, response), response.error, getattr(response, "throttle_time_ms", 0))

    header = exchange.header
    context = msgspec.structs.replace(
        exchange.caller.context(node.now_ms(), timeout_of(request, 0)),
        client_id=header.client_id or "",
        knows_throttling=header.version >= OFFERED[header.key].first_throttled,
    )
    node.client_request(ClientCall(request=request, context=context, respond=respond, at_least_offset=at_least_offset))


GiveUp = Callable[[], None]
