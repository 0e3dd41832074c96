"""`kraft log dump -o table`: a record a row, in a terminal's width; in a pipe a row is one line."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from quorum.cli.tables import terminal_width

if TYPE_CHECKING:
    from metadata_log.tools.dump.rows import TextRow

_HEADINGS: Final = ("Offset", "Epoch", "Time", "Type", "Version", "Data")
_FIXED: Final = "{:>10}  {:>5}  {:<24}  "
_WHOLE: Final = _FIXED + "{:<34}  {:>7}  {}\n"
_DATA_AT: Final = len(_WHOLE.format(0, 0, "", "", "", "").rstrip("\n"))
_LEAST_DATA: Final = 40
"""If fewer columns are left for Data, version and data go below the row."""
_BELOW: Final = " " * 12
_PLACES: Final = re.compile(r"(?<=[,\s])")
"""The positions at which JSON is broken into lines: behind a comma or a space."""


def head(width: int | None) -> str:
    """Return the line of headings."""
    if width is None or width >= _DATA_AT + _LEAST_DATA:
        return _WHOLE.format(*_HEADINGS)
    return _FIXED.format(*_HEADINGS) + "Type\n"


def layout() -> tuple[str, Callable[[TextRow], str]]:
    """Return the headings and the function that makes a record's text, for the width of standard output."""
    width = terminal_width()
    return head(width), functools.partial(row_text, width=width)


def row_text(row: TextRow, width: int | None) -> str:
    """Return the lines of a record, each of at most `width` columns. Without a width it is one line."""
    from metadata_log.tools.times import time_text  # noqa: PLC0415  (not needed for text)

    time = "-" if row.timestamp_ms < 0 else time_text(row.timestamp_ms)
    version = "-" if row.version is None else row.version
    data = row.data if row.error is None else f"{row.error}{'' if row.data is None else ': ' + row.data}"
    if width is None:
        return _WHOLE.format(row.offset, row.epoch, time, row.type, version, data)
    if width >= _DATA_AT + _LEAST_DATA:
        first, *others = folded(str(data), width - _DATA_AT)
        line = _WHOLE.format(row.offset, row.epoch, time, row.type, version, first)
        return line + "".join(f"{' ' * _DATA_AT}{part}\n" for part in others)
    line = _FIXED.format(row.offset, row.epoch, time) + f"{row.type}\n"
    below = str(data) if row.version is None else f"Version: {row.version}  Data: {data}"
    return line + "".join(f"{_BELOW}{part}\n" for part in folded(below, max(width - len(_BELOW), _LEAST_DATA)))


def folded(text: str, width: int) -> list[str]:
    """Return `text` in parts of at most `width` columns. Joined, they are the text but for spaces at their ends."""
    lines, line = [], ""
    for part in _PLACES.split(text):
        if line and len(line) + len(part.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += part
        while len(line.rstrip()) > width:
            lines.append(line[:width])
            line = line[width:]
    return [*lines, line.rstrip()] if line.strip() or not lines else lines
