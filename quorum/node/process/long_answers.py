"""Requests whose answers may be far longer than the requests wait for each other, over all listeners of a node.

Decides: how many of them are under way at a time, and which is next: addresses take turns. Must not know: the content
of a request.

Such an answer is built in one go after a read barrier. All that wait for one barrier are built in the same turn of the
loop. The longest recent answers predict the weight of the next ones.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from quorum.node.process.turns import Turns

MOST_WEIGHT: Final = 16_384
"""The most topics and partitions expected in all answers under way: a twentieth of a second. A single answer may
exceed it."""
_FIRST: Final = 2_048
"""The expected weight before the first answer of its kind."""
_LEAST: Final = 32
LONGEST_S: Final = 1.0
"""The longest wait for an answer: it may depend on a commit that never comes."""

Answered = Callable[[int], None]
"""Called with the weight of the answer."""


class LongAnswers:
    """The long answers of one node. `unanswered` is the expected weight of those under way."""

    def __init__(self, most_weight: int = MOST_WEIGHT) -> None:
        self._loop = asyncio.get_running_loop()
        self._most = most_weight
        self._expected = defaultdict[str, int](lambda: _FIRST)
        self._waiting = Turns[tuple[str, asyncio.Future[Answered]]]()
        self.unanswered = 0

    async def turn(self, address: str, kind: str) -> Answered:
        """Wait until a request may be handled; return the function to call once it is answered."""
        if not self._waiting and self._fits(kind):
            return self._asked(kind)
        turn: asyncio.Future[Answered] = self._loop.create_future()
        waiting = (kind, turn)
        self._waiting.add(address, waiting)
        try:
            return await turn
        except asyncio.CancelledError:
            if not self._waiting.remove(address, waiting) and turn.done() and not turn.cancelled():
                turn.result()(0)
            raise

    def _fits(self, kind: str) -> bool:
        return not self.unanswered or self.unanswered + self._expected[kind] <= self._most

    def _asked(self, kind: str) -> Answered:
        expected = self._expected[kind]
        self.unanswered += expected
        is_over = False

        def free() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self.unanswered -= expected
                self._next()

        given_up = self._loop.call_later(LONGEST_S, free)

        def answered(weight: int) -> None:
            given_up.cancel()
            before = self._expected[kind]
            self._expected[kind] = max(weight, before - before // 64 - 1, _LEAST)
            free()

        return answered

    def _next(self) -> None:
        while self._waiting and self._fits(self._waiting.first()[0]):
            kind, turn = self._waiting.next()
            if not turn.done():
                turn.set_result(self._asked(kind))
