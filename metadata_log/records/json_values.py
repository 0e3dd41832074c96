"""The text of values in the JSON of Kafka's tools: strings, ids, bytes, doubles and their arrays.

Must not know: records. A bounded cache has texts that repeat often (ids, replica lists).
"""

from __future__ import annotations

import base64
import functools
import math
import re
from decimal import Decimal
from typing import Final

from metadata_log.ids import id_text

_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
_SHORT_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7
"""Java writes a double without an exponent between these."""
_KEPT: Final = 4096


def string_text(value: str) -> str:
    """Return a quoted string with the fewest escapes."""
    return f'"{_ESCAPED.sub(_escape, value)}"' if _ESCAPED.search(value) else f'"{value}"'


@functools.lru_cache(_KEPT)
def uuid_text(value: bytes) -> str:
    """Return a quoted id."""
    return f'"{id_text(value)}"'


def bytes_text(value: bytes) -> str:
    """Return bytes in quoted base64."""
    return f'"{base64.b64encode(value).decode("ascii")}"'


def double_text(value: float) -> str:
    """Return a double; an infinite one or NaN is quoted."""
    return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'


@functools.lru_cache(_KEPT)
def ints_text(values: tuple[int, ...]) -> str:
    """Return an array of numbers."""
    return "[" + ",".join(map(str, values)) + "]"


def uuids_text(values: tuple[bytes, ...]) -> str:
    """Return an array of ids."""
    return "[" + ",".join(map(uuid_text, values)) + "]"


def strings_text(values: tuple[str, ...]) -> str:
    """Return an array of strings."""
    return "[" + ",".join(map(string_text, values)) + "]"


def java_double(value: float) -> str:
    """Return a double as Java's Double.toString: the fewest digits that identify it, but at least two."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    magnitude = abs(value)
    shortest = repr(magnitude)
    if magnitude == 0 or _PLAIN_FROM <= magnitude < _PLAIN_BELOW:
        return sign + shortest
    digits, exponent = Decimal(shortest).normalize().as_tuple()[1:]
    if len(digits) == 1:
        head, power = f"{magnitude:.1e}".split("e")
        return f"{sign}{head}E{int(power)}"
    text = "".join(map(str, digits))
    return f"{sign}{text[0]}.{text[1:]}E{int(exponent) + len(text) - 1}"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04X}"
