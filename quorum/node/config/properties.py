"""Reads Kafka's `.properties` files.

Decides: what a line means. Must not know: which keys there are (`node_config`).

As `java.util.Properties` reads them, as far as configuration files use it: `#` and `!` begin comments; `=`, `:` or
white space ends the key; a backslash at a line's end continues it, and before a character escapes it (t, n, r, f, uXXXX
as in Java). Unlike Java, a key that stands twice is refused: one of the two lines is not what its writer believes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from metadata_log.java_text import PROPERTY_BLANKS, PROPERTY_LINE_END

_ENTRY: Final = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAMED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(ValueError):
    """A line is not what a properties file may hold."""


def parse_properties(text: str, *, source: str = "configuration") -> dict[str, str]:
    """The keys and values of a properties file, in its order.

    Raises:
        PropertiesError: a key stands twice, or a line has no key; it names the source and the line.
    """
    found: dict[str, str] = {}
    seen_at: dict[str, int] = {}
    for number, line in _logical_lines(text):
        match = _ENTRY.fullmatch(line)
        key = _unescape(match["key"]) if match else ""
        if match is None or not key:
            raise PropertiesError(f"{source}, line {number}: {line!r} has no key: write key=value")
        if key in found:
            raise PropertiesError(
                f"{source}, line {number}: {key} stands in line {seen_at[key]} already: keep one of the two"
            )
        found[key] = _unescape(match["value"])
        seen_at[key] = number
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blanks, continued ones joined, with the number of their first."""
    started: tuple[int, str] | None = None
    for number, raw in enumerate(PROPERTY_LINE_END.split(text), start=1):
        line = raw.lstrip(PROPERTY_BLANKS)
        if started is None and (not line or line[0] in "#!"):
            continue
        first, joined = (number, line) if started is None else (started[0], started[1] + line)
        if _is_continued(line):
            started = (first, joined[:-1])
            continue
        started = None
        yield first, joined.rstrip(PROPERTY_BLANKS)
    if started is not None:
        yield started


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _unescaped(match[1]), text)


def _unescaped(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _NAMED.get(escape, escape)
