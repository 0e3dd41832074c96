"""The lengths of time that Java takes a text for: Duration.parse.

Decides by the text alone. Java adds the parts up in a fixed order in 64 bits, and refuses what does not fit on the way.
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.java_numbers import java_int

_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = (86_400, 3_600, 60, 1)
"""Of a day, an hour, a minute, a second."""
_NANOS: Final = 1_000_000_000


def java_duration_ns(text: str) -> int | None:
    """The length of time that the text is, in ns; None when it is none. It may be below zero."""
    found = _DURATION.fullmatch(text)
    if found is None or found[3] == "T":
        return None
    parts = (found[2], found[4], found[5], found[6])
    if not any(parts):
        return None
    seconds = 0
    for part, length in reversed(list(zip(parts, _SECONDS, strict=True))):
        number = 0 if part is None else java_int(part, 64)
        if number is None or not _fits(number * length) or not _fits(seconds + number * length):
            return None
        seconds += number * length
    nanos = int((found[7] or "").ljust(9, "0")) * (-1 if (found[6] or "").startswith("-") else 1)
    total = seconds * _NANOS + nanos
    if not _fits(total // _NANOS):
        return None
    if found[1] == "-":
        total = -total
    return total if _fits(total // _NANOS) else None


def _fits(number: int) -> bool:
    return -(1 << 63) <= number < 1 << 63
