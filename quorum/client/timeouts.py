"""How a timeout in seconds stands in a request: in whole milliseconds, as far as there is room. Imports nothing."""

from __future__ import annotations

from typing import Final

_MOST_MS: Final = (1 << 31) - 1
"""24 days: who waits for longer waits for ever."""


def in_ms(timeout_s: float) -> int:
    """Whole milliseconds; infinity is the longest."""
    return int(min(timeout_s * 1000, _MOST_MS))
