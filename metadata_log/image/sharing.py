"""One copy of each small tuple that many entries of an image hold: replica sets, directories, config names.

Decides: how many distinct values are remembered. Must not know: what they mean. Purely a saving of memory: equal values
stay equal, and nothing may depend on the identity of what is returned.
"""

from __future__ import annotations

from typing import Final, TypeVar

_MOST: Final = 1 << 16
"""Bounds the table. When it is full it starts anew: what is already shared stays shared."""

_T = TypeVar("_T", bound="tuple[object, ...] | str")

_seen: dict[object, object] = {}


def share(value: _T) -> _T:
    """A value equal to `value`: the same object for every equal one seen lately."""
    known = _seen.get(value)
    if known is not None:
        return known  # type: ignore[return-value]
    if len(_seen) >= _MOST:
        _seen.clear()
    _seen[value] = value
    return value
