"""The clock and the randomness of a real process."""

from __future__ import annotations

import os
import random
import time
from typing import Final

from metadata_log.ids import ID_BYTES, as_random_uuids, is_assignable
from quorum.raft.inputs import Clock

_NS_PER_MS: Final = 1_000_000
_POOL_IDS: Final = 256


class SystemClock:
    """The system's clocks; the wall clock never goes back."""

    def __init__(self) -> None:
        self._wall_ms = 0

    def now(self) -> Clock:
        """See the port."""
        self._wall_ms = max(self._wall_ms, time.time_ns() // _NS_PER_MS)
        return Clock(monotonic_ms=time.monotonic_ns() // _NS_PER_MS, wall_ms=self._wall_ms)


class SystemEntropy:
    """Draws come from a generator that the system has seeded; ids come straight from the system."""

    def __init__(self) -> None:
        self._random = random.Random(os.urandom(32))
        self._pool = b""
        self._used = 0

    def draw(self) -> int:
        """See the port."""
        return self._random.getrandbits(64)

    def new_id(self) -> bytes:
        """See the port."""
        while True:
            if self._used == len(self._pool):
                self._pool, self._used = as_random_uuids(os.urandom(_POOL_IDS * ID_BYTES)), 0
            candidate = self._pool[self._used : self._used + ID_BYTES]
            self._used += ID_BYTES
            if is_assignable(candidate):
                return candidate
