"""The colours of all pictures, light and dark, under the names in the style sheets beside this module."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_LIGHT: Final = 0
_DARK: Final = 1
COLOURS: Final[dict[str, tuple[str, str]]] = {
    "page": ("#f6f7f9", "#0f141b"),
    "card": ("#ffffff", "#171e28"),
    "line": ("#d9dee5", "#2c3746"),
    "grid": ("#e3e7ee", "#2a3442"),
    "text": ("#17202b", "#e8edf4"),
    "muted": ("#566374", "#9fadbf"),
    "good": ("#0b6b46", "#6fd3a6"),
    "good-soft": ("#e0f3ea", "#12352a"),
    "bad": ("#b3261e", "#ff9d94"),
    "bad-soft": ("#fbe6e4", "#43201f"),
    "warn": ("#855300", "#f0bf6c"),
    "warn-soft": ("#fbeed6", "#3b2e14"),
    "note": ("#3d5a80", "#a6c3ea"),
    "note-soft": ("#e6edf6", "#1d2b3e"),
    "bar": ("#3566b8", "#6f9fe8"),
    "epoch-a": ("#b9cdef", "#3c5f9c"),
    "epoch-b": ("#dde7f8", "#2a426d"),
    "s0": ("#1f5fbf", "#79adff"),
    "s1": ("#c2570c", "#ffab66"),
    "s2": ("#0f7f5f", "#5fd6b0"),
    "s3": ("#8b3fa8", "#d79cf0"),
    "s4": ("#5f6b00", "#cdd75b"),
    "unfenced": ("#8fd0a8", "#2c6b47"),
    "registered": ("#f0cf86", "#7a5a16"),
    "fenced": ("#eb9d96", "#8a322c"),
    "shutdown": ("#c3c8d0", "#545d6b"),
    "gap": ("#d6604d", "#d6604d"),
}
"""By name, the colour on a light and on a dark ground."""
CHART_STYLE: Final = Path(__file__).with_name("chart.css")
PAGE_STYLE: Final = Path(__file__).with_name("page.css")
_VARIABLE: Final = re.compile(r"var\(--([a-z0-9-]+)\)")
_DARK_ONLY: Final = "@media (prefers-color-scheme: dark)"


def page_style() -> str:
    """Return the whole style sheet of a page. Its colours follow the reader's system preference."""
    parts = (_variables(_LIGHT), f"{_DARK_ONLY} {{ {_variables(_DARK)} }}", _read(PAGE_STYLE), _read(CHART_STYLE))
    return "\n".join(parts)


def picture_style(*, is_light: bool) -> str:
    """Return the style of a standalone SVG, with literal colours: many viewers do not know variables.

    `is_light`: without the dark colours, for a program that renders the picture to pixels.
    """
    style = _read(CHART_STYLE)
    light = _literal(style, _LIGHT)
    return light if is_light else f"{light}\n{_DARK_ONLY} {{\n{_literal(style, _DARK)}\n}}"


def _variables(ground: int) -> str:
    colours = " ".join(f"--{name}: {pair[ground]};" for name, pair in COLOURS.items())
    return f":root {{ color-scheme: light dark; {colours} }}"


def _literal(style: str, ground: int) -> str:
    return _VARIABLE.sub(lambda found: COLOURS[found[1]][ground], style)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
