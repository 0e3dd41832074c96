"""One request and the way of its answer.

Decides: that an answer is made and sent after the node's turn, never within it: what goes wrong with it concerns one
connection, and the log does not wait for it, but for a Fetch's, which has to leave first. Must not know: what is asked.
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
from quorum.server.node import Caller, Node, timeout_of

if TYPE_CHECKING:  # `wire` loads kio, which no process pays for that has no listener CONTROLLER
    from quorum.transport.kafka.wire import Answers, Header

R = TypeVar("R", bound=Response)

_SPELT = {Error.OFFSET_NOT_AVAILABLE: Error.REQUEST_TIMED_OUT}
"""Refusals of ours alone, and what a client of Kafka's knows instead."""


class Sink(Protocol):
    """Where an answer goes."""

    def answer(self, data: bytes, error: Error, throttle_ms: int) -> None:
        """The answer's bytes with their header; `error` as it is told for the whole request, and for how long, in ms,
        whoever asked is to ask for nothing more."""

    def fail(self, why: str) -> None:
        """There will be none."""


Soon = Callable[[Callable[[], None]], object]
"""Calls something later on, when no turn is under way."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request that was understood."""

    header: Header
    body: Any
    """kio's entity; of a plain request (`transport.kafka.plain_requests`) what the node is asked."""
    caller: Caller
    answers: Answers
    sink: Sink

    def send(self, make: Callable[[], Any], error: Error = Error.NONE) -> None:
        """Answer, with the entity that `make` gives; soon, not now."""
        self.send_frame(lambda: self.answers.frame(self.header.correlation_id, make()), error)

    def send_frame(
        self,
        make: Callable[[], bytes],
        error: Error = Error.NONE,
        throttle_ms: int = 0,
        *,
        soon: Soon | None = None,
    ) -> None:
        """Answer, with the bytes that `make` gives, the header's among them; `soon`, by default in the loop's next
        round, not now."""
        later = soon or asyncio.get_running_loop().call_soon
        later(lambda: self._send(make, error, throttle_ms))

    def _send(self, make: Callable[[], bytes], error: Error, throttle_ms: int) -> None:
        data: bytes | None = None
        try:
            data = make()
        finally:
            if data is None:  # a bug of ours, which the loop logs
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
    """Hand a request to the controller; `to_entity` makes the answer's entity of its response.

    A read that is local is answered by whichever controller is asked, from what it has published.
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
    """Hand a request to the controller; `to_frame` makes the answer's bytes, with its header, of its response. For
    `at_least_offset` see `ClientCall`."""

    def respond(answer: ClientAnswer[R]) -> None:
        response = answer.response
        if response is None:
            response = request.rejected(_SPELT.get(answer.error, answer.error), answer.message)
        exchange.send_frame(partial(to_frame, response), response.error, getattr(response, "throttle_time_ms", 0))

    header = exchange.header
    context = msgspec.structs.replace(
        exchange.caller.context(node.now_ms(), timeout_of(request, 0)),
        client_id=header.client_id or "",
        knows_throttling=header.version >= OFFERED[header.key].first_throttled,
    )
    node.client_request(ClientCall(request=request, context=context, respond=respond, at_least_offset=at_least_offset))


GiveUp = Callable[[], None]
