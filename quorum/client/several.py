"""Collections that callers give: a bare text where several things are meant is a mistake, and never one of its letters.

Decides: that. Must not know: what is collected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def several(values: Iterable[T], what: str) -> tuple[T, ...]:
    """All of them; `what` is the plural of what they are.

    Raises:
        TypeError: it is one text, or one id.
    """
    if isinstance(values, str | bytes):
        raise TypeError(f"{values!r} is no collection of {what}: write [{values!r}]")
    return tuple(values)
