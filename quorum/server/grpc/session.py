"""One client's Session: a message holds many calls; they are answered in any order, all ready answers in one message.

Decides: how many calls may be unanswered on a stream, and how answers share messages. Must not know: the requests.

Bounds: the reader stops while `max_in_flight` calls wait. A call counts until the connection has accepted its answer:
if a client does not read its answers, this side reads no further calls.
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
from quorum.server.node import ClientIdentity, Node, timeout_of
from quorum.transport.grpc.convert.calls import KINDS, answer_to, kind_in, unknown_answer_to
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.consistency import at_least_offset_in
from quorum.transport.grpc.convert.kind import Kind
from quorum.transport.grpc.convert.parts import ANSWERED_LONG, PART_WEIGHT, parts_of, weight_of
from quorum.transport.kafka.reader import MAX_ELEMENTS

MAX_IN_FLIGHT: Final = 8_192
"""The unanswered calls at which the reader of a Session waits. It takes all calls of the current message first."""
MAX_CALLS_A_MESSAGE: Final = 8_192
"""Further calls in one message are rejected."""
_CALLS: Final = controller_pb2.SessionRequest.CALLS_FIELD_NUMBER
_PARSED_BYTES: Final = 256
"""Estimated memory of one parsed call of a small message while it waits."""
THROTTLED_S: Final = 1.0
"""The pause in reading after a message with calls that were rejected for lack of room."""
MOST_HELD: Final = 2 * MAX_IN_FLIGHT
"""The total weight of calls and unsent answers at which a Session takes no further call."""
_MOST_ANSWERS: Final = 512
"""The most answers in one message of a Session."""
_BYTES_OF_ONE: Final = 16
"""The cost, in bytes of a round, of one topic in an answer or of one skipped field of a message."""
_FIELDS_A_STEP: Final = 512
"""The fields of a message that are examined in one round."""
_ANSWERED_LONG: Final = frozenset(kind.name for kind in KINDS if kind.request.__name__ in ANSWERED_LONG)
_MOST_FIELDS: Final = 64
"""The most fields that are parsed of a rejected call: only its id and its kind matter."""
_WORTH_PREPARING: Final = 20
"""The weight from which an answer's message is made early, while its records wait for their commit."""


class SessionContext(Protocol):
    """The methods of the gRPC context that a Session uses."""

    async def read(self) -> controller_pb2.SessionRequest | bytes | object:
        """Return the next message, as raw bytes if it is not small, or `grpc.aio.EOF`."""

    async def write(self, message: controller_pb2.SessionResponse) -> None:
        """Send a message. Return once the connection has accepted it."""


class _Reply(msgspec.Struct, kw_only=True):
    """The state of one call until its answer is sent."""

    request_id: int
    kind: Kind[Any] | None = None
    response: Response | None = None
    """The expected response, if it is known before the commit."""
    message: Any = None
    """The message made early from `response`."""
    weight: int = 1
    """The weight of the request; once it is answered, of the answer."""
    answered: Answered | None = None

    def prepare(self, response: Response) -> None:
        """Make the message of the expected response ahead of its commit."""
        if weight_of(response) >= _WORTH_PREPARING:
            loop = asyncio.get_running_loop()
            # Two iterations from now: the turn itself and the sends that it has scheduled come first.
            loop.call_soon(loop.call_soon, self._make, response)

    def _make(self, response: Response) -> None:
        if self.kind is not None:
            self.response, self.message = response, self.kind.response_to(response)


class Session:
    """Serves one stream until the client ends it. If the connection breaks, gRPC cancels `serve`."""

    def __init__(
        self,
        context: SessionContext,
        node: Node,
        caller: ClientIdentity,
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
        """The weight of the calls in flight."""
        self._has_answers = asyncio.Event()
        self._has_changed = asyncio.Event()
        self._is_over = False

    async def serve(self) -> None:
        """Read calls and send answers. Return once the client has ended its side and every call is answered."""
        loop = asyncio.get_running_loop()
        writer = loop.create_task(self._write(), name="session-writer")
        reader = loop.create_task(self._read_and_drain(), name="session-reader")
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_over = True
            await end_tasks(reader, writer)

    async def _read_and_drain(self) -> None:
        """Read until the client ends its side, then wait for the last answer.

        One task does both: if the client disappears before the last answer, its end also ends this wait.
        """
        await self._read()
        await self._until(lambda: self._in_flight == 0)

    async def _read(self) -> None:
        while True:
            message = await self._context.read()
            if isinstance(message, bytes):
                has_room = await self._take_apart(message)
                message = None  # otherwise a waiting Session would keep the bytes in memory
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
        """Take the calls of a raw message, each parsed by itself: large calls in their turns, others in rounds.

        The rest of the message stays in memory while a call waits, and counts as held. If there is no room for it,
        this and every later large call of the message are rejected, and the result is False.

        Raises:
            TooManyElementsError: the message has more than twice the calls that it may have.
            TooManyWaitError: too many bytes wait for rounds.
            DecodeError: the bytes are not a SessionRequest.
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
        """Return the first and the end position of each call in a raw SessionRequest. The search runs in rounds."""
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
        """Take a call in this round. Return False if it has too many elements for that."""
        call = controller_pb2.Call.FromString(raw)
        elements = _elements_of(call)
        if elements > MOST_AT_ONCE:
            return False
        self._rounds.charge(len(raw), LEAST_COST * elements)
        await self._take_in_turn(call, elements)
        return True

    async def _take_large(self, raw: bytes, held: int) -> Rejection | None:
        """Take a call in its turn. Return the rejection if there is no room for a further waiting call."""
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
        """Reject a call. Only its id and its kind are parsed."""
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
        """Send one message with the answers that are ready, or all parts of one large answer."""
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
