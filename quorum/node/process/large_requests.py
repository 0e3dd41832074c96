"""Large requests wait for each other, over all listeners of a node.

Decides: which requests are large, when the next one is read, and which one is rejected if too many wait. Must not know:
the content of a request.

A large request occupies the loop for a fraction of a second, when it is read and again when the controller handles it.
It waits for its turn before it is parsed, so that a request that is rejected for its content counts as well.

After a request that took a time t, none is read for 2 t: two thirds of the loop remain for Raft and small requests.
Addresses take turns, so that one client's requests do not delay another's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from quorum.node.process.long_answers import LongAnswers
from quorum.node.process.rounds import Rounds
from quorum.node.process.turns import TooManyWaitError, Turns

AT_ONCE_BYTES: Final = 32 * 1024
"""Up to this size a request is read at once: a hundred topics, or any everyday request of a broker."""
MOST_WAITING_BYTES: Final = 64 << 20
REST: Final = 2.0
"""The pause before the next large request, in durations of the last one."""
LONGEST_S: Final = 1.0
"""The longest wait for the end of a request: its answer may depend on a commit that never comes."""

GiveUp = Callable[[], None]
Done = Callable[[], None]
Serve = Callable[[Done], GiveUp | None]
Refuse = Callable[[str], None]


class _Waiting:
    """One request, until it is read, rejected or given up."""

    __slots__ = ("give_up_served", "refuse", "serve", "size")

    def __init__(self, size: int, serve: Serve, refuse: Refuse) -> None:
        self.size = size
        self.serve = serve
        self.refuse = refuse
        self.give_up_served: GiveUp | None = None


class LargeRequests:
    """The large requests of one node. `served` counts them."""

    def __init__(self, *, most_waiting_bytes: int = MOST_WAITING_BYTES, rounds: Rounds | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self.rounds: Final = rounds or Rounds()
        """The rounds of the requests that are not large."""
        self.long_answers: Final = LongAnswers()
        self._most = most_waiting_bytes
        self._waiting = Turns[_Waiting]()
        self.waiting_bytes = 0
        self.served = 0
        self._current: _Waiting | None = None
        self._started_s = 0.0
        self._free_at_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, address: str, size: int, serve: Serve, refuse: Refuse) -> GiveUp:
        """Serve a request in a later round; return the function that gives it up.

        `serve` gets a function to call once the request is answered. If too many bytes wait, the address that has most
        of them loses a request, and its `refuse` gets the reason.
        """
        waiting = _Waiting(size, serve, refuse)
        self._waiting.add(address, waiting)
        self.waiting_bytes += size
        if self.waiting_bytes > self._most:
            self._refuse_one()
        self._arm()

        def give_up() -> None:
            if waiting.give_up_served is not None:
                waiting.give_up_served()
            else:
                self._forget(address, waiting)

        return give_up

    async def turn(self, address: str, size: int) -> Done:
        """Wait for the turn of a request; return the function to call once it is answered.

        Raises:
            TooManyWaitError: the request was dropped, because too many bytes wait.
        """
        turn: asyncio.Future[Done | str] = self._loop.create_future()

        def serve(done: Done) -> None:
            if turn.done():
                done()
            else:
                turn.set_result(done)

        def refuse(why: str) -> None:
            if not turn.done():
                turn.set_result(why)

        give_up = self.add(address, size, serve, refuse)
        try:
            outcome = await turn
        except asyncio.CancelledError:
            give_up()
            if turn.done() and not turn.cancelled() and callable(done := turn.result()):
                done()
            raise
        if isinstance(
            outcome, str
        ):  #   # An exception in the future would keep the request alive until cycles are collected.
            raise TooManyWaitError(outcome)
        return outcome

    def _arm(self) -> None:
        if self._current is None and self._timer is None and self._waiting:
            self._timer = self._loop.call_at(max(self._free_at_s, self._loop.time()), self._next)

    def _next(self) -> None:
        """Serve the next request, after everything that the one before has caused."""
        self._timer = None
        if not self._waiting:
            return
        waiting = self._waiting.next()
        self.waiting_bytes -= waiting.size
        self.served += 1
        self._current, self._started_s = waiting, self._loop.time()
        self._loop.call_later(LONGEST_S, self._done, waiting)
        is_served = False
        try:
            waiting.give_up_served = waiting.serve(lambda: self._done(waiting))
            is_served = True
        finally:
            if not is_served:
                self._done(waiting)

    def _done(self, waiting: _Waiting) -> None:
        if self._current is not waiting:
            return
        self._current = None
        now_s = self._loop.time()
        self._free_at_s = now_s + REST * (now_s - self._started_s)
        self._arm()

    def _refuse_one(self) -> None:
        address, _ = max(self._waiting.by_address(), key=lambda each: sum(waiting.size for waiting in each[1]))
        waiting = self._waiting.take_newest(address)
        self.waiting_bytes -= waiting.size
        waiting.refuse(f"more than {self._most} bytes of large requests wait")

    def _forget(self, address: str, waiting: _Waiting) -> None:
        if self._waiting.remove(address, waiting):
            self.waiting_bytes -= waiting.size
