"""The page's plots, as SVG: a log's progress over time, each replica's log by offset, and bars.

Decides: shapes and scales. Must not know: the page around them. Horizontal positions are percentages, and only the step
lines are stretched, so that text keeps its size in a window of any width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final

from metadata_log.analysis.findings import Finding
from metadata_log.analysis.report.verdict import LeaderEpoch, Progress, ReplicaSummary, Verdict
from metadata_log.tools.times import clock_text, time_text

SERIES: Final = 6
"""Colours of replicas; further ones begin again, with dashes."""
_BOX: Final = 1000
"""Width and height of the coordinates in which step lines are drawn."""
_LEAST_LABEL: Final = 7.0
"""Per cent of the width that a label needs."""
_LEAST_WIDTH: Final = 0.6
"""Per cent of the width that an epoch is drawn with at the least: one that lasted milliseconds must be seen."""
_LANE_PX: Final = 30
_STRIP_PX: Final = 42
"""Above the lines, for the names of epochs."""


def progress_chart(
    verdict: Verdict, value: Callable[[Progress], int], *, height: int, what: str, label_epochs: bool
) -> str:
    """Step lines of `value` by replica over time, upon bands that show the epochs of the most advanced log."""
    points = [point for replica in verdict.replicas for point in replica.progress]
    if not points:
        return '<p class="lead">The logs hold no batch that could be drawn.</p>'
    first, last = min(p.at_ms for p in points), max(p.at_ms for p in points)
    values = [value(point) for point in points]
    lowest = min(values) if max(values) / 2 < min(values) < max(values) else 0
    top = _STRIP_PX if label_epochs else 8
    highest = max(*values, lowest + 1)
    x, y = _scale(first, max(last, first + 1)), _scale(lowest, highest)
    ticks = [(tick, top + (height - top) * (1 - y(tick) / 100)) for tick in _ticks(lowest, highest, height // 45)]
    lines = "".join(
        _step(number, replica, lambda point: x(point.at_ms), lambda point: y(value(point)), verdict)
        for number, replica in enumerate(verdict.replicas)
    )
    parts = [
        *_bands(verdict.epochs, x, height, label=label_epochs),
        *(f'<line class="grid" x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}"/>' for _, at in ticks),
        f'<svg x="0" y="{top}" width="100%" height="{height - top}" viewBox="0 0 {_BOX} {_BOX}" '
        f'preserveAspectRatio="none">{lines}</svg>',
        *(f'<text class="halo" x="4" y="{at + 14:.1f}">{tick:,}</text>' for tick, at in ticks if at + 14 < height),
        *_time_axis(first, last, height),
    ]
    title = f"{what} by replica from {time_text(first)} to {time_text(last)}; the highest is {max(values):,}"
    return _svg(height + 22, title, parts)


def legend(replicas: Sequence[ReplicaSummary]) -> str:
    """Which line is whose."""
    items = "".join(
        f'<li><svg aria-hidden="true" viewBox="0 0 26 14"><path class="step" d="M2 7H24" '
        f'style="{_line_style(number, len(replicas))}"/></svg>{escape(replica.label)}</li>'
        for number, replica in enumerate(replicas)
    )
    return f'<ul class="legend">{items}</ul>'


def lanes(verdict: Verdict) -> str:
    """Each replica's log by offset: its epochs, checkpoint, findings, and how far the cluster has committed."""
    lowest = min(replica.start_offset for replica in verdict.replicas)
    highest = max(max(replica.end_offset, replica.snapshot_end) for replica in verdict.replicas)
    x = _scale(lowest if lowest < highest * 0.9 else 0, max(highest, lowest + 1))
    return "".join(_lane(verdict, replica, x) for replica in verdict.replicas) + _offset_axis(
        verdict, x, lowest, highest
    )


def bars(rows: Sequence[tuple[str, int]], *, bad: bool = False) -> str:
    """Horizontal bars with their numbers behind them."""
    most = max((count for _, count in rows), default=1)
    kind = "bar bad" if bad else "bar"
    rows_drawn = "".join(
        f'<div class="row"><div class="name">{escape(name)}</div>'
        f'<svg height="18" role="img" aria-label="{escape(name)}: {count:,}">'
        f'<rect class="{kind}" x="0" y="2" height="14" rx="3" width="{max(0.4, 88 * count / most):.2f}%"/>'
        f'<text class="elabel" x="{max(0.4, 88 * count / most) + 0.8:.2f}%" y="13">{count:,}</text></svg></div>'
        for name, count in rows
    )
    return f'<div class="bars">{rows_drawn}</div>'


