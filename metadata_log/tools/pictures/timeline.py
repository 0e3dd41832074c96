"""A timeline as a picture: a standalone SVG, or an HTML page with the events as a table. Neither loads another file.

Decides: what is drawn where. Must not know: records. The rows are the controllers that led, then the brokers; gaps are
drawn across all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

import msgspec

from metadata_log.tools.pictures.axis import day_text, duration_text
from metadata_log.tools.pictures.fitting import elided, text_width
from metadata_log.tools.pictures.page import Column, html_page, lane, made_line, plot, table
from metadata_log.tools.pictures.palette import picture_style
from metadata_log.tools.pictures.span import AXIS_PX, Bar, Span, draw_bar, draw_time_axis, draw_time_grid, visible
from metadata_log.tools.timeline import Event, EventKind, Timeline
from metadata_log.tools.times import time_text
from metadata_log.tools.words import count_of

_WIDTH: Final = 1200
_LEFT: Final = 130
_PLOT: Final = _WIDTH - _LEFT - 20
_TOP: Final = 104
_ROW: Final = 34
_BAR: Final = 22
_KINDS: Final = {
    EventKind.UNFENCED: "unfenced",
    EventKind.FENCED: "fenced",
    EventKind.REGISTERED: "registered",
    EventKind.SHUTDOWN: "shutdown",
    EventKind.WAS_UNFENCED: "unfenced",
    EventKind.WAS_FENCED: "fenced",
}
_LEGEND: Final = (
    ("leads", "leads"),
    ("unfenced", "unfenced"),
    ("registered", "registered, still fenced"),
    ("fenced", "fenced"),
    ("shutdown", "controlled shutdown"),
    ("gap", "gap: nothing written, or it is missing"),
)
_COLUMNS: Final = (
    Column(name="Time"),
    Column(name="Offset", is_number=True),
    Column(name="Epoch", is_number=True),
    Column(name="Kind"),
    Column(name="What", is_text=True),
)


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """A node's bars, in order of time."""

    name: str
    bars: tuple[Bar, ...]


def timeline_headline(timeline: Timeline) -> str:
    """Return a timeline's summary: the number of elections, the time span, and the leader at its end."""
    elections = [event for event in timeline.events if event.kind is EventKind.ELECTION]
    if not timeline.end_offset:
        return "The log is empty"
    if timeline.end_ms <= 0:
        return f"{count_of(len(elections), 'election')}; the log carries no times"
    began, ended = day_text(timeline.start_ms), day_text(timeline.end_ms)
    on = f"on {began}" if began == ended else f"from {began} to {ended}"
    during = f"in {duration_text(timeline.end_ms - timeline.start_ms)} {on}"
    if not elections:
        return f"No election {during}"
    last = elections[-1]
    return f"{count_of(len(elections), 'election')} {during}; node {last.node_id} leads in epoch {last.epoch}"


