"""Tables and sentences as lines for the width of the terminal.

Decides: the layout. No text and no word is cut: a path can be copied from it.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from metadata_log.tools.words import heading_of
from quorum.plain_text import on_one_line

_GAP: Final = "  "
_READABLE: Final = 30
"""The least width, in characters, to which a column is narrowed."""
_AS_KEYS: Final[Mapping[str, str]] = {}
_INDENT: Final = "      "
_MARKER: Final = re.compile(r" *(?:→ |\d+\. |(?:ERROR|WARNING|NOTE) +)")
"""The start of a line that sets the indent of its continuation lines."""


def terminal_width() -> int | None:
    """Return the columns of the terminal at standard output, or None if the output goes elsewhere.

    `COLUMNS` takes precedence. In a pipe a line stays whole: folded ones are hard to search.
    """
    if not sys.stdout.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def wrapped(line: str, width: int | None = None) -> list[str]:
    """Return a line of prose as lines of at most `width` columns, by default the terminal's.

    A longer word stays whole. Continuation lines are indented; after a marker, to the text behind it.
    """
    width = terminal_width() if width is None else width
    if width is None or len(line) <= width:
        return [line]
    text = line.lstrip()
    marker = _MARKER.match(line)
    indent = line[: len(line) - len(text)]
    return _wrap(text, width, indent, " " * len(marker[0]) if marker else indent + _GAP)


def _wrap(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    fitted = textwrap.TextWrapper(width, first, others, break_long_words=False, break_on_hyphens=False)
    return fitted.wrap(text) or [""]


def print_wrapped(line: str) -> None:
    """Print a line of prose, wrapped at the terminal's width."""
    for part in wrapped(line):
        print(part)


def text_of(value: object) -> str:
    """Return a cell's text: None is a dash, a list its items with commas."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(text_of, value)) or "-"
    return str(value)


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    headings: Mapping[str, str] = _AS_KEYS,
    width: int | None = None,
) -> list[str]:
    """Return the lines of a table: the columns' headings, then the rows, numbers aligned to the right.

    A heading is the key in CamelCase, unless `headings` has another. If a table is wider than `width`, by default the
    terminal, its longest texts are wrapped. If that is not enough, the last columns go below each row as `Heading:
    value`; those without a value are left out.
    """
    width = terminal_width() if width is None else width
    cells = [[on_one_line(text_of(row.get(column))) for column in columns] for row in rows]
    titles = [headings.get(column) or heading_of(column) for column in columns]
    table = [titles, *cells]
    numeric = [all(isinstance(row.get(column), int | None) for row in rows) for column in columns]
    natural = [max(len(line[i]) for line in table) for i in range(len(columns))]
    widths = natural if width is None else _narrowed(table, numeric, natural, width)
    if widths is not None:
        return [line for row in table for line in _row_lines(row, widths, numeric)]
    return list(_folded(table, numeric, natural, width or 0))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _narrowed(
    table: Sequence[Sequence[str]], numeric: Sequence[bool], natural: Sequence[int], width: int
) -> list[int] | None:
    """Return widths that fit, the widest column narrowed first, or None if none do."""
    widths = list(natural)
    if _total(widths) <= width:
        return widths
    least = [
        natural[i] if numeric[i] else min(natural[i], max(_READABLE, *(_longest_word(row[i]) for row in table)))
        for i in range(len(widths))
    ]
    for i in sorted(range(len(widths)), key=lambda i: widths[i], reverse=True):
        widths[i] = max(least[i], widths[i] - max(0, _total(widths) - width))
    return widths if _total(widths) <= width else None


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _row_lines(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    parts = [
        [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    for line in zip_longest(*parts, fillvalue=""):
        yield _GAP.join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()


def _folded(
    table: Sequence[Sequence[str]], numeric: Sequence[bool], natural: Sequence[int], width: int
) -> Iterator[str]:
    """Yield each row with as many columns as fit, and the others below it."""
    kept = max((count for count in range(1, len(natural)) if _total(natural[:count]) <= width), default=1)
    widths = [min(natural[0], max(width, *(_longest_word(row[0]) for row in table))), *natural[1:kept]]
    names = table[0]
    for number, row in enumerate(table):
        yield from _row_lines(row[:kept], widths, numeric[:kept])
        if number == 0:
            continue
        line = ""
        for name, cell in zip(names[kept:], row[kept:], strict=True):
            part = f"{name}: {cell}"
            if cell == "-":
                continue
            if line and len(_INDENT) + len(line) + len(_GAP) + len(part) <= width:
                line += _GAP + part
                continue
            if line:
                yield from wrapped(_INDENT + line, width)
            line = part
        if line:
            yield from wrapped(_INDENT + line, width)