def _step(
    number: int,
    replica: ReplicaSummary,
    x: Callable[[Progress], float],
    y: Callable[[Progress], float],
    verdict: Verdict,
) -> str:
    """Lines of equal logs lie on each other: the first is the widest, so that each stays visible."""
    if not replica.progress:
        return ""
    spots = [(x(point) * _BOX / 100, _BOX * (1 - y(point) / 100)) for point in replica.progress]
    path = f"M{spots[0][0]:.1f} {spots[0][1]:.1f}" + "".join(f"H{at:.1f}V{up:.1f}" for at, up in spots[1:])
    end = f"M{spots[-1][0]:.1f} {spots[-1][1]:.1f}h0"
    style = _line_style(number, len(verdict.replicas))
    width = _line_width(number, len(verdict.replicas)) + 4
    return (
        f"<g><title>{escape(replica.label)}: up to offset {replica.end_offset:,}, epoch {replica.last_epoch}</title>"
        f'<path class="step" d="{path}" style="{style}"/>'
        f'<path class="step" d="{end}" style="stroke:var(--s{number % SERIES});stroke-width:{width:.1f}px"/></g>'
    )


def _line_width(number: int, of: int) -> float:
    return 2 + 2.6 * (min(of, 4) - 1 - min(number, 3))


def _line_style(number: int, of: int) -> str:
    dashes = ";stroke-dasharray:5 5" if number >= SERIES else ""
    return f"stroke:var(--s{number % SERIES});stroke-width:{_line_width(number, of):.1f}px{dashes}"


def _bands(epochs: Sequence[LeaderEpoch], x: Callable[[float], float], height: int, *, label: bool) -> list[str]:
    """The brief ones last: they are drawn wider than they were, upon their neighbours."""
    long: list[str] = []
    brief: list[str] = []
    is_shaded = False
    for number, epoch in enumerate(epochs):
        start = x(epoch.first_ms) if number else 0.0
        end = x(epochs[number + 1].first_ms) if number + 1 < len(epochs) else 100.0
        text = f"epoch {epoch.epoch}" + (f", led by node {epoch.leader_id}" if epoch.leader_id >= 0 else "")
        left, width = _visible(start, end)
        if end - start < _LEAST_WIDTH:
            shade, onto = "band brief", brief
        else:
            is_shaded = not is_shaded
            shade, onto = "band" if is_shaded else "band clear", long
        onto.append(
            f'<rect class="{shade}" x="{left:.2f}%" y="0" width="{width:.2f}%" height="{height}">'
            f"<title>{text}</title></rect>"
        )
        if label and width >= _LEAST_LABEL:
            long.append(_band_label(epoch, left, width))
    return long + brief


def _band_label(epoch: LeaderEpoch, left: float, width: float) -> str:
    """Cut off where the band ends: in a narrow window it would run into the next one's."""
    is_wide = width >= 2 * _LEAST_LABEL
    lines = [f'<text x="6" y="14">{"epoch " if is_wide else ""}{epoch.epoch}</text>']
    if epoch.leader_id >= 0 and is_wide:
        lines.append(f'<text x="6" y="29">node {epoch.leader_id} leads</text>')
    return f'<svg class="cut" x="{left:.2f}%" y="0" width="{width:.2f}%" height="{_STRIP_PX}">{"".join(lines)}</svg>'


def _visible(start: float, end: float) -> tuple[float, float]:
    """Where something from `start` to `end` is drawn, and how wide, in per cent: never too thin, never past the end."""
    width = max(end - start, _LEAST_WIDTH)
    return min(start, 100.0 - width), width


def _time_axis(first: int, last: int, height: int) -> list[str]:
    middle = (first + last) // 2
    return [
        f'<text x="0" y="{height + 17}">{clock_text(first)}</text>',
        f'<text x="50%" y="{height + 17}" text-anchor="middle">{clock_text(middle)}</text>',
        f'<text x="100%" y="{height + 17}" text-anchor="end">{clock_text(last)} UTC</text>',
    ]


