"""Text that fits: its drawn width, where it is cut, and positions of labels without overlaps.

A browser can measure text; this module cannot. It assumes a broad font, so a text that fits here also fits there.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

_CHARACTER_PX: Final = 6.9
"""Mean width of digits and letters at 12 px, in the broadest of the usual fonts."""
_WIDE_PX: Final = 12.5
_SPACE_PX: Final = 10.0
"""Least space between two labels of one row."""
_ELLIPSIS: Final = "…"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A text and its position, as a share of the width (0 to 1)."""

    at: float
    text: str


class PlacedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label in its row. `anchor` is SVG's: the text starts, ends, or has its middle at the label's position."""

    at: float
    text: str
    row: int
    anchor: str


def text_width(text: str) -> float:
    """Return the width of a text at 12 px; an estimate that is rather too large."""
    return sum(_WIDE_PX if unicodedata.east_asian_width(letter) in "WF" else _CHARACTER_PX for letter in text)


def elided(text: str, width_px: float) -> str:
    """Return the text, cut with an ellipsis if it is wider than `width_px`; empty if not even two letters fit."""
    if text_width(text) <= width_px:
        return text
    room, kept = width_px - text_width(_ELLIPSIS), ""
    for letter in text:
        room -= text_width(letter)
        if room < 0:
            break
        kept += letter
    return kept.rstrip() + _ELLIPSIS if len(kept) > 1 else ""


def first_that_fits(texts: Iterable[str], width_px: float) -> str:
    """Return the first of several forms of a text that is at most `width_px` wide; empty if none fits."""
    return next((text for text in texts if text_width(text) <= width_px), "")


def place_beside(labels: Sequence[Label], width_px: float, rows: int, gap_px: float = 0.0) -> list[PlacedLabel]:
    """Place labels right of their positions, or left of them near the right edge, each in the first row with room.

    `gap_px`: between a position and its label. Earlier labels go first. A label is cut at the picture's edge, and left
    out if no row has room for it.
    """
    taken: list[list[tuple[float, float]]] = [[] for _ in range(rows)]
    placed = []
    for label in labels:
        here = label.at * width_px
        is_right = width_px - here - gap_px >= min(text_width(label.text), here - gap_px)
        text = elided(label.text, (width_px - here if is_right else here) - gap_px)
        begin = here + gap_px if is_right else here - gap_px
        start = begin if is_right else begin - text_width(text)
        row = _free_row(taken, start, start + text_width(text))
        if text and row is not None:
            anchor = "start" if is_right else "end"
            placed.append(PlacedLabel(at=begin / width_px, text=text, row=row, anchor=anchor))
    return placed


def place_centred(labels: Sequence[Label], width_px: float) -> list[PlacedLabel]:
    """Place labels of one row under their positions, moved inwards at both edges. An overlapping label is left out."""
    taken: list[list[tuple[float, float]]] = [[]]
    placed = []
    for label in labels:
        here, half = label.at * width_px, text_width(label.text) / 2
        anchor = "start" if here < half else "end" if here > width_px - half else "middle"
        start = {"start": here, "end": here - 2 * half, "middle": here - half}[anchor]
        if _free_row(taken, start, start + 2 * half) is not None:
            placed.append(PlacedLabel(at=label.at, text=label.text, row=0, anchor=anchor))
    return placed


def _free_row(taken: list[list[tuple[float, float]]], start: float, end: float) -> int | None:
    """Return the first row that is free from `start` to `end`, and mark that span as taken; None if no row is free."""
    for row, spans in enumerate(taken):
        if all(end + _SPACE_PX <= left or right + _SPACE_PX <= start for left, right in spans):
            spans.append((start, end))
            return row
    return None
