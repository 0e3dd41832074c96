"""Single requests of clients that are no voters, while they are received: few at a time, addresses take turns.

Decides: whose request is read next, which one is too slow, and which one is rejected if too many wait. Must not know:
the content of a request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final, NamedTuple

import grpc

from quorum.node.process.turns import Turns

MOST_RECEIVED: Final = 16
"""The most single requests that are received at a time from addresses of no voter; others wait, unread."""
MOST_WAITING: Final = 1_000
SLOW_S: Final = 1.0
"""After so long, an incomplete request makes room for one that waits."""


class CallRejectedError(Exception):
    """A call that is rejected, with its status."""

    def __init__(self, code: grpc.StatusCode, reason: str, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.reason = reason
        self.why = why


class _Reading(NamedTuple):
    """One request that is being received."""

    since_s: float
    address: str


class Receiving:
    """The places of requests that are received, and the requests that wait for a place, by address."""

    def __init__(self, most: int = MOST_RECEIVED, slow_s: float = SLOW_S, most_waiting: int = MOST_WAITING) -> None:
        self._free = most
        """Free places; if there are any, no request waits."""
        self._slow_s = slow_s
        self._most_waiting = most_waiting
        self._reading: dict[asyncio.Task[Any], _Reading] = {}
        """The requests that are received, the oldest first."""
        self._waiting = Turns[asyncio.Future[bool]]()
        self.waiting = 0
        """The number of waiting, unread requests."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def received(self) -> int:
        """The number of requests that are received now."""
        return len(self._reading)

    async def read(self, context: Any, address: str) -> Any:
        """Return the raw request of a call.

        Raises:
            CallRejectedError: too many wait, or this one was too slow.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("no task reads")
        if self._free > 0:
            self._free -= 1
        else:
            await self._place(loop, address)
        self._reading[task] = _Reading(loop.time(), address)
        try:
            return await context.read()
        except asyncio.CancelledError:
            if task in self._reading:  #   # the call is gone
                raise
            task.uncancel()
            raise CallRejectedError(
                grpc.StatusCode.RESOURCE_EXHAUSTED, "slow", "its request was not whole in time"
            ) from None
        finally:
            self._reading.pop(task, None)
            self._give_place()

    async def _place(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiting.add(address, waiter)
        self.waiting += 1
        if self.waiting > self._most_waiting:
            self._refuse_one()
        self._watch(loop)
        try:
            has_place = await waiter
        except asyncio.CancelledError:
            if self._waiting.remove(address, waiter):
                self.waiting -= 1
            elif not waiter.cancelled() and waiter.result():
                self._give_place()
            raise
        if not has_place:
            raise CallRejectedError(
                grpc.StatusCode.RESOURCE_EXHAUSTED, "limit", "too many requests wait to be received"
            )

    def _give_place(self) -> None:
        """Pass a free place to the next request."""
        while self._waiting:
            waiter = self._waiting.next()
            self.waiting -= 1
            if not waiter.done():
                waiter.set_result(True)
                return
        self._free += 1

    def _refuse_one(self) -> None:
        """Reject the newest request of the address that has most waiting."""
        address, _ = max(self._waiting.by_address(), key=lambda each: len(each[1]))
        waiter = self._waiting.take_newest(address)
        self.waiting -= 1
        if not waiter.done():
            waiter.set_result(False)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None:
            self._timer = loop.call_later(self._slow_s, self._make_room, loop)

    def _make_room(self, loop: asyncio.AbstractEventLoop) -> None:
        """End slow requests, one for each that waits: the oldest of the address that has most."""
        self._timer = None
        now_s = loop.time()
        slow = {task: each.address for task, each in self._reading.items() if now_s - each.since_s >= self._slow_s}
        places = Counter(each.address for each in self._reading.values())
        for _ in range(min(self.waiting, len(slow))):
            task = max(slow, key=lambda each: places[slow[each]])
            places[slow.pop(task)] -= 1
            del self._reading[task]
            task.cancel()
        if self._waiting:
            self._watch(loop)
