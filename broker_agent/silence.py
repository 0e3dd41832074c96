"""The time without a response from a controller, and when to log it again.

Decides: when to log: at once, after ten seconds, then at twice the previous interval, up to ten minutes. Must not know:
the request, how the line is written, or what time it is.
"""

from __future__ import annotations

from typing import Final

import msgspec

_FIRST_INTERVAL_MS: Final = 10_000
_LONGEST_INTERVAL_MS: Final = 600_000


class Silent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The data of one log line about failed requests."""

    attempts: int
    """The number of requests that failed in a row."""
    for_ms: int
    """Ms since the first of them."""
    next_in_ms: int
    """Ms until the next line, if requests go on failing; 0 after a response."""


class Silence:
    """Counts failed requests in a row. Times are on the monotonic clock."""

    def __init__(self) -> None:
        self._since_ms = 0
        self._attempts = 0
        self._interval_ms = _FIRST_INTERVAL_MS
        self._tell_at_ms = 0

    def on_failed(self, now_ms: int) -> Silent | None:
        """Count a failed request; return the line to log now, or None."""
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
        """End the count; return the line to log, or None if no request had failed."""
        attempts, self._attempts = self._attempts, 0
        return Silent(attempts=attempts, for_ms=now_ms - self._since_ms, next_in_ms=0) if attempts else None
