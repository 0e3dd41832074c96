"""Random numbers from the 64 bits that come with an input: the same input gives the same numbers, on any machine.

Decides: how one draw is stretched (splitmix64). Must not know: where it came from.
"""

from __future__ import annotations

from typing import Final

from metadata_log.errors import InvariantViolation

_MASK: Final = (1 << 64) - 1


class Draws:
    """The numbers of one input. `draw` is None for an input that must need none."""

    __slots__ = ("_state",)

    def __init__(self, draw: int | None) -> None:
        self._state = draw

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included.

        Raises:
            InvariantViolation: the input carries no draw.
        """
        if self._state is None:
            raise InvariantViolation("a random number is needed where the input brings none")
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        mixed ^= mixed >> 31
        return low + mixed % (high - low + 1)


NO_DRAWS: Final = Draws(None)
