"""Numbers and durations as Java parses them (Integer.parseInt, Long.parseLong, Double.parseDouble, Duration.parse).

Python's `int` and `float` differ: they accept blanks and underscores, and `int` raises at more than 4,300 digits. The
time that parsing takes is linear in the text's length.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""The characters that Java's String.trim removes from both ends."""
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_LAST_OF_ONE_CHAR: Final = "\uffff"
"""The last character that is one Java char. A digit beyond it is two chars, which Java does not see as a digit."""
_MOST_DIGITS: Final = 19
_DECIMAL: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?)", re.ASCII)
_HEXADECIMAL: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++)[fFdD]?"
)


def java_lines(data: bytes) -> list[bytes] | None:
    """Return the lines of a text as Java's readers split them (LF, CR LF or CR), or None if the last has no end."""
    lines = _LINE_END.split(data)
    return lines if lines.pop() == b"" else None


def java_int(text: str, bits: int) -> int | None:
    """Return the signed whole number of so many bits in a text, or None if it is not one.

    Digits of any script and any number of leading zeros are valid; blanks are not.
    """
    digits = text[1:] if text[:1] in {"-", "+"} else text
    if not digits.isdecimal():
        return None
    if not digits.isascii():
        if max(digits) > _LAST_OF_ONE_CHAR:
            return None
        digits = "".join(str(unicodedata.decimal(digit)) for digit in digits)
    digits = digits.lstrip("0")
    if len(digits) > _MOST_DIGITS:
        return None
    number = int(digits or "0")
    if text[0] == "-":
        number = -number
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def java_double(text: str) -> float | None:
    """Return the floating-point number in a text, possibly infinite or NaN, or None if the text is invalid.

    Blanks around the number are ignored.
    """
    text = text.strip(BLANKS)
    if _DECIMAL.fullmatch(text) is not None:
        return float(text.rstrip("fFdD"))
    found = _HEXADECIMAL.fullmatch(text)
    if found is None:
        return None
    try:
        return float.fromhex(found[1])
    except OverflowError:
        return float("-inf" if text[0] == "-" else "inf")


_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = (86_400, 3_600, 60, 1)
"""Seconds in a day, an hour, a minute and a second."""
_NANOS: Final = 1_000_000_000


def java_duration_ns(text: str) -> int | None:
    """Return the ISO-8601 duration in a text in ns, possibly negative, or None if Java rejects the text."""
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
