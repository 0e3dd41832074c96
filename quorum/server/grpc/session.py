"""One client's Session: many calls to a message, answered in any order, as many to a message as there are.

Decides: how many calls may be unanswered on a stream, and how answers share messages. Must not know: what they ask.

Bounds: the reader stops while `max_in_flight` calls wait, and a call counts until its answer has been taken by the
connection, so that a client which does not read gets nothing more read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import msgspec

from kraft.v1 import controller_pb2
from quorum.api.calls import AnyAnswer, ClientAnswer, ClientCall, Rejection
from quorum.api.error_codes import Error
from quorum.api.request import Response
from quorum.node.process.large_requests import AT_ONCE_BYTES, Done, LargeRequests
from quorum.node.process.long_answers import Answered
from quorum.node.process.raw_messages import (
    LENGTH_FIRST,
    MOST_AT_ONCE,
    TooManyElementsError,
    elements_in,
    emptied,
    fields_in,
    parsed_in_turn,
)
from quorum.node.process.rounds import LEAST_COST, ROUND_BYTES
from quorum.node.process.turns import TooManyWaitError
from quorum.server.grpc.callers import end_tasks
from quorum.server.node import Caller, Node, timeout_of
from quorum.transport.grpc.convert.calls import KINDS, answer_to, kind_in, unknown_answer_to
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.consistency import at_least_offset_in
from quorum.transport.grpc.convert.kind import Kind
from quorum.transport.grpc.convert.parts import ANSWERED_LONG, PART_WEIGHT, parts_of, weight_of
from quorum.transport.kafka.reader import MAX_ELEMENTS

MAX_IN_FLIGHT: Final = 8_192
"""Calls unanswered on one Session; its reader waits while there are as many, but finishes the message it is at."""
MAX_CALLS_A_MESSAGE: Final = 8_192
"""One more in a message is refused."""
_CALLS: Final = controller_pb2.SessionRequest.CALLS_FIELD_NUMBER
_PARSED_BYTES: Final = 256
"""Memory that a parsed call of a small message is taken to hold while it waits."""
THROTTLED_S: Final = 1.0
"""Nothing is read for so long after a message whose calls had no room."""
MOST_HELD: Final = 2 * MAX_IN_FLIGHT
"""The weight of calls and unsent answers of one Session: no further call is taken while there is as much."""
_MOST_ANSWERS: Final = 512
"""Answers in one message of a Session, at most."""
_BYTES_OF_ONE: Final = 16
"""Bytes of a round that one topic of an answer costs, or one field of a message that is skipped."""
_FIELDS_A_STEP: Final = 512
"""So many fields of a message are looked at before the next round."""
_ANSWERED_LONG: Final = frozenset(kind.name for kind in KINDS if kind.request.__name__ in ANSWERED_LONG)
_MOST_FIELDS: Final = 64
"""A call that is refused is parsed for its id and its kind: more fields than these have no meaning."""
_WORTH_PREPARING: Final = 20
"""Topics and the like in an answer from which on its message is made while its records are on their way to a commit."""


class SessionContext(Protocol):
    """What a Session uses of its gRPC context."""

    async def read(self) -> controller_pb2.SessionRequest | bytes | object:
        """The next message, raw if it is not small, or `grpc.aio.EOF`."""

    async def write(self, message: controller_pb2.SessionResponse) -> None:
        """Send; returns when the connection has taken it."""


class _Reply(msgspec.Struct, kw_only=True):
    """What is known of an answer before it comes."""

    request_id: int
    kind: Kind[Any] | None = None
    response: Response | None = None
    """Expected."""
    message: Any = None
    """Made of it."""
    weight: int = 1
    """Of the request until it is answered, then of the answer."""
    answered: Answered | None = None

    def prepare(self, response: Response) -> None:
        """Not in this turn, nor before what the turn has left to be sent: the loop's second round from now."""
        if weight_of(response) >= _WORTH_PREPARING:
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._make, response)

    def _make(self, response: Response) -> None:
        if self.kind is not None:
            self.response, self.message = response, self.kind.response_to(response)


