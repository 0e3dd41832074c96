"""Values from files, as errors show them.

Decides: how much of a long one is shown. Must not know: what it is the value of.
"""

from __future__ import annotations

from typing import Final

_LONGEST_QUOTED: Final = 100


def quoted(value: object) -> str:
    """Return a value from a file as an error shows it; of a long one only the beginning, and its length."""
    text = value if isinstance(value, str) else str(value)
    said = repr(value)
    return said if len(text) <= _LONGEST_QUOTED else f"{text[:40]!r}... ({len(text)} characters)"
