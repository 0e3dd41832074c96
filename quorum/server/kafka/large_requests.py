"""Large requests wait for each other: one is read in each round of the loop.

Decides: which are large. Reading 4 MiB takes a quarter of a second; as many as fit into the bound on what waits, all in
one round, would silence a leader for as long as makes the others elect another. Must not know: what is asked.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from quorum.server.kafka.exchange import GiveUp

AT_ONCE_BYTES: Final = 32 * 1024
"""Up to so much a request is read where it comes: a hundred topics, or all that a broker asks every day."""

Serve = Callable[[], GiveUp | None]


class _Waiting:
    """One, until it has been read and answered, or nobody waits for it any more."""

    __slots__ = ("_give_up", "_serve")

    def __init__(self, serve: Serve) -> None:
        self._serve: Serve | None = serve
        self._give_up: GiveUp | None = None

    @property
    def is_wanted(self) -> bool:
        return self._serve is not None

    def read(self) -> None:
        if self._serve is not None:
            self._give_up = self._serve()

    def give_up(self) -> None:
        self._serve = None
        if self._give_up is not None:
            self._give_up()


class LargeRequests:
    """Of one listener."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()

    def add(self, serve: Serve) -> GiveUp:
        """Have it served in a later round; what is returned is called when nobody waits for the answer any more."""
        waiting = _Waiting(serve)
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._next)
        return waiting.give_up

    def _next(self) -> None:
        """The one after it waits behind all that this one has given others to do."""
        while self._waiting and not self._waiting[0].is_wanted:
            self._waiting.popleft()
        if not self._waiting:
            return
        try:
            self._waiting[0].read()
        finally:
            self._waiting.popleft()
            if self._waiting:
                self._loop.call_soon(self._next)
