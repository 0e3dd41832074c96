"""Texts as Java reads them: numbers (Integer.parseInt and Long.parseLong, Double.parseDouble) and durations.

Decides by the text alone, in time that grows with its length. What Python's own `int` and `float` take is another
language: blanks, underscores; and it raises at more than 4,300 digits, which is no number of Java's either.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What String.trim takes off both ends."""
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_LAST_OF_ONE_CHAR: Final = "\uffff"
"""Digits beyond it are two of Java's chars, neither of which is one."""
_MOST_DIGITS: Final = 19
_DECIMAL: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?)", re.ASCII)
_HEXADECIMAL: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++)[fFdD]?"
)


def java_lines(data: bytes) -> list[bytes] | None:
    """Return the lines of a text as Java's readers part them, by LF, CR LF or CR; None if the last has no end."""
    lines = _LINE_END.split(data)
    return lines if lines.pop() == b"" else None


def java_int(text: str, bits: int) -> int | None:
    """The signed whole number of so many bits that the text is; None when it is none. Digits of any script count, and
    as many zeros before them as there may be; nothing around them does."""
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
    """The floating-point number that the text is, also infinite or none at all; None when it is no number's text.
    Blanks around it do not count."""
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
