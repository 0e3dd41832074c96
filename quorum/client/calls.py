"""Sends requests to the active controller, and retries until the deadline where a retry is safe.

Decides: which retry is safe. A request that was rejected before it had an effect is sent again, to the leader that the
response names. A request that may have had an effect is sent again only if it is idempotent. Otherwise its outcome is
unknown, and OutcomeUnknownError is raised.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from metadata_log.offsets import Offset
from quorum.api.calls import NO_OFFSET, AnyAnswer
from quorum.api.error_codes import Error
from quorum.api.request import AnyRequest, Request, Response
from quorum.client.controllers import Controllers
from quorum.client.errors import ClosedError, OutcomeUnknownError, UnavailableError, refused
from quorum.client.responses import response_in
from quorum.client.session import CallFailed, ClientSession
from quorum.transport.channel import grpc_address
from quorum.transport.grpc.convert.calls import kind_of

R = TypeVar("R", bound=Response)

# With these errors the controller has changed nothing: a retry is safe even of a request that is not idempotent.
_NOTHING_DONE: Final = frozenset({Error.NOT_CONTROLLER, Error.THROTTLING_QUOTA_EXCEEDED, Error.OFFSET_NOT_AVAILABLE})
_QUICK_ATTEMPTS: Final = 2
"""Redirects that are followed without a pause. During an election two controllers may name each other as leader."""
_BACKOFF: Final = wait_random_exponential(multiplier=0.005, max=0.5)
"""Short at first, for an election; longer later, since an agent without controllers may retry for hours."""


class _TryAgain(Exception):
    """The request had no effect, or is idempotent. `at_once`: the response named another controller."""

    def __init__(self, why: str, *, at_once: bool = False) -> None:
        super().__init__(why)
        self.at_once = at_once


class RetryingSender:
    """Sends requests to the known controllers, with retries.

    Attributes:
        seen_offset: the highest image offset in a response. A read of at least this offset sees every write and read
            of this client.
    """

    def __init__(self, controllers: Controllers) -> None:
        self._controllers = controllers
        self._is_closed = False
        self.seen_offset = Offset(0)

    async def ask(
        self,
        request: Request[R],
        *,
        timeout_s: float,
        at_least_offset: Offset = NO_OFFSET,
        is_repeatable: bool | None = None,
    ) -> R:
        """Return the response. Its own `error` may differ from NONE.

        Raises:
            UnavailableError: no controller accepted the request in time. It had no effect, or is idempotent.
            OutcomeUnknownError: the request may have had an effect.
            RefusedError: the controller rejected the request as a whole.
            WrongListenerError: the addresses are those of CONTROLLER listeners.
            ClosedError: the client is closed.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        repeatable = kind_of(request).is_repeatable if is_repeatable is None else is_repeatable
        current = self._controllers.current
        try:
            if current is not None and not self._is_closed:
                return await self._try(current, request, deadline, at_least_offset, repeatable)
        except _TryAgain as again:
            if loop.time() >= deadline:
                raise self._unavailable(again, timeout_s) from again
        self._controllers.forget_what_was_said()
        return await self._persist(request, deadline, timeout_s, at_least_offset, repeatable)

    def close(self) -> None:
        """Reject further calls."""
        self._is_closed = True

    async def _persist(
        self, request: Request[R], deadline: float, timeout_s: float, at_least_offset: Offset, repeatable: bool
    ) -> R:
        loop = asyncio.get_running_loop()

        def is_late(state: RetryCallState) -> bool:
            return loop.time() + state.upcoming_sleep >= deadline

        def give_up(state: RetryCallState) -> R:
            last = None if state.outcome is None else state.outcome.exception()
            raise self._unavailable(last, timeout_s) from last

        async def attempt() -> R:
            if self._is_closed:
                raise ClosedError("the client is closed")
            session = await self._session(deadline)
            return await self._try(session, request, deadline, at_least_offset, repeatable)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_TryAgain), wait=_wait, stop=is_late, retry_error_callback=give_up
        )
        return await retrying(attempt)

    async def _session(self, deadline: float) -> ClientSession:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(max(deadline, loop.time())):
                return await self._controllers.session()
        except CallFailed as failure:
            raise _TryAgain(failure.details) from failure
        except TimeoutError as late:
            raise _TryAgain(self._controllers.on_late()) from late

    async def _try(
        self, session: ClientSession, request: Request[R], deadline: float, at_least_offset: Offset, repeatable: bool
    ) -> R:
        remaining_s = deadline - asyncio.get_running_loop().time()
        try:
            answer = await session.ask(request, timeout_s=max(remaining_s, 0.001), at_least_offset=at_least_offset)
        except CallFailed as failure:
            # The controller may have carried it out. Sent again, it could be carried out twice.
            if failure.was_sent and not repeatable:
                raise _unknown(request, session, failure.details) from failure
            raise _TryAgain(f"{session.address}: {failure.details}") from failure
        if answer.error is Error.NONE:
            self.seen_offset = max(self.seen_offset, answer.image_offset)
            return response_in(answer, request)
        raise self._failure(session, request, answer, repeatable)

    def _failure(self, session: ClientSession, request: AnyRequest, answer: AnyAnswer, repeatable: bool) -> Exception:
        why = answer.message or answer.error.name
        if answer.error is Error.NOT_CONTROLLER:
            why = _elsewhere(answer) or why
            at_once = self._controllers.on_not_controller(session, answer, why)
            return _TryAgain(f"{session.address}: {why}", at_once=at_once)
        if answer.error is Error.OFFSET_NOT_AVAILABLE:
            self._controllers.move_on(session)
        if answer.error in _NOTHING_DONE or (answer.error is Error.REQUEST_TIMED_OUT and repeatable):
            return _TryAgain(f"{session.address}: {why}")
        if answer.error is Error.REQUEST_TIMED_OUT:
            return _unknown(request, session, why)
        return refused(answer.error, answer.message, type(request).__name__)

    def _unavailable(self, last: BaseException | None, timeout_s: float) -> UnavailableError:
        said = self._controllers.said
        why = f"Tried {said}. See kraft quorum describe" if said and str(last) in said else f"Last: {last}"
        return UnavailableError(f"no active controller answered within {timeout_s:g} s. {why}")


def _elsewhere(answer: AnyAnswer) -> str | None:
    """Return the message for a leader without a GRPC listener (a Java controller of a mixed quorum), or None."""
    if answer.leader_id < 0 or not answer.leader_endpoints or grpc_address(answer.leader_endpoints) is not None:
        return None
    at = ", ".join(str(endpoint) for endpoint in answer.leader_endpoints)
    return (
        f"node {answer.leader_id} leads, at {at}: no GRPC listener of it is known. If it is a Kafka controller, it has "
        "none: use Kafka's tools, or retry when another node leads. If it runs this software, name its GRPC listener "
        "in controller.listener.names"
    )


def _wait(state: RetryCallState) -> float:
    last = None if state.outcome is None else state.outcome.exception()
    is_quick = isinstance(last, _TryAgain) and last.at_once and state.attempt_number <= _QUICK_ATTEMPTS
    return 0.0 if is_quick else _BACKOFF(state)


def _unknown(request: AnyRequest, session: ClientSession, why: str) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"{type(request).__name__} was sent to {session.address}, but its outcome is not known: {why}"
    )
