"""Collections that callers give: a bare text where several things are meant is a mistake, and never one of its letters.

Decides: that. Must not know: what is collected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

T = TypeVar("T")


def several(values: Iterable[T], what: str) -> tuple[T, ...]:
    """All of them; `what` is the plural of what they are.

    Raises:
        TypeError: it is one text, or one id.
    """
    if isinstance(values, str | bytes):
        raise TypeError(f"{values!r} is no collection of {what}: write [{values!r}]")
    return tuple(values)


_MOST_MS: Final = (1 << 31) - 1
"""24 days: who waits for longer waits for ever."""


def in_ms(timeout_s: float) -> int:
    """Whole milliseconds; infinity is the longest."""
    return int(min(timeout_s * 1000, _MOST_MS))
