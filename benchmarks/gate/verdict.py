"""The rule that decides if a row fails, given its ratios."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles
from typing import Final

import msgspec

LEAST_PAIRS: Final = 3
"""Fewer ratios have no quartiles worth the name."""
_LEAST_OF_CONTROL: Final = 0.95


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Median and quartiles of a row's ratios; above 1 is faster than the base."""

    lower: float
    median: float
    upper: float

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.lower:.3f}..{self.upper:.3f}]"


def spread(ratios: Sequence[float]) -> Spread:
    """Return the median and the quartiles, which lie between values that were measured.

    Raises:
        ValueError: there are fewer than `LEAST_PAIRS` ratios.
    """
    if len(ratios) < LEAST_PAIRS:
        raise ValueError(f"{len(ratios)} ratios are too few: {LEAST_PAIRS} are needed")
    lower, middle, upper = quantiles(ratios, n=4, method="inclusive")
    return Spread(lower=lower, median=middle, upper=upper)


def is_failed(tree: Spread, control: Spread) -> bool:
    """Return True if the tree is slower than the base by more than equal code is.

    Both must hold: the tree's median is below 0.95 of the control's, and its upper quartile is below 1. The second
    keeps a noisy row from failing by its median alone.
    """
    return tree.median < _LEAST_OF_CONTROL * control.median and tree.upper < 1
