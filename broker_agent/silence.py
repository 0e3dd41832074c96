"""How long no controller has answered, and when that is worth another line in the log.

Decides: when to say so: at once, then after ten seconds and at twice the interval each time. Must not know: what was
asked, how the line is written, or what time it is.
"""

from __future__ import annotations

from typing import Final

import msgspec

_FIRST_INTERVAL_MS: Final = 10_000
_LONGEST_INTERVAL_MS: Final = 600_000


class Silent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What to tell of a silence: how many asked in vain, for how long, and when it will be told again at the latest."""

    attempts: int
    for_ms: int
    next_in_ms: int


class Silence:
    """One silence after the other; times are on the monotonic clock."""

    def __init__(self) -> None:
        self._since_ms = 0
        self._attempts = 0
        self._interval_ms = _FIRST_INTERVAL_MS
        self._tell_at_ms = 0

    def on_failed(self, now_ms: int) -> Silent | None:
        """A request was not answered; what to tell of it, if anything now."""
        if self._attempts == 0:
            self._since_ms = self._tell_at_ms = now_ms
            self._interval_ms = _FIRST_INTERVAL_MS
        self._attempts += 1
        if now_ms < self._tell_at_ms:
            return None
        interval_ms, self._interval_ms = self._interval_ms, min(2 * self._interval_ms, _LONGEST_INTERVAL_MS)
        self._tell_at_ms = now_ms + interval_ms
        return Silent(attempts=self._attempts, for_ms=now_ms - self._since_ms, next_in_ms=interval_ms)

    def on_answered(self, now_ms: int) -> Silent | None:
        """A request was answered; what to tell of the silence before it, if there was one."""
        attempts, self._attempts = self._attempts, 0
        return Silent(attempts=attempts, for_ms=now_ms - self._since_ms, next_in_ms=0) if attempts else None
