"""Checks of arguments: collections and timeouts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

T = TypeVar("T")


def several(values: Iterable[T], what: str) -> tuple[T, ...]:
    """Return `values` as a tuple; `what` names them, in the plural, in the message.

    Raises:
        TypeError: `values` is a bare string or id. Iterated, its letters or bytes would be the items.
    """
    if isinstance(values, str | bytes):
        raise TypeError(f"{values!r} is no collection of {what}: write [{values!r}]")
    return tuple(values)


_MOST_MS: Final = (1 << 31) - 1
"""The longest timeout, about 24 days (int32). Longer ones are cut to it."""


def in_ms(timeout_s: float) -> int:
    """Return a timeout in whole ms, at most the largest int32; infinity becomes that."""
    return int(min(timeout_s * 1000, _MOST_MS))
