"""The Controller service: hands the requests of clients to the node. Unary calls are here, Sessions in `session`.

A response that is too large for one message is rejected on a unary call; a Session divides it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from kraft.v1 import controller_pb2 as pb
from quorum.api.calls import ClientAnswer, ClientCall, Rejection
from quorum.api.error_codes import Error
from quorum.api.request import Response
from quorum.node.process.large_requests import Done, LargeRequests
from quorum.node.process.long_answers import Answered
from quorum.node.process.raw_messages import TooManyElementsError, elements_in, parsed_in_round
from quorum.node.process.rounds import LEAST_COST
from quorum.node.process.turns import TooManyWaitError
from quorum.server.grpc.callers import caller_of
from quorum.server.grpc.session import Session
from quorum.server.node import Node, timeout_of
from quorum.transport.channel import SESSION_HEADER
from quorum.transport.grpc.convert.calls import KINDS, response_to
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.consistency import at_least_offset_in
from quorum.transport.grpc.convert.kind import Kind
from quorum.transport.grpc.convert.parts import ANSWERED_LONG, SINGLE_CALL_WEIGHT, weight_of
from quorum.transport.grpc.methods import method_name
from quorum.transport.kafka.reader import MAX_ELEMENTS

_NOTHING: Final[Rejection] = ClientAnswer(error=Error.NONE)
_MS_PER_S: Final = 1000
_MESSAGES: Final[Mapping[str, type[Message]]] = {kind.name: type(getattr(pb.Call(), kind.name)) for kind in KINDS}

R = TypeVar("R", bound=Response)


class ControllerService:
    """Serves Controller for one node. At the end of this module, each row of KINDS adds the method of one request."""

    def __init__(self, node: Node, large: LargeRequests) -> None:
        self._node = node
        self._large = large

    async def Session(self, request_iterator: Any, context: Any) -> None:
        """Serve a Session stream; see controller.proto."""
        # The header proves that a controller is at this address: until it comes, the client has sent nothing.
        await context.send_initial_metadata((SESSION_HEADER,))
        await Session(context, self._node, caller_of(context, self._node), self._large).serve()

    async def serve(self, kind: Kind[R], message: Any, context: Any) -> Any:
        """Hand the request to the node, and return the response's message of that kind.

        A message that is not small arrives as raw bytes. It is parsed in a round, or in its turn if it is large.
        """
        done: Done | None = None
        answered: Answered | None = None
        answer: ClientAnswer[R] = _NOTHING
        try:
            if isinstance(message, bytes):
                host = caller_of(context, self._node).host
                message, done = await parsed_in_round(self._large, host, message, _MESSAGES[kind.name], MAX_ELEMENTS)
            elif not self._large.rounds.admits(cost := LEAST_COST * elements_in(message)):
                await self._large.rounds.turn(caller_of(context, self._node).host, cost)
            if kind.request.__name__ in ANSWERED_LONG:
                answered = await self._large.long_answers.turn(caller_of(context, self._node).host, kind.name)
            answer = await self._ask(kind, message, context)
        except BadMessage as bad:
            answer = ClientAnswer(error=bad.error, message=bad.why)
        except TooManyElementsError as refused:
            answer = ClientAnswer(error=Error.INVALID_REQUEST, message=str(refused))
        except TooManyWaitError as refused:
            answer = ClientAnswer(error=Error.THROTTLING_QUOTA_EXCEEDED, message=str(refused))
        finally:
            if done is not None:
                done()
            if answered is not None:
                answered(weight_of(answer.response))
        return response_to(kind, _fitting(kind, answer))

    async def _ask(self, kind: Kind[R], message: Any, context: Any) -> ClientAnswer[R]:
        request = kind.request_from(message)
        at_least_offset = at_least_offset_in(message)
        remaining_s = context.time_remaining()
        named_ms = 0 if remaining_s is None else max(1, int(min(remaining_s, 1e6) * _MS_PER_S))
        asked = caller_of(context, self._node).context(self._node.now_ms(), timeout_of(request, named_ms))
        answered: asyncio.Future[ClientAnswer[R]] = asyncio.get_running_loop().create_future()

        def respond(answer: ClientAnswer[R]) -> None:
            if not answered.done():
                answered.set_result(answer)

        self._node.client_request(
            ClientCall(request=request, context=asked, respond=respond, at_least_offset=at_least_offset)
        )
        return await answered


def _method(kind: Kind[R]) -> Callable[[ControllerService, Any, Any], Awaitable[Any]]:
    async def serve(door: ControllerService, request: Any, context: Any) -> Any:
        return await door.serve(kind, request, context)

    return serve


for _kind in KINDS:
    setattr(ControllerService, method_name(_kind), _method(_kind))


def _fitting(kind: Kind[R], answer: ClientAnswer[R]) -> ClientAnswer[R]:
    if weight_of(answer.response) <= SINGLE_CALL_WEIGHT:
        return answer
    why = f"the answer to {kind.name} is too large for a single call: ask for less, or on a Session"
    if not kind.is_repeatable:
        why = f"{kind.name} was done, but its answer is too large for a single call: ask on a Session"
    return ClientAnswer(error=Error.MESSAGE_TOO_LARGE, message=why)
