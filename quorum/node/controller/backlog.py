"""Clients' requests that nobody has looked at yet, and reads that may be answered by now.

Decides: how much of them one turn takes. Raft has its next word only after the turn, and a leader that is silent for
two seconds is deposed: requests of which each is within its bounds could do that together. What a turn has no time for
waits for the next. Must not know: what is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from quorum.api.calls import AnyCall
from quorum.node.core.ports import Ports

TURN_MS: Final = 100
"""A turn begins with no further request after so long; under a load of small ones it takes 20."""


class Backlog:
    """In the order of their coming; reads that wait for nothing any more go first."""

    def __init__(self, ports: Ports) -> None:
        self._clock = ports.clock
        self._calls: deque[AnyCall] = deque()
        self._reads: deque[AnyCall] = deque()

    def __len__(self) -> int:
        return len(self._calls) + len(self._reads)

    def add(self, calls: Iterable[AnyCall]) -> None:
        """They have come."""
        self._calls.extend(calls)

    def add_read(self, call: AnyCall) -> None:
        """It may be answered from the published image."""
        self._reads.append(call)

    def take(self) -> Iterator[tuple[AnyCall, bool]]:
        """The next, each with whether it is a read that may be answered, until the turn's time is over."""
        over_ms = self._clock.now().monotonic_ms + TURN_MS
        while self._calls or self._reads:
            yield (self._reads.popleft(), True) if self._reads else (self._calls.popleft(), False)
            if self._clock.now().monotonic_ms >= over_ms:
                return

    def take_all(self) -> list[AnyCall]:
        """All of them: there is no next turn."""
        left = [*self._reads, *self._calls]
        self._reads.clear()
        self._calls.clear()
        return left