def timeline_svg(timeline: Timeline, subject: str, *, is_light: bool = False) -> str:
    """Return the picture of the log of `subject`. `is_light`: without the colours of a dark ground, for rendering to
    pixels."""
    rows = _rows(timeline)
    height = _TOP + _ROW * max(len(rows), 1) + AXIS_PX + (20 if timeline.not_shown else 4)
    span = _span(timeline, _PLOT)
    axis_y = _TOP + _ROW * max(len(rows), 1)
    title = f"{subject}: {timeline_headline(timeline)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{picture_style(is_light=is_light)}\n</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
        f'<text class="title" x="12" y="28">{escape(timeline_headline(timeline))}</text>',
        f'<text x="12" y="48">{escape(elided(f"Metadata log of {subject}; all times are UTC", _WIDTH - 24))}</text>',
        *_legend_in_svg(),
        f'<g transform="translate({_LEFT},{_TOP - 6})">{draw_time_grid(span, axis_y - _TOP + 6)}</g>',
    ]
    for number, row in enumerate(rows):
        y = _TOP + number * _ROW
        parts.append(f'<text class="on" x="12" y="{y + 16}">{escape(row.name)}</text>')
        parts.append(f'<g transform="translate({_LEFT},{y})">{"".join(_row_parts(timeline, row, span, 0))}</g>')
    parts.append(f'<g transform="translate({_LEFT},{axis_y})">{draw_time_axis(span, 0)}</g>')
    if timeline.not_shown is not None:
        parts.append(f'<text class="warn" x="12" y="{height - 6}">{escape(timeline.not_shown)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def timeline_html(timeline: Timeline, subject: str, *, made_ms: int = -1, made_by: str = "") -> str:
    """Return one file with the picture of the log of `subject`, and the events as a table."""
    headline = timeline_headline(timeline)
    span = _span(timeline, None)
    grid = draw_time_grid(span, _ROW)
    lanes = "".join(
        lane(row.name, plot(_ROW - 4, _row_title(row), [grid, *_row_parts(timeline, row, span, 4)]))
        for row in _rows(timeline)
    )
    axis = lane("", plot(AXIS_PX, "times", [draw_time_axis(span, 0)]))
    warning = "" if timeline.not_shown is None else f"<p>{escape(timeline.not_shown)}</p>"
    events = table(_COLUMNS, map(_cells, timeline.events))
    return html_page(
        f"{subject}: {headline}",
        made_line(f"Timeline of the metadata log of {subject}", made_ms, made_by)
        + f'<div class="verdict neutral"><h1>{escape(headline)}</h1>{warning}</div>'
        f'<section><h2>Controllers and brokers</h2><p class="lead">By the times in the log; all are UTC.</p>'
        f"{_legend()}{lanes}{axis}</section>"
        f"<section><h2>{count_of(len(timeline.events), 'event')}</h2>{events}</section>",
    )


def _cells(event: Event) -> Sequence[str]:
    values = (time_text(event.time_ms), f"{event.offset:,}", f"{event.epoch:,}", event.kind, event.text)
    return [escape(value) for value in values]


def _span(timeline: Timeline, width_px: float | None) -> Span:
    return Span(low=timeline.start_ms, high=max(timeline.end_ms, timeline.start_ms + 1), width_px=width_px)


def _rows(timeline: Timeline) -> list[_Row]:
    """Return the controllers that led, then the brokers, each by id."""
    bars: dict[tuple[int, int], list[Bar]] = {}
    for node_id, bar in _leaders(timeline):
        bars.setdefault((0, node_id), []).append(bar)
    for node_id, bar in _brokers(timeline):
        bars.setdefault((1, node_id), []).append(bar)
    names = ("controller", "broker")
    return [_Row(name=f"{names[kind]} {node_id}", bars=tuple(bars[kind, node_id])) for kind, node_id in sorted(bars)]


def _leaders(timeline: Timeline) -> Iterator[tuple[int, Bar]]:
    elections = [event for event in timeline.events if event.kind is EventKind.ELECTION]
    for index, event in enumerate(elections):
        end_ms = elections[index + 1].time_ms if index + 1 < len(elections) else timeline.end_ms
        yield (
            -1 if event.node_id is None else event.node_id,
            Bar(
                start=event.time_ms,
                end=end_ms,
                kind="leads" if index % 2 == 0 else "leads-b",
                title=f"epoch {event.epoch}, offset {event.offset}: {event.text}",
                labels=(f"epoch {event.epoch}", f"e{event.epoch}"),
            ),
        )


def _brokers(timeline: Timeline) -> Iterator[tuple[int, Bar]]:
    open_at: dict[int, Event] = {}
    for event in timeline.events:
        if event.node_id is None or event.kind in (EventKind.ELECTION, EventKind.GAP):
            continue
        before = open_at.pop(event.node_id, None)
        if before is not None:
            yield event.node_id, _broker_bar(before, event.time_ms)
        if event.kind in _KINDS:
            open_at[event.node_id] = event
    for node_id, event in open_at.items():
        yield node_id, _broker_bar(event, timeline.end_ms)


def _broker_bar(event: Event, end_ms: int) -> Bar:
    text = f"offset {event.offset}: {event.text}"
    return Bar(start=event.time_ms, end=end_ms, kind=_KINDS[event.kind], title=text)


def _row_parts(timeline: Timeline, row: _Row, span: Span, y: float) -> Iterator[str]:
    for bar in row.bars:
        yield draw_bar(span, bar, y, _BAR)
    for event in timeline.events:
        if event.kind in (EventKind.GAP, EventKind.MISSING) and event.duration_ms is not None:
            start, end = visible(span, event.time_ms - event.duration_ms, event.time_ms)
            yield (
                f'<rect class="gap" x="{span.place(start)}" y="{y - 4:.0f}" width="{span.place(end - start)}" '
                f'height="{_ROW}"><title>{escape(event.text)}</title></rect>'
            )


def _row_title(row: _Row) -> str:
    return f"{row.name}: {'; '.join(bar.title for bar in row.bars)}"


def _legend() -> str:
    items = "".join(
        f'<li><svg aria-hidden="true" viewBox="0 0 26 14"><rect class="{kind}" width="26" height="14" rx="2"/></svg>'
        f"{text}</li>"
        for kind, text in _LEGEND
    )
    return f'<ul class="legend">{items}</ul>'


def _legend_in_svg() -> Iterator[str]:
    x = _LEFT
    for kind, text in _LEGEND:
        yield f'<rect class="{kind}" x="{x}" y="64" width="14" height="12"/><text x="{x + 19}" y="74">{text}</text>'
        x += 44 + int(text_width(text))
