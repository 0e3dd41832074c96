"""The bytes of clients' requests that are read in one round of the event loop; the rest waits for later rounds.

Decides: the share of a round, and whose request is next: addresses take turns. Must not know: the content of a request.

A loop serves all ready connections before it turns to Raft. A thousand connections with 30 kB each would silence a
leader for seconds. Requests of few bytes have their own share, and those among controllers do not wait here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from quorum.node.process.turns import TooManyWaitError, Turns

ROUND_BYTES: Final = 128 * 1024
"""These are read in a fortieth of a second at most."""
SMALL_BYTES: Final = 1024
"""A request of at most this cost does not wait for larger ones: a heartbeat, a query, a few topics."""
LEAST_COST: Final = 256
"""The least cost of a request, however few its bytes: so many bytes are read in the time that it takes."""
MOST_WAITING_BYTES: Final = 64 << 20

GiveUp = Callable[[], None]
Serve = Callable[[], GiveUp | None]
Refuse = Callable[[str], None]


class _Waiting:
    """One request, until its round comes, it is rejected, or its answer is no longer wanted."""

    __slots__ = ("cost", "give_up_served", "held", "refuse", "serve")

    def __init__(self, cost: int, held: int, serve: Serve, refuse: Refuse) -> None:
        self.cost = cost
        self.held = held
        self.serve: Serve | None = serve
        self.refuse: Refuse | None = refuse
        self.give_up_served: GiveUp | None = None


class Rounds:
    """The rounds of one loop, of `round_bytes` each. `later` counts the requests that had to wait."""

    def __init__(
        self,
        round_bytes: int = ROUND_BYTES,
        *,
        small_bytes: int = ROUND_BYTES,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.round_bytes = round_bytes
        self._small_bytes = small_bytes
        self._most = most_waiting_bytes
        self._left = round_bytes
        self._left_for_small = small_bytes
        self._is_counting = False
        self._waiting = Turns[_Waiting]()
        self._held_by = Counter[str]()
        self.waiting_bytes = 0
        self.later = 0

    def admits(self, cost: int) -> bool:
        """Return True, and count the request, if this round has room for it. `cost` is at least its bytes."""
        cost = max(cost, LEAST_COST)
        if cost <= SMALL_BYTES:
            if self._left_for_small <= 0:
                return False
            self._left_for_small -= cost
        elif self._waiting or self._left <= 0:
            return False
        else:
            self._left -= cost
        self._count()
        return True

    def charge(self, cost: int, more: int) -> None:
        """Charge more for a request that was admitted at that cost, to the same share."""
        if cost <= SMALL_BYTES:
            self._left_for_small -= more
        else:
            self._left -= more
        self._count()

    def add(self, address: str, cost: int, serve: Serve, refuse: Refuse, *, held: int | None = None) -> GiveUp:
        """Serve a request in a later round; return the function that gives it up.

        `held` are the bytes that wait with it, if they differ from its cost. If too many bytes wait, the address that
        has most of them loses its newest request, and its `refuse` gets the reason.
        """
        waiting = _Waiting(max(cost, LEAST_COST), cost if held is None else held, serve, refuse)
        self._waiting.add(address, waiting)
        self.later += 1
        self.waiting_bytes += waiting.held
        self._held_by[address] += waiting.held
        while self.waiting_bytes > self._most:
            self._refuse_one()
        self._count()

        def give_up() -> None:
            if waiting.serve is not None:
                self._free(address, waiting)
            elif waiting.give_up_served is not None:
                waiting.give_up_served()

        return give_up

    async def turn(self, address: str, cost: int, *, held: int | None = None) -> None:
        """Wait for the round of a request that this one does not admit.

        Raises:
            TooManyWaitError: the request was dropped, because too many bytes wait.
        """
        turn: asyncio.Future[str | None] = self._loop.create_future()

        def end(why: str | None = None) -> None:
            if not turn.done():
                turn.set_result(why)

        give_up = self.add(address, cost, end, end, held=held)
        try:
            why = await turn
        finally:
            give_up()
        if why is not None:
            raise TooManyWaitError(why)

    def _begin(self) -> None:
        """Begin a round with the waiting requests, each after everything that the round before has caused."""
        self._left = self.round_bytes
        self._left_for_small = self._small_bytes
        self._is_counting = False
        try:
            while self._waiting and self._left > 0:
                address, waiting = self._waiting.next_of()
                if waiting.serve is not None:
                    serve = waiting.serve
                    self._free(address, waiting)
                    self._left -= waiting.cost
                    waiting.give_up_served = serve()
        finally:
            if self._waiting or self._left < self.round_bytes:
                self._count()

    def _count(self) -> None:
        if not self._is_counting:
            self._is_counting = True
            self._loop.call_soon(self._begin)

    def _refuse_one(self) -> None:
        address = max(self._held_by, key=self._held_by.__getitem__)
        waiting = self._waiting.take_newest(address)
        refuse = waiting.refuse
        self._free(address, waiting)
        if refuse is not None:
            refuse(f"more than {self._most} bytes of requests wait")

    def _free(self, address: str, waiting: _Waiting) -> None:
        """Release what it holds. It may stay in the queue, which costs nothing."""
        if waiting.serve is None:
            return
        waiting.serve = waiting.refuse = None
        self.waiting_bytes -= waiting.held
        self._held_by[address] -= waiting.held
        if self._held_by[address] <= 0:
            del self._held_by[address]
