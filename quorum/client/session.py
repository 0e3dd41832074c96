"""The client's end of one Session. Calls of one iteration of the event loop share a message; answers come in any order.

Decides: how many calls may be unanswered, and whether a failed call may have reached the controller. Must not know:
which controller is active, or whether to retry.
"""

from __future__ import annotations

import asyncio
from typing import Final

import grpc
import msgspec

from kraft.v1 import controller_pb2, controller_pb2_grpc
from metadata_log.offsets import Offset
from quorum.api.calls import NO_OFFSET, AnyAnswer
from quorum.api.error_codes import Error
from quorum.api.request import AnyRequest
from quorum.client.arguments import in_ms
from quorum.client.errors import RefusedError, not_sent
from quorum.transport.channel import REQUEST_LIMIT_BYTES, SESSION_HEADER, open_channel
from quorum.transport.grpc.convert.calls import answer_from, call_to
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.parts import joined
from quorum.transport.grpc.convert.unsendable import Unsendable
from quorum.transport.misdirected import in_words

MAX_IN_FLIGHT: Final = 8_192
"""The most unanswered calls on one session; a further call waits."""
_MESSAGE_BYTES: Final = 1024 * 1024
"""The size in bytes at which a message is full. A larger call travels alone."""
_CALL_LIMIT_BYTES: Final = REQUEST_LIMIT_BYTES - _MESSAGE_BYTES
_SLACK_S: Final = 0.1
"""The wait beyond the call's deadline: the controller's own REQUEST_TIMED_OUT says more than a missing answer."""

_Call = grpc.aio.StreamStreamCall[controller_pb2.SessionRequest, controller_pb2.SessionResponse]


class CallFailed(Exception):
    """A call without an answer. `was_sent`: it may have reached the controller. `details`: the reason, for users."""

    def __init__(self, details: str, *, was_sent: bool) -> None:
        super().__init__(details)
        self.details = details
        self.was_sent = was_sent


class _Waiting(msgspec.Struct, kw_only=True):
    future: asyncio.Future[AnyAnswer]
    timer: asyncio.TimerHandle
    parts: list[AnyAnswer] | None = None


