"""Virtual time: the next event, in an order that follows from the seed alone.

Decides: the order of events, and the transcript's digest. Must not know: the meaning of events.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from array import array
from collections.abc import Callable
from typing import Any, Final

US_PER_MS: Final = 1000
_FLUSH_AT: Final = 4096

ARRIVED: Final = 1
ANSWERED: Final = 2
FAILED: Final = 3
TURNED: Final = 4
WRITTEN: Final = 5
READ: Final = 6
CLIENT: Final = 7
FAULT: Final = 8
WORKED: Final = 9
"""Kinds of events in the transcript."""


class World:
    """The queue of future events. All its times are microseconds since the scenario began.

    Attributes:
        events: inputs given to a core and effects of network and disk that were completed, so far.
        happened: the count of each fault, and of each of `happened.EFFECTS`.
        watch: called with a line for each event that a person would want to read; None is fastest.
    """

    def __init__(self, seed: int) -> None:
        self.now_us = 0
        self.events = 0
        self.chance = random.Random(seed)
        self.watch: Callable[[int, int, str], None] | None = None
        self.happened: dict[str, int] = {}
        self._queue: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0
        self._marks = array("q")
        self._digest = hashlib.blake2b(digest_size=16)

    def after(self, delay_us: int, action: Callable[..., None], *args: object) -> None:
        """Let `action` happen after the delay."""
        self._sequence += 1
        heapq.heappush(self._queue, (self.now_us + delay_us, self._sequence, action, args))

    def at(self, when_us: int, action: Callable[..., None], *args: object) -> None:
        """Let `action` happen at that time, or now if it is past."""
        self._sequence += 1
        heapq.heappush(self._queue, (max(when_us, self.now_us), self._sequence, action, args))

    def count(self, kind: int, node_id: int, what: int) -> None:
        """Count an event, and add it to the transcript."""
        self.events += 1
        marks = self._marks
        marks.extend((self.now_us, kind, node_id, what))
        if len(marks) >= _FLUSH_AT:
            self._flush()

    def note(self, what: str) -> None:
        """Count a fault or an effect, for the statistics of a campaign."""
        self.happened[what] = self.happened.get(what, 0) + 1

    def run_until(self, end_us: int) -> None:
        """Let everything up to and at `end_us` happen."""
        queue = self._queue
        while queue and queue[0][0] <= end_us:
            self.now_us, _, action, args = heapq.heappop(queue)
            action(*args)
        self.now_us = end_us

    def up_to(self, most: int) -> int:
        """Return a number from 0 to below `most`; the cheapest draw."""
        return int(self.chance.random() * most)

    def tell(self, node_id: int, line: str) -> None:
        """Add a line to the timeline; node 0 means the scenario itself."""
        if self.watch is not None:
            self.watch(self.now_us, node_id, line)

    @property
    def digest(self) -> str:
        """Return the digest of all events so far: equal for the same scenario, whatever Python's hash seed is."""
        self._flush()
        return self._digest.copy().hexdigest()

    def _flush(self) -> None:
        self._digest.update(self._marks.tobytes())
        del self._marks[:]
