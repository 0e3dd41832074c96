"""The numbers that Java takes a text for: Integer.parseInt and Long.parseLong, Double.parseDouble.

Decides by the text alone, in time that grows with its length. What Python's own `int` and `float` take is another
language: blanks, underscores; and it raises at more than 4,300 digits, which is no number of Java's either.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What String.trim takes off both ends."""
_LAST_OF_ONE_CHAR: Final = "\uffff"
"""Digits beyond it are two of Java's chars, neither of which is one."""
_MOST_DIGITS: Final = 19
_DECIMAL: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?[fFdD]?)", re.ASCII)
_HEXADECIMAL: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++)[fFdD]?"
)


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
