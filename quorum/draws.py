"""Random numbers as data: the same 64-bit draw gives the same numbers, on any machine.

Decides: how one draw is stretched (SplitMix64; to seed Python's own generator costs more than to place a topic). Must
not know: where a draw came from.
"""

from __future__ import annotations

from typing import Final, TypeVar

from metadata_log.errors import InvariantViolation

_MASK: Final = (1 << 64) - 1
GAMMA: Final = 0x9E3779B97F4A7C15
"""The distance of two successive states, and of the draws of one request's topics."""

_T = TypeVar("_T")


class Draws:
    """The numbers of one draw. `draw` is None for an input that must need none."""

    __slots__ = ("_state",)

    def __init__(self, draw: int | None) -> None:
        self._state = draw

    def between(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included.

        Raises:
            InvariantViolation: there is no draw.
        """
        return low + self._next() % (high - low + 1)

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1; a bound of 1 consumes nothing.

        Raises:
            InvariantViolation: there is no draw.
        """
        return self._next() % bound if bound > 1 else 0

    def shuffle(self, items: list[_T]) -> None:
        """Put `items` in a random order (Fisher and Yates)."""
        for index in range(len(items) - 1, 0, -1):
            other = self.below(index + 1)
            items[index], items[other] = items[other], items[index]

    def _next(self) -> int:
        if self._state is None:
            raise InvariantViolation("a random number is needed where the input brings none")
        self._state = state = (self._state + GAMMA) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return state ^ (state >> 31)


NO_DRAWS: Final = Draws(None)
