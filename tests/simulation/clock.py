"""A node's clocks: the monotonic clock may run too fast or too slow and leap ahead, the wall clock may be set.

Neither goes back within a process, as the port promises; between two processes the wall clock may.
"""

from __future__ import annotations

from typing import Final

from quorum.raft.inputs import Clock
from tests.simulation.world import US_PER_MS, World

WALL_START_MS: Final = 1_700_000_000_000
TRUE_RATE: Final = 1_000_000
"""Parts per million of true time."""


class NodeClock:
    """Implements the `TimeSource` port for one machine."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rate = TRUE_RATE
        self._origin_us = 0
        self._base_us = 0
        self._wall_offset_ms = WALL_START_MS
        self._wall_seen_ms = 0
        self._cached_at = -1
        self._cached = Clock(monotonic_ms=0, wall_ms=0)

    def monotonic_ms(self) -> int:
        """Return the machine's monotonic time."""
        return (self._base_us + (self._world.now_us - self._origin_us) * self._rate // TRUE_RATE) // US_PER_MS

    def now(self) -> Clock:
        """See the port."""
        if self._cached_at != self._world.now_us:
            monotonic_ms = self.monotonic_ms()
            self._wall_seen_ms = max(self._wall_seen_ms, monotonic_ms + self._wall_offset_ms)
            self._cached_at = self._world.now_us
            self._cached = Clock(monotonic_ms=monotonic_ms, wall_ms=self._wall_seen_ms)
        return self._cached

    def wall_ms(self) -> int:
        """Return the wall clock's time alone."""
        return self.now().wall_ms

    def true_us(self, monotonic_ms: int) -> int:
        """Return the first moment of true time at which this clock shows `monotonic_ms`."""
        ahead_us = monotonic_ms * US_PER_MS - self._base_us
        return self._origin_us - (-ahead_us * TRUE_RATE // self._rate)

    def run_at(self, rate: int) -> None:
        """Run from now on at this rate, in parts per million of true time."""
        self._base_us += (self._world.now_us - self._origin_us) * self._rate // TRUE_RATE
        self._origin_us = self._world.now_us
        self._rate = rate

    def leap(self, ahead_ms: int) -> None:
        """Advance the monotonic clock at once, as after a machine was suspended."""
        self._base_us += ahead_ms * US_PER_MS
        self._cached_at = -1

    def set_wall(self, by_ms: int) -> None:
        """Set the wall clock forward or back."""
        self._wall_offset_ms += by_ms
        self._cached_at = -1

    def new_process(self) -> None:
        """Begin a process, which has seen no wall clock yet."""
        self._wall_seen_ms = 0
        self._cached_at = -1
