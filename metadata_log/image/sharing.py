"""One copy of each small value that many entries of an image have: replica sets, directories, config names.

This only saves memory: equal values stay equal, and no code may depend on the identity of a returned value.
"""

from __future__ import annotations

from typing import Final, TypeVar

_MOST: Final = 1 << 16
"""The largest number of entries; a full table is cleared. Values that are already shared stay shared."""

_T = TypeVar("_T", bound="tuple[object, ...] | str")

_seen: dict[object, object] = {}


def share(value: _T) -> _T:
    """Return a value equal to `value`: the same object for all equal values seen since the table was last cleared."""
    known = _seen.get(value)
    if known is not None:
        return known  # type: ignore[return-value]
    if len(_seen) >= _MOST:
        _seen.clear()
    _seen[value] = value
    return value
