"""A timeline as a picture: one SVG, alone or in a page of HTML with the table under it; nothing is loaded for it.

Decides: what is drawn where. Must not know: records. Rows are the controllers that led and the brokers; gaps are drawn
over all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

import msgspec

from metadata_log.tools.timeline import Event, EventKind, Timeline
from metadata_log.tools.times import clock_text, time_text

_WIDTH: Final = 1200
_LEFT: Final = 130
_RIGHT: Final = 20
_TOP: Final = 70
_ROW: Final = 34
_BAR: Final = 20
_TICKS: Final = 6
_LEADER: Final = "#2563a8"
_COLOURS: Final = {
    EventKind.UNFENCED: "#3c9a5f",
    EventKind.FENCED: "#c8453b",
    EventKind.REGISTERED: "#e0a83a",
    EventKind.SHUTDOWN: "#8a8f98",
    EventKind.WAS_UNFENCED: "#3c9a5f",
    EventKind.WAS_FENCED: "#c8453b",
}
_LEGEND: Final = (
    (_LEADER, "leads"),
    (_COLOURS[EventKind.UNFENCED], "unfenced"),
    (_COLOURS[EventKind.REGISTERED], "registered, still fenced"),
    (_COLOURS[EventKind.FENCED], "fenced"),
    (_COLOURS[EventKind.SHUTDOWN], "controlled shutdown"),
    ("#f3d9d7", "gap: nothing written"),
)


class _Bar(msgspec.Struct, frozen=True, kw_only=True):
    row: str
    start_ms: int
    end_ms: int
    colour: str
    label: str
    hint: str


def timeline_svg(timeline: Timeline, title: str) -> str:
    """The picture."""
    bars = [*_leaders(timeline), *_brokers(timeline)]
    rows = list(dict.fromkeys(bar.row for bar in sorted(bars, key=_row_order)))
    height = _TOP + _ROW * max(len(rows), 1) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="12" y="22" font-size="16" font-weight="bold">{escape(title)}</text>',
        *_legend(),
        *_axis(timeline, height),
        *_not_shown(timeline, height),
    ]
    for index, row in enumerate(rows):
        y = _TOP + index * _ROW
        parts.append(f'<text x="12" y="{y + 15}">{escape(row)}</text>')
        parts += [_drawn(bar, timeline, y) for bar in bars if bar.row == row]
    return "\n".join([*parts, *_gaps(timeline, height), "</svg>"]) + "\n"


def timeline_html(timeline: Timeline, title: str) -> str:
    """The picture and the events as a table, in one file."""
    rows = "\n".join(
        f"<tr><td>{time_text(event.time_ms)}</td><td>{event.offset}</td><td>{event.epoch}</td>"
        f"<td>{event.kind}</td><td>{escape(event.text)}</td></tr>"
        for event in timeline.events
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>'
        "body{font-family:sans-serif;margin:1em}svg{max-width:100%;height:auto}table{border-collapse:collapse}"
        "td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd;font-size:13px}</style></head><body>\n"
        f"{timeline_svg(timeline, title)}<table><thead><tr><th>Time</th><th>Offset</th><th>Epoch</th><th>Kind</th>"
        f"<th>What</th></tr></thead><tbody>\n{rows}\n</tbody></table></body></html>\n"
    )


def _not_shown(timeline: Timeline, height: int) -> Iterator[str]:
    """Yield the line that names the parts of a later release, at the picture's lower edge."""
    if timeline.not_shown is not None:
        yield f'<text x="12" y="{height - 3}" fill="{_COLOURS[EventKind.FENCED]}">{escape(timeline.not_shown)}</text>'


def _row_order(bar: _Bar) -> tuple[bool, int]:
    kind, _, node_id = bar.row.partition(" ")
    return kind != "controller", int(node_id)


def _leaders(timeline: Timeline) -> Iterator[_Bar]:
    elections = [event for event in timeline.events if event.kind is EventKind.ELECTION]
    for index, event in enumerate(elections):
        end_ms = elections[index + 1].time_ms if index + 1 < len(elections) else timeline.end_ms
        yield _Bar(
            row=f"controller {event.node_id}", start_ms=event.time_ms, end_ms=end_ms, colour=_LEADER,
            label=f"epoch {event.epoch}", hint=f"epoch {event.epoch}, offset {event.offset}: {event.text}",
        )  # fmt: skip


def _brokers(timeline: Timeline) -> Iterator[_Bar]:
    open_at: dict[int, Event] = {}
    for event in timeline.events:
        if event.node_id is None or event.kind in (EventKind.ELECTION, EventKind.GAP):
            continue
        before = open_at.pop(event.node_id, None)
        if before is not None:
            yield _broker_bar(before, event.time_ms)
        if event.kind in _COLOURS:
            open_at[event.node_id] = event
    for event in open_at.values():
        yield _broker_bar(event, timeline.end_ms)


def _broker_bar(event: Event, end_ms: int) -> _Bar:
    return _Bar(
        row=f"broker {event.node_id}", start_ms=event.time_ms, end_ms=end_ms, colour=_COLOURS[event.kind], label="",
        hint=f"offset {event.offset}: {event.text}",
    )  # fmt: skip


def _x(timeline: Timeline, time_ms: int) -> float:
    span = max(timeline.end_ms - timeline.start_ms, 1)
    return _LEFT + (time_ms - timeline.start_ms) / span * (_WIDTH - _LEFT - _RIGHT)


def _drawn(bar: _Bar, timeline: Timeline, y: int) -> str:
    start, end = _x(timeline, bar.start_ms), _x(timeline, bar.end_ms)
    width = max(end - start, 2.0)
    label = ""
    if bar.label and width > 7 * len(bar.label) + 6:
        label = f'<text x="{start + 4:.1f}" y="{y + 14}" fill="#fff">{escape(bar.label)}</text>'
    return (
        f'<g><title>{escape(bar.hint)}</title><rect x="{start:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" '
        f'fill="{bar.colour}" stroke="#fff" stroke-width="1"/>{label}</g>'
    )


def _legend() -> Iterator[str]:
    x = _LEFT
    for colour, text in _LEGEND:
        yield f'<rect x="{x}" y="34" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="44">{text}</text>'
        x += 40 + 7 * len(text)


def _gaps(timeline: Timeline, height: int) -> Iterator[str]:
    for event in timeline.events:
        if event.kind is EventKind.GAP and event.duration_ms is not None:
            start, end = _x(timeline, event.time_ms - event.duration_ms), _x(timeline, event.time_ms)
            size = f'width="{max(end - start, 1.0):.1f}" height="{height - _TOP - 28}"'
            yield (
                f'<g><title>{escape(event.text)}</title><rect x="{start:.1f}" y="{_TOP - 6}" '
                f'{size} fill="#f3d9d7" fill-opacity="0.7"/></g>'
            )


def _axis(timeline: Timeline, height: int) -> Iterator[str]:
    span = timeline.end_ms - timeline.start_ms
    for tick in range(_TICKS + 1):
        at = timeline.start_ms + span * tick // _TICKS
        x = _x(timeline, at)
        anchor = "end" if tick == _TICKS else "start" if tick == 0 else "middle"
        text = clock_text(at) if tick else time_text(at)[:19]
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 34}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{height - 16}" text-anchor="{anchor}" fill="#555">{text}</text>'
