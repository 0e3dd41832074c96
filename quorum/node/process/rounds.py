"""How much of what strangers sent is read in one round of the event loop; the rest waits for later rounds.

Decides: the share of a round, and whose request is next: addresses take turns. Must not know: what is asked. A loop
serves all ready connections before it turns to Raft. A thousand connections with 30 kB each would silence a
leader for seconds. Requests of few bytes and those among controllers do not wait here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from quorum.node.process.turns import Turns

ROUND_BYTES: Final = 128 * 1024
"""Read in a fortieth of a second at most."""
SMALL_BYTES: Final = 1024
"""A request of so many bytes is read where it comes: a heartbeat, a question, a few topics."""

GiveUp = Callable[[], None]
Serve = Callable[[], GiveUp | None]


class _Waiting:
    """One request, until its round comes or its answer is no longer wanted."""

    __slots__ = ("give_up_served", "serve", "size")

    def __init__(self, size: int, serve: Serve) -> None:
        self.size = size
        self.serve: Serve | None = serve
        self.give_up_served: GiveUp | None = None

    def give_up(self) -> None:
        self.serve = None
        if self.give_up_served is not None:
            self.give_up_served()


class Rounds:
    """The rounds of one loop, of `round_bytes` each. `later` counts the requests that had to wait."""

    def __init__(self, round_bytes: int = ROUND_BYTES) -> None:
        self._loop = asyncio.get_running_loop()
        self.round_bytes = round_bytes
        self._left = round_bytes
        self._is_counting = False
        self._waiting = Turns[_Waiting]()
        self.later = 0

    def admits(self, size: int) -> bool:
        """Return True if a request of that size is to be read now; it is counted then."""
        if size <= SMALL_BYTES:
            return True
        if self._waiting or self._left <= 0:
            return False
        self._left -= size
        self._count()
        return True

    def add(self, address: str, size: int, serve: Serve) -> GiveUp:
        """Serve a request in a later round; returns what to call when its answer is no longer wanted."""
        waiting = _Waiting(size, serve)
        self._waiting.add(address, waiting)
        self.later += 1
        self._count()
        return waiting.give_up

    async def turn(self, address: str, size: int) -> None:
        """Wait for the round of a request that this one does not admit."""
        turn: asyncio.Future[None] = self._loop.create_future()

        def serve() -> None:
            if not turn.done():
                turn.set_result(None)

        self.add(address, size, serve)
        await turn

    def _begin(self) -> None:
        """Begin a round with those that wait; each is behind everything that the round before has caused."""
        self._left = self.round_bytes
        self._is_counting = False
        try:
            while self._waiting and self._left > 0:
                waiting = self._waiting.next()
                if waiting.serve is not None:
                    self._left -= waiting.size
                    waiting.give_up_served = waiting.serve()
        finally:
            if self._waiting or self._left < self.round_bytes:
                self._count()

    def _count(self) -> None:
        if not self._is_counting:
            self._is_counting = True
            self._loop.call_soon(self._begin)
