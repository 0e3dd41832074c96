"""The frame of every page: one HTML file that loads no other, its style, and tables for narrow windows, too.

Must not know: the content of a page. Its callers escape the HTML that they pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import msgspec

from metadata_log.tools.pictures.axis import minute_text
from metadata_log.tools.pictures.palette import page_style


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column's heading. Numbers are right-aligned; texts wrap."""

    name: str
    is_number: bool = False
    is_text: bool = False


def html_page(title: str, body: str) -> str:
    """Return the whole file. `body` is HTML, `title` is text."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>\n{page_style()}\n</style></head>\n"
        f"<body><main>{body}</main></body></html>\n"
    )


def made_line(what: str, made_ms: int, made_by: str) -> str:
    """Return the line with the page's subject, its time, and the program and version that made it."""
    when = f"made {minute_text(made_ms)}" if made_ms > 0 else ""
    by = f"by {made_by}" if made_by else ""
    return f'<p class="made">{escape(" ".join(part for part in (f"{what},", when, by) if part).rstrip(","))}</p>'


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are HTML. A narrow window shows each row as a card with the headings in it."""
    heads = "".join(f'<th scope="col"{_class(column)}>{escape(column.name)}</th>' for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{_class(column)} data-name="{escape(column.name)}">{cell}</td>'
            for column, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def lane(name: str, svg: str, *, below: str = "") -> str:
    """Return a plot with its name (text), and a smaller text below the name."""
    small = f"<small>{escape(below)}</small>" if below else ""
    return f'<div class="lane"><div class="name">{escape(name)}{small}</div>{svg}</div>'


def plot(height: float, title: str, parts: Iterable[str]) -> str:
    """Return a plot as wide as its lane. `title` names it for screen readers."""
    return f'<svg height="{height:.0f}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def _class(column: Column) -> str:
    return ' class="number"' if column.is_number else ' class="text"' if column.is_text else ""