def _lane(verdict: Verdict, replica: ReplicaSummary, x: Callable[[float], float]) -> str:
    hits = [finding for finding in verdict.findings if finding.replica == replica.label and finding.offset is not None]
    parts: list[str] = []
    if replica.start_offset > 0:
        parts.append(f'<line class="behind" x1="0" x2="{x(replica.start_offset):.2f}%" y1="15" y2="15"/>')
    for number, epoch in enumerate(replica.epochs):
        parts += _epoch_block(number, epoch, x)
    for offset, kind in ((verdict.lower, ""), (verdict.upper, " upper")):
        if offset is not None and (kind == "" or verdict.upper != verdict.lower):
            parts.append(
                f'<line class="bound{kind}" x1="{x(offset):.2f}%" x2="{x(offset):.2f}%" y1="0" y2="{_LANE_PX}"/>'
            )
    if replica.snapshot_end > 0:
        parts.append(
            _mark(x(replica.snapshot_end), "snapshot", "M-5 1h10l-5 7z", f"checkpoint to {replica.snapshot_end}")
        )
    parts += [_hit(finding, x) for finding in hits]
    role = "voter" if replica.is_voter else "observer"
    title = (
        f"{replica.label}: offsets {replica.start_offset:,} to {replica.end_offset:,}, epoch {replica.last_epoch}, "
        f"{len(hits)} findings"
    )
    name = f"{escape(replica.label)}<small>{role}, {replica.start_offset:,} to {replica.end_offset:,}</small>"
    return f'<div class="lane"><div class="name">{name}</div>{_svg(_LANE_PX, title, parts)}</div>'


def _epoch_block(number: int, epoch: LeaderEpoch, x: Callable[[float], float]) -> list[str]:
    start, end = x(epoch.start_offset), x(epoch.end_offset)
    leader = f", led by node {epoch.leader_id}" if epoch.leader_id >= 0 else ""
    title = f"epoch {epoch.epoch}{leader}: offsets {epoch.start_offset:,} to {epoch.end_offset:,}"
    kind, (left, width) = "ea" if number % 2 == 0 else "eb", _visible(start, end)
    parts = [
        f'<rect class="{kind}" x="{left:.2f}%" y="7" width="{width:.2f}%" height="16"><title>{title}</title></rect>'
    ]
    if end - start >= _LEAST_LABEL:
        parts.append(f'<text class="elabel" x="{start:.2f}%" dx="6" y="19">e{epoch.epoch}</text>')
    return parts


def _hit(finding: Finding, x: Callable[[float], float]) -> str:
    kind = "hit" if finding.counts else "hit note"
    at = min(100.0, max(0.0, x(finding.offset or 0)))
    return _mark(at, kind, "M-6 30h12l-6 -10z", f"{finding.title} at offset {finding.offset}")


def _mark(at: float, kind: str, path: str, title: str) -> str:
    shape = f'<path class="{kind}" d="{path}"><title>{escape(title)}</title></path>'
    return f'<svg class="mark" x="{at:.2f}%" y="0" width="1" height="1">{shape}</svg>'


def _offset_axis(verdict: Verdict, x: Callable[[float], float], lowest: int, highest: int) -> str:
    start = lowest if lowest < highest * 0.9 else 0
    parts = [
        f'<text x="0" y="12">{start:,}</text>',
        f'<text x="100%" y="12" text-anchor="end">offset {highest:,}</text>',
    ]
    return f'<div class="lane"><div class="name"></div>{_svg(16, "offsets", parts)}</div>'


def _scale(low: float, high: float) -> Callable[[float], float]:
    return lambda value: 100 * (value - low) / (high - low)


def _ticks(lowest: int, highest: int, count: int) -> Iterable[int]:
    """Up to `count` round numbers between the lowest and the highest."""
    steps = (factor * 10**power for power in range(19) for factor in (1, 2, 5))
    step = next(step for step in steps if (highest - lowest) / step <= count)
    return range(-(-max(lowest, 1) // step) * step, highest + 1, step)


def _svg(height: int, title: str, parts: Iterable[str]) -> str:
    return f'<svg height="{height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
