"""Many small numbers out of one 64-bit draw: randomness as data.

Decides nothing: the same draw gives the same numbers, on any machine. (SplitMix64; seeding Python's own generator costs
more than placing a topic does.)
"""

from __future__ import annotations

from typing import Final, TypeVar

_MASK: Final = (1 << 64) - 1
GAMMA: Final = 0x9E3779B97F4A7C15
"""How far apart the draws of one request's topics are, too."""

_T = TypeVar("_T")


class Draws:
    """A stream of numbers that begins at `draw`."""

    __slots__ = ("_state",)

    def __init__(self, draw: int) -> None:
        self._state = draw & _MASK

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1; a bound of 1 uses nothing up."""
        if bound <= 1:
            return 0
        self._state = state = (self._state + GAMMA) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return (state ^ (state >> 31)) % bound

    def shuffle(self, items: list[_T]) -> None:
        """Put `items` in any order (Fisher and Yates)."""
        for index in range(len(items) - 1, 0, -1):
            other = self.below(index + 1)
            items[index], items[other] = items[other], items[index]
