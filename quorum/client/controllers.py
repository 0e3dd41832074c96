"""Finds the active controller, and keeps a session to each controller that was asked.

Decides: which controller to ask next: the leader named by the last response, then every known one in turn. Concurrent
calls share one search. Must not know: the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from metadata_log.voters import Endpoint
from quorum.api.calls import AnyAnswer
from quorum.client.addresses import check_address, check_resolvable
from quorum.client.ask_one import not_a_controller
from quorum.client.errors import (
    AddressError,
    ClientError,
    NotAControllerError,
    UnresolvableError,
    WrongListenerError,
    who_leads,
)
from quorum.client.session import CallFailed, ClientSession
from quorum.transport.channel import grpc_address
from quorum.transport.misdirected import right_address

CONNECT_TIMEOUT_S: Final = 1.0
"""Bounds the wait for a host that neither accepts nor refuses a connection."""
MAX_KNOWN: Final = 32
"""The most addresses that are kept. Those of the configuration are never evicted."""


class Controllers:
    """The controllers that a client knows."""

    def __init__(self, bootstrap: Iterable[str]) -> None:
        self._bootstrap = tuple(dict.fromkeys(check_address(text) for text in bootstrap))
        if not self._bootstrap:
            raise AddressError("name at least one controller, host:port")
        self._known = list(self._bootstrap)
        self._sessions: dict[str, ClientSession] = {}
        self._current: ClientSession | None = None
        self._hint: str | None = None
        self._search: asyncio.Task[ClientSession] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._said: dict[str, str] = {}

    @property
    def current(self) -> ClientSession | None:
        """The open session to the controller that is taken to be active, or None."""
        return None if self._current is None or self._current.is_over else self._current

    @property
    def addresses(self) -> tuple[str, ...]:
        """All known addresses, beginning with the one asked last."""
        first = () if self._current is None else (self._current.address,)
        return tuple(dict.fromkeys((*first, *self._known)))

    @property
    def said(self) -> str:
        """The last response or failure of each address that is not the active controller's, as text."""
        return "; ".join(f"{address}: {what}" for address, what in self._said.items())

    def on_late(self) -> str:
        """Note a search cut short by the deadline: each address without a response gets "no answer in time".

        Returns:
            The new value of `said`.
        """
        for address in self.addresses:
            self._said.setdefault(address, "no answer in time")
        return self.said

    def forget_what_was_said(self) -> None:
        """Clear `said`: a new call begins its search."""
        self._said.clear()

    async def session(self) -> ClientSession:
        """Return the session to the active controller, after a search if none is open.

        Raises:
            CallFailed: no address can be reached.
            WrongListenerError, NotAControllerError: no controller responds, only CONTROLLER listeners or agents.
            UnresolvableError: the host of every address is unknown.
        """
        current = self.current
        if current is not None:
            return current
        if self._search is None or self._search.done():
            self._search = asyncio.get_running_loop().create_task(self._find(), name="find-controller")
            self._search.add_done_callback(_take_exception)
        # Other calls may wait for the same search: the cancellation of this call must not end it.
        return await asyncio.shield(self._search)

    def on_not_controller(self, session: ClientSession, answer: AnyAnswer, why: str) -> bool:
        """Move on from a controller that is not active. Return True if there is another to ask at once."""
        self._said[session.address] = f"{why}; it {who_leads(answer.leader_id)}"
        if session is not self._current:  # another call has moved on from it already
            return self.current is not None
        self._current = None
        self._hint = None
        named = self.learn(answer.leader_endpoints) if answer.leader_id >= 0 else None
        if named is not None and named != session.address:
            self._hint = named
            return True
        self._move_on(session.address)
        return False

    def move_on(self, session: ClientSession) -> None:
        """Ask another controller next."""
        if session is self._current:
            self._current = None
            self._move_on(session.address)

    def learn(self, endpoints: tuple[Endpoint, ...]) -> str | None:
        """Remember a controller by its listeners. Return its GRPC address, or None if it has none."""
        address = grpc_address(endpoints)
        if address is not None and address not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.remove(next(known for known in self._known if known not in self._bootstrap))
            self._known.append(address)
        return address

    async def close(self) -> None:
        """Close every session."""
        if self._search is not None:
            self._search.cancel()
            await asyncio.gather(self._search, return_exceptions=True)
        sessions, self._sessions = tuple(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions), *self._closing)

    def _move_on(self, address: str) -> None:
        """Move `address` to the end of the search order."""
        if address in self._known:
            self._known.remove(address)
            self._known.append(address)

    async def _find(self) -> ClientSession:
        hint, self._hint = self._hint, None
        failures: list[str] = []
        wrong: ClientError | None = None
        is_nowhere = True
        for address in dict.fromkeys((*((hint,) if hint else ()), *self._known)):
            try:
                self._current = await self._open(address)
            except UnresolvableError as unresolvable:
                failures.append(str(unresolvable))
                self._said[address] = str(unresolvable).removeprefix(f"{address}: ")
                continue
            except NotAControllerError as elsewhere:
                wrong = wrong or elsewhere
                continue
            except CallFailed as failure:
                right = right_address(failure.details)
                wrong = WrongListenerError(address, right) if right else wrong
                failures.append(f"{address}: {failure.details}")
                self._said[address] = failure.details
                is_nowhere = False
                continue
            return self._current
        if wrong is not None:
            raise wrong
        if is_nowhere:
            raise UnresolvableError("; ".join(failures))
        raise CallFailed("; ".join(failures), was_sent=False)

    async def _open(self, address: str) -> ClientSession:
        session = self._sessions.get(address)
        if session is not None and not session.is_over:
            return session
        if session is not None:
            task = asyncio.get_running_loop().create_task(session.close(), name=f"close-{address}")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            del self._sessions[address]
        await check_resolvable(address)
        session = ClientSession(address)
        try:
            await session.open(CONNECT_TIMEOUT_S)
        except CallFailed:
            if session.is_elsewhere:
                raise await not_a_controller(address) from None
            raise
        self._sessions[address] = session
        return session


def _take_exception(search: asyncio.Task[ClientSession]) -> None:
    """Retrieve the exception of a search, so that asyncio does not log it.

    Every call that waited for it may have ended before, at its own deadline.
    """
    if not search.cancelled():
        search.exception()
