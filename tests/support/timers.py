"""A clock that a test advances, and its timers."""

from __future__ import annotations

from collections.abc import Callable


class Timers:
    """Seconds since the test began; a timer fires when its time is reached."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        """Return the time."""
        return self._now_s

    def later(self, delay_s: float, call: Callable[[], object]) -> None:
        """Call `call` once, after the delay."""
        self._due.append((self._now_s + delay_s, call))

    def advance(self, by_s: float) -> None:
        """Advance the clock, and fire due timers."""
        self._now_s += by_s
        due, self._due = self._due, []
        for at_s, call in due:
            if at_s <= self._now_s:
                call()
            else:
                self._due.append((at_s, call))
