"""The lines of a `.properties` file, as `java.util.Properties` of Java 17 reads them.

Decides: the key and the value of a line. Must not know: which keys there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

PROPERTY_BLANKS: Final = " \t\f"
"""The blanks of Java properties. Other blanks of Python's `str.isspace` are text there."""
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
"""The line ends of Java properties. Other line ends of Python's `str.splitlines` are text there."""
_ENTRY: Final = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*+)[ \t\f]*+[=:]?+[ \t\f]*+(?P<value>.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_NAMED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """A key and its value, with the number of their first line and the joined text of their lines."""

    line: int
    text: str
    key: str
    value: str


class MalformedEscapeError(ValueError):
    r"""A `\u` lacks its four hexadecimal digits. Java rejects the whole file."""


def properties_in(text: str) -> Iterator[Property]:
    """Yield the properties in their order, including repeated keys.

    `#` and `!` begin comments; `=`, `:` or a blank ends the key. A backslash at a line's end continues the line, and
    before a character escapes it.

    Raises:
        MalformedEscapeError: the message names the line.
    """
    for number, line in _logical_lines(text):
        found = _ENTRY.fullmatch(line)
        if found is not None:
            key, value = (_unescaped(found[name], number) for name in ("key", "value"))
            yield Property(number, line, key, value)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each logical line: comments and blank lines dropped, continuations joined."""
    number, joined = 0, ""
    for at, raw in enumerate(_LINE_END.split(text), start=1):
        line = raw.lstrip(PROPERTY_BLANKS)
        if not joined:  # also after a line that was only a backslash
            number = at
            if not line or line[0] in "#!":
                continue
        if _is_continued(line):
            joined += line[:-1]
            continue
        yield number, joined + line
        joined = ""
    if joined:
        yield number, joined


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str, line: int) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise MalformedEscapeError(f"line {line}: \\u needs four hexadecimal digits")
        return _NAMED.get(match[2], match[2])

    units = _ESCAPE.sub(character, text)
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
