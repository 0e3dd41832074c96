"""A clock that a test moves, and the timers on it."""

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
        """Call it once, after so long."""
        self._due.append((self._now_s + delay_s, call))

    def advance(self, by_s: float) -> None:
        """Let time pass, and fire what is due."""
        self._now_s += by_s
        due, self._due = self._due, []
        for at_s, call in due:
            if at_s <= self._now_s:
                call()
            else:
                self._due.append((at_s, call))
