"""The parts of every picture over an axis: bars, ticks and flags.

Decides: how a bar and its text fit into a window of any width, or into a picture of a fixed width. In a window,
positions are percentages and text keeps its size. If a text must differ in a narrow window, both forms are in the file,
and the style sheet shows one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final

import msgspec

from metadata_log.tools.pictures.axis import dates, ticks
from metadata_log.tools.pictures.fitting import (
    Label,
    PlacedLabel,
    first_that_fits,
    place_beside,
    place_centred,
)

NARROW_PX: Final = 300
"""The narrowest plot on a phone. The style sheet shows the class `narrow` below 52rem."""
WIDE_PX: Final = 560
ROW_PX: Final = 17
"""Height of a row of labels."""
AXIS_PX: Final = 34
_TICK_PX: Final = 84
_LEAST_SHARE: Final = 0.005
"""Least width of a bar, as a share: an epoch of one millisecond must be visible."""
_FLAG_GAP_PX: Final = 5.0
_PADDING_PX: Final = 10.0


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The value range of an axis, over `width_px`; None: over the width of the window."""

    low: float
    high: float
    width_px: float | None = None

    def share(self, value: float) -> float:
        """Return the position of a value along the axis, from 0 to 1; values outside are clamped."""
        return min(1.0, max(0.0, (value - self.low) / max(self.high - self.low, 1)))

    def place(self, share: float) -> str:
        """Return a share of the width as an SVG length."""
        return f"{100 * share:.2f}%" if self.width_px is None else f"{self.width_px * share:.1f}"

    def at(self, value: float) -> str:
        """Return the position of a value as an SVG length."""
        return self.place(self.share(value))

    def fitted(self, draw: Callable[[float], str]) -> str:
        """Draw at the known width, or for a narrow and a wide window."""
        if self.width_px is not None:
            return draw(self.width_px)
        narrow, wide = draw(NARROW_PX), draw(WIDE_PX)
        if narrow == wide:
            return narrow
        return "".join(
            f'<g class="{kind}">{drawn}</g>' for kind, drawn in (("narrow", narrow), ("wide", wide)) if drawn
        )


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A bar from `start` to `end`. `labels`: forms of its text, the fullest first."""

    start: float
    end: float
    kind: str
    title: str
    labels: tuple[str, ...] = ()


def draw_bar(span: Span, bar: Bar, y: float, height: float) -> str:
    """Return a bar with the fullest text that fits into it."""
    start, end = visible(span, bar.start, bar.end)

    def label(width_px: float) -> str:
        text = first_that_fits(bar.labels, (end - start) * width_px - _PADDING_PX)
        at = f'x="{span.place(start)}" y="{y + height / 2 + 4:.1f}"'
        return f'<text class="on" {at} dx="5">{escape(text)}</text>' if text else ""

    return (
        f'<g><title>{escape(bar.title)}</title><rect class="{bar.kind}" x="{span.place(start)}" y="{y:.1f}" '
        f'width="{span.place(end - start)}" height="{height:.1f}"/>{span.fitted(label)}</g>'
    )


def visible(span: Span, start: float, end: float) -> tuple[float, float]:
    """Return the shares of the width at which a drawing begins and ends: never too thin, never past the end."""
    first = min(span.share(start), 1 - _LEAST_SHARE)
    return first, max(span.share(end), first + _LEAST_SHARE)


def draw_time_axis(span: Span, y: float) -> str:
    """Return the round times below a plot, and the dates below them."""

    def drawn(width_px: float) -> str:
        shown = ticks(int(span.low), int(span.high), int(width_px / _TICK_PX))
        clock = place_centred([Label(at=span.share(tick.at_ms), text=tick.label) for tick in shown], width_px)
        days = [Label(at=span.share(tick.at_ms), text=tick.date) for tick in dates(int(span.low), shown)]
        return draw_texts(span, clock, y + 13) + draw_texts(span, place_beside(days, width_px, 1), y + 29, kind="date")

    return span.fitted(drawn)


def draw_time_grid(span: Span, height: float) -> str:
    """Return a line at each tick of the time axis."""

    def drawn(width_px: float) -> str:
        shown = ticks(int(span.low), int(span.high), int(width_px / _TICK_PX))
        return "".join(
            f'<line class="grid" x1="{span.at(tick.at_ms)}" x2="{span.at(tick.at_ms)}" y1="0" y2="{height:.1f}"/>'
            for tick in shown
        )

    return span.fitted(drawn)


def draw_flags(span: Span, flags: Sequence[tuple[float, str]], rows: int) -> str:
    """Return events (value on the axis, text) as lines with their texts beside them, in `rows` rows."""
    lines = "".join(
        f'<line class="flag" x1="{span.at(at)}" x2="{span.at(at)}" y1="0" y2="{rows * ROW_PX}">'
        f"<title>{escape(text)}</title></line>"
        for at, text in flags
    )
    texts = span.fitted(
        lambda width_px: draw_texts(span, _placed_flags(span, flags, width_px, rows), 13, kind="on halo")
    )
    return lines + texts


def flag_rows(span: Span, flags: Sequence[tuple[float, str]], most: int) -> int:
    """Return the number of rows that the texts of flags need, up to `most`, also in the narrowest window."""
    widths = (NARROW_PX, WIDE_PX) if span.width_px is None else (span.width_px,)
    rows = (label.row for width_px in widths for label in _placed_flags(span, flags, width_px, most))
    return max(rows, default=0) + 1


def _placed_flags(span: Span, flags: Sequence[tuple[float, str]], width_px: float, rows: int) -> list[PlacedLabel]:
    labels = [Label(at=span.share(at), text=text) for at, text in flags]
    return place_beside(labels, width_px, rows, _FLAG_GAP_PX)


def draw_texts(span: Span, labels: Iterable[PlacedLabel], y: float, *, kind: str = "") -> str:
    """Return labels as SVG; `y` is the base line of the first row."""
    named = f' class="{kind}"' if kind else ""
    return "".join(
        f'<text{named} x="{span.place(label.at)}" y="{y + label.row * ROW_PX:.1f}" text-anchor="{label.anchor}">'
        f"{escape(label.text)}</text>"
        for label in labels
    )
