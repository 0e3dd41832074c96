"""Clients' requests that wait for a turn, and reads that may be answered by now.

Decides: how many of them one turn takes. The Raft core runs again only after the turn, and followers depose a leader
that is silent for two seconds. Many requests could exceed that together, although each is within its bounds. The
requests that a turn has no time for wait for the next. Must not know: the content of a request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from quorum.api.calls import AnyCall
from quorum.node.core.ports import Ports

TURN_MS: Final = 100
"""After so long, a turn begins no further request. Under a load of small requests a turn takes 20 ms."""


class Backlog:
    """Requests in the order of their arrival. Reads that may be answered now go first."""

    def __init__(self, ports: Ports) -> None:
        self._clock = ports.clock
        self._calls: deque[AnyCall] = deque()
        self._reads: deque[AnyCall] = deque()

    def __len__(self) -> int:
        return len(self._calls) + len(self._reads)

    def add(self, calls: Iterable[AnyCall]) -> None:
        """Add new requests."""
        self._calls.extend(calls)

    def add_read(self, call: AnyCall) -> None:
        """Add a read that the published image may answer now."""
        self._reads.append(call)

    def take(self) -> Iterator[tuple[AnyCall, bool]]:
        """Yield the next requests until the turn's time is over, each with True if it is a read that may be answered
        now."""
        over_ms = self._clock.now().monotonic_ms + TURN_MS
        while self._calls or self._reads:
            yield (self._reads.popleft(), True) if self._reads else (self._calls.popleft(), False)
            if self._clock.now().monotonic_ms >= over_ms:
                return

    def take_all(self) -> list[AnyCall]:
        """Return and remove all requests, because there is no next turn."""
        left = [*self._reads, *self._calls]
        self._reads.clear()
        self._calls.clear()
        return left
