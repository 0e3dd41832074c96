"""Requests whose answers may be far longer than they are wait for each other, over all listeners of a node.

Decides: how many of them are asked at a time, and whose is next: addresses take turns. Must not know: what is asked.

Such an answer is made in one go, as soon as the leader has shown that it leads. All that wait for that are answered in
the same turn of the loop. The longest answers of late are the measure of the next ones.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from quorum.node.process.turns import Turns

MOST_WEIGHT: Final = 16_384
"""Topics and partitions expected in all answers that are made at a time: a twentieth of a second. One may exceed it."""
_FIRST: Final = 2_048
"""The weight that is expected before an answer of its kind was seen."""
_LEAST: Final = 32
LONGEST_S: Final = 1.0
"""An answer is not waited for any longer: it may depend on a commit that never comes."""

Answered = Callable[[int], None]
"""To be called with the weight of the answer."""


class LongAnswers:
    """The long answers of one node. `unanswered` is the weight that is expected of those that are being made."""

    def __init__(self, most_weight: int = MOST_WEIGHT) -> None:
        self._loop = asyncio.get_running_loop()
        self._most = most_weight
        self._expected = defaultdict[str, int](lambda: _FIRST)
        self._waiting = Turns[tuple[str, asyncio.Future[Answered]]]()
        self.unanswered = 0

    async def turn(self, address: str, kind: str) -> Answered:
        """Wait until a request may be asked; returns what to call once it is answered."""
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