class Session:
    """Serves one stream until the client ends it, or is gone (then `serve` is cancelled)."""

    def __init__(
        self,
        context: SessionContext,
        node: Node,
        caller: Caller,
        large: LargeRequests,
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        throttled_s: float = THROTTLED_S,
    ) -> None:
        self._context = context
        self._node = node
        self._caller = caller
        self._large = large
        self._rounds = large.rounds
        self._max_in_flight = max_in_flight
        self._throttled_s = throttled_s
        self._answers: deque[tuple[_Reply, AnyAnswer]] = deque()
        self._in_flight = 0
        self._held = 0
        """The weight of the calls that are in flight."""
        self._has_answers = asyncio.Event()
        self._has_changed = asyncio.Event()
        self._is_over = False

    async def serve(self) -> None:
        """Read and answer; returns once the client has ended its side and every call is answered."""
        loop = asyncio.get_running_loop()
        writer = loop.create_task(self._write(), name="session-writer")
        reader = loop.create_task(self._read_and_drain(), name="session-reader")
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_over = True
            await end_tasks(reader, writer)

    async def _read_and_drain(self) -> None:
        """One task for both: the client may be gone for good between the end of its side and the last answer."""
        await self._read()
        await self._until(lambda: self._in_flight == 0)

    async def _read(self) -> None:
        while True:
            message = await self._context.read()
            if isinstance(message, bytes):
                has_room = await self._take_apart(message)
                message = None  # it is not to be held by a Session that waits
                if not has_room:
                    await asyncio.sleep(self._throttled_s)
            elif isinstance(message, controller_pb2.SessionRequest):
                for call in message.calls:
                    elements = _elements_of(call)
                    cost = LEAST_COST * elements
                    if not self._rounds.admits(cost):
                        await self._rounds.turn(self._caller.host, cost, held=_PARSED_BYTES * len(message.calls))
                    await self._take_in_turn(call, elements)
            else:
                return
            if self._in_flight >= self._max_in_flight:
                await self._until(lambda: self._in_flight < self._max_in_flight)

    async def _take_apart(self, message: bytes) -> bool:
        """Take the calls of a message, each parsed by itself: large calls in their turns, others in rounds.

        What is left of the message waits with each call. If there is no room for it, all large calls that follow
        are refused as well, and False is returned.

        Raises:
            TooManyElementsError: it has twice as many calls as it may have.
            TooManyWaitError: too many bytes wait for rounds.
            DecodeError: it is no message.
        """
        refusal: Rejection | None = None
        for index, (begins_at, ends_at) in enumerate(await self._calls_in(message)):
            raw, held = message[begins_at:ends_at], len(message) - begins_at
            if len(raw) <= AT_ONCE_BYTES or index >= MAX_CALLS_A_MESSAGE:
                await self._round(min(len(raw), AT_ONCE_BYTES), held)
            if index >= MAX_CALLS_A_MESSAGE:
                self._refuse(raw, _too_many())
            elif len(raw) <= AT_ONCE_BYTES and await self._take_small(raw):
                pass
            elif refusal is not None:
                self._refuse(raw, refusal)
            else:
                refusal = await self._take_large(raw, held)
        return refusal is None

    async def _calls_in(self, message: bytes) -> list[tuple[int, int]]:
        """Return where each call of a SessionRequest begins and ends, found in rounds."""
        await self._round(min(len(message), ROUND_BYTES), len(message))
        calls: list[tuple[int, int]] = []
        for count, (number, wire_type, begins_at, ends_at) in enumerate(fields_in(message), 1):
            if count > 2 * MAX_CALLS_A_MESSAGE:
                raise TooManyElementsError(f"a message may hold {MAX_CALLS_A_MESSAGE} calls")
            if number == _CALLS and wire_type == LENGTH_FIRST:
                calls.append((begins_at, ends_at))
            if count % _FIELDS_A_STEP == 0:
                await self._round(_FIELDS_A_STEP * _BYTES_OF_ONE, len(message))
        return calls

    async def _round(self, cost: int, held: int) -> None:
        if not self._rounds.admits(cost):
            await self._rounds.turn(self._caller.host, cost, held=held)

    async def _take_small(self, raw: bytes) -> bool:
        """Take a call in this round; returns False if it holds too many elements for that."""
        call = controller_pb2.Call.FromString(raw)
        elements = _elements_of(call)
        if elements > MOST_AT_ONCE:
            return False
        self._rounds.charge(len(raw), LEAST_COST * elements)
        await self._take_in_turn(call, elements)
        return True

    async def _take_large(self, raw: bytes, held: int) -> Rejection | None:
        """Take a call in its turn; returns the refusal if there is no room for those that wait."""
        try:
            call, done = await parsed_in_turn(
                self._large, self._caller.host, raw, controller_pb2.Call, MAX_ELEMENTS, held=held
            )
        except TooManyElementsError as refused:
            self._refuse(raw, ClientAnswer(error=Error.INVALID_REQUEST, message=str(refused)))
        except TooManyWaitError as refused:
            refusal: Rejection = ClientAnswer(error=Error.THROTTLING_QUOTA_EXCEEDED, message=str(refused))
            self._refuse(raw, refusal)
            return refusal
        else:
            await self._take_in_turn(call, _elements_of(call), done)
        return None

    async def _take_in_turn(self, call: controller_pb2.Call, elements: int, done: Done | None = None) -> None:
        """Take a call as soon as there is room for its answer."""
        if self._held >= MOST_HELD:
            await self._until(lambda: self._held < MOST_HELD)
        answered: Answered | None = None
        if (name := call.WhichOneof("request")) in _ANSWERED_LONG:
            answered = await self._large.long_answers.turn(self._caller.host, cast("str", name))
        self._take(call, elements, done=done, answered=answered)

    def _refuse(self, raw: bytes, refusal: Rejection) -> None:
        """Refuse a call of which no more is parsed than its id and its kind."""
        call = controller_pb2.Call.FromString(emptied(raw, _MOST_FIELDS))
        self._take(call, _elements_of(call), refusal)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._has_changed.clear()
            await self._has_changed.wait()

    def _take(
        self,
        call: controller_pb2.Call,
        elements: int,
        refusal: Rejection | None = None,
        done: Done | None = None,
        answered: Answered | None = None,
    ) -> None:
        reply = _Reply(request_id=call.request_id, weight=1 + elements, answered=answered)
        self._in_flight += 1
        self._held += reply.weight
        try:
            reply.kind = kind = kind_in(call)
            if refusal is not None:
                self._answer(reply, refusal)
                return
            message = getattr(call, kind.name)
            request = kind.request_from(message)
            at_least_offset = at_least_offset_in(message)
        except BadMessage as bad:
            self._answer(reply, ClientAnswer(error=bad.error, message=bad.why))
            if done is not None:
                done()
            return
        context = self._caller.context(self._node.now_ms(), timeout_of(request, call.timeout_ms))

        def respond(answer: AnyAnswer) -> None:
            self._answer(reply, answer)
            if done is not None:
                done()

        self._node.client_request(
            ClientCall(
                request=request,
                context=context,
                respond=respond,
                at_least_offset=at_least_offset,
                prepare=reply.prepare,
            )
        )

    def _answer(self, reply: _Reply, answer: AnyAnswer) -> None:
        weight = weight_of(answer.response)
        self._held += weight - reply.weight
        reply.weight = weight
        if reply.answered is not None:
            reply.answered(weight)
        if not self._is_over:
            self._answers.append((reply, answer))
            self._has_answers.set()

    async def _write(self) -> None:
        while True:
            await self._has_answers.wait()
            self._has_answers.clear()
            while self._answers:
                await self._write_some()

    async def _write_some(self) -> None:
        """One message of what has been answered by now, or all the parts of one large answer."""
        some: list[tuple[_Reply, AnyAnswer]] = []
        weight = 0
        while self._answers and weight < PART_WEIGHT and len(some) < _MOST_ANSWERS:
            adds = self._answers[0][0].weight
            if adds > PART_WEIGHT and some:
                break
            weight += adds
            some.append(self._answers.popleft())
        await self._round(_BYTES_OF_ONE * min(weight, PART_WEIGHT), 0)
        if weight > PART_WEIGHT and len(some) == 1:
            await self._write_parts(*some[0])
        else:
            answers = [_message_of(reply, answer) for reply, answer in some]
            await self._context.write(controller_pb2.SessionResponse(answers=answers))
        self._in_flight -= len(some)
        self._held -= weight
        self._has_changed.set()

    async def _write_parts(self, reply: _Reply, answer: AnyAnswer) -> None:
        for part, has_more in parts_of(answer):
            message = _message_of(reply, part)
            message.has_more = has_more
            await self._context.write(controller_pb2.SessionResponse(answers=[message]))


def _elements_of(call: controller_pb2.Call) -> int:
    name = call.WhichOneof("request")
    return elements_in(getattr(call, name)) if name is not None else 0


def _too_many() -> Rejection:
    why = f"a message may hold {MAX_CALLS_A_MESSAGE} calls"
    return ClientAnswer(error=Error.THROTTLING_QUOTA_EXCEEDED, message=why)


def _message_of(reply: _Reply, answer: AnyAnswer) -> controller_pb2.Answer:
    if reply.kind is None:
        return unknown_answer_to(reply.request_id, answer)
    prepared = reply.message if answer.response is reply.response else None
    return answer_to(reply.request_id, reply.kind, answer, prepared)