class ClientSession:
    """One Session to one address. It is opened once, and is not reopened when it has ended."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._loop = asyncio.get_running_loop()
        self._channel = open_channel(address)
        self._waiting: dict[int, _Waiting] = {}
        self._outbox: list[controller_pb2.Call] = []
        self._next_id = 1
        self._sent_id = 0
        self._wake = asyncio.Event()
        self._has_room = asyncio.Event()
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._end: str | None = None
        self.is_elsewhere = False
        """True if the process at the address is not a controller."""

    @property
    def is_over(self) -> bool:
        """Return True if the stream has ended."""
        return self._end is not None

    async def open(self, timeout_s: float) -> None:
        """Connect, and start the tasks that read and write.

        Raises:
            CallFailed: no controller responded at the address in time. Nothing was sent.
        """
        stub: controller_pb2_grpc.ControllerAsyncStub = controller_pb2_grpc.ControllerStub(self._channel)
        call = stub.Session(None)
        try:
            async with asyncio.timeout(timeout_s):
                if SESSION_HEADER not in tuple(await call.initial_metadata()):
                    self.is_elsewhere = await call.code() is grpc.StatusCode.UNIMPLEMENTED
                    await self._abandon(call, await call.details() or "there is no controller at that address")
        except grpc.aio.AioRpcError as error:
            self.is_elsewhere = error.code() is grpc.StatusCode.UNIMPLEMENTED
            await self._abandon(call, error.details() or error.code().name)
        except TimeoutError:
            await self._abandon(call, f"no answer within {timeout_s:g} s")
        self._tasks = (
            self._loop.create_task(self._write(call), name=f"session-writer-{self.address}"),
            self._loop.create_task(self._read(call), name=f"session-reader-{self.address}"),
        )

    async def ask(self, request: AnyRequest, *, timeout_s: float, at_least_offset: Offset = NO_OFFSET) -> AnyAnswer:
        """Send a request and return its answer.

        Raises:
            CallFailed: no answer came.
            RefusedError: MESSAGE_TOO_LARGE: the request exceeds the limit of a message.
            InvalidRequestError: the protocol cannot carry the value of a field.
        """
        while len(self._waiting) >= MAX_IN_FLIGHT and self._end is None:
            self._has_room.clear()
            await self._has_room.wait()
        if self._end is not None:
            raise CallFailed(self._end, was_sent=False)
        request_id = self._next_id
        self._next_id += 1
        try:
            call = call_to(request_id, request, timeout_ms=max(1, in_ms(timeout_s)), at_least_offset=at_least_offset)
        except Unsendable as bad:
            raise not_sent(str(bad)) from bad
        if call.ByteSize() > _CALL_LIMIT_BYTES:
            raise RefusedError(
                Error.MESSAGE_TOO_LARGE,
                f"the request has {call.ByteSize()} bytes, at most {_CALL_LIMIT_BYTES} fit: divide it",
            )
        future: asyncio.Future[AnyAnswer] = self._loop.create_future()
        timer = self._loop.call_later(timeout_s + _SLACK_S, self._on_timeout, request_id)
        self._waiting[request_id] = _Waiting(future=future, timer=timer)
        self._outbox.append(call)
        self._wake.set()
        return await future

    async def close(self) -> None:
        """End the session. Pending calls fail."""
        self._fail_all("the session was closed")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._channel.close(None)

    async def _abandon(self, call: _Call, why: str) -> None:
        call.cancel()
        self._end = in_words(why)
        await self._channel.close(None)
        raise CallFailed(self._end, was_sent=False)

    async def _write(self, call: _Call) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._outbox and not call.done():
                    await call.write(self._next_message())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The stream has ended; the reader learns why.
            return

    def _next_message(self) -> controller_pb2.SessionRequest:
        size = count = 0
        for call in self._outbox:
            size += call.ByteSize()
            if count and size > _MESSAGE_BYTES:
                break
            count += 1
        calls, self._outbox = self._outbox[:count], self._outbox[count:]
        # Set before the write: if that fails half-way, these calls must count as possibly received.
        self._sent_id = calls[-1].request_id
        return controller_pb2.SessionRequest(calls=calls)

    async def _read(self, call: _Call) -> None:
        why = "the controller ended the session"
        try:
            while True:
                message = await call.read()
                if not isinstance(message, controller_pb2.SessionResponse):
                    break
                for answer in message.answers:
                    self._on_answer(answer)
                self._has_room.set()
        except grpc.aio.AioRpcError as error:
            why = in_words(error.details() or error.code().name)
        finally:
            call.cancel()
            self._fail_all(why)

    def _on_answer(self, message: controller_pb2.Answer) -> None:
        request_id = message.request_id
        waiting = self._waiting.get(request_id)
        if waiting is None:
            return
        try:
            answer = answer_from(message)
        except BadMessage as bad:
            self._fail(request_id, CallFailed(f"the answer cannot be understood: {bad.why}", was_sent=True))
            return
        if message.has_more:
            waiting.parts = [*(waiting.parts or ()), answer]
            return
        del self._waiting[request_id]
        waiting.timer.cancel()
        if not waiting.future.done():
            waiting.future.set_result(joined([*waiting.parts, answer]) if waiting.parts else answer)

    def _on_timeout(self, request_id: int) -> None:
        was_sent = request_id <= self._sent_id
        self._outbox = [call for call in self._outbox if call.request_id != request_id]
        self._fail(request_id, CallFailed("no answer came in time", was_sent=was_sent))

    def _fail(self, request_id: int, failure: CallFailed) -> None:
        waiting = self._waiting.pop(request_id)
        waiting.timer.cancel()
        self._has_room.set()
        if not waiting.future.done():
            waiting.future.set_exception(failure)

    def _fail_all(self, why: str) -> None:
        if self._end is None:
            self._end = why
        self._outbox.clear()
        for request_id in tuple(self._waiting):
            self._fail(request_id, CallFailed(why, was_sent=request_id <= self._sent_id))
        self._has_room.set()
