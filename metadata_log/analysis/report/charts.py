"""The page's plots, as SVG: progress and events over time, each log by offset, and bars.

Decides: shapes and scales. Must not know: the page around them. One line or lane is a group of equal replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from metadata_log.analysis.report.groups import Group
from metadata_log.analysis.report.verdict import Difference, Event, EventKind, LeaderEpoch, Verdict
from metadata_log.tools.findings.finding import KINDS, Finding
from metadata_log.tools.pictures.fitting import Label, first_that_fits, place_beside, place_centred
from metadata_log.tools.pictures.page import lane, plot
from metadata_log.tools.pictures.span import (
    AXIS_PX,
    ROW_PX,
    Bar,
    Span,
    draw_bar,
    draw_flags,
    draw_texts,
    draw_time_axis,
    draw_time_grid,
    flag_rows,
)
from metadata_log.tools.times import time_text
from metadata_log.tools.words import count_of

SERIES: Final = 5
"""The number of colours for groups without a difference; further groups repeat them, with dashes."""
_BOX: Final = 1000
"""The width and height of the coordinates of step lines; only they are stretched."""
_HEIGHT: Final = 190
_TOP: Final = 12
_BAND_PX: Final = 26
_LANE_PX: Final = 34
_MOST_FLAGS: Final = 6
_RING_GAP_PX: Final = 13.0


def draw_times(verdict: Verdict, groups: Sequence[Group]) -> str:
    """Return each group's log end offset over time, and below it, on the same axis, leaders, topics and marks."""
    times = [point.at_ms for replica in verdict.replicas for point in replica.progress if point.at_ms > 0]
    times += [epoch.first_ms for epoch in verdict.epochs if epoch.first_ms > 0]
    if not any(replica.progress for replica in verdict.replicas) or not times:
        return '<p class="lead">The logs hold no batch with a time that could be drawn.</p>'
    span = Span(low=min(times), high=max(*times, min(times) + 1))
    lanes = [_progress(verdict, groups, span), _leaders(verdict, span)]
    lanes += [*_topics(verdict, span), *_marks(verdict, span)]
    lanes += [lane("", plot(AXIS_PX, "times", [draw_time_axis(span, 0)])), *_marks_outside(verdict, span)]
    return "".join(lanes)


def legend(groups: Sequence[Group]) -> str:
    """Return the list of lines, each with its replicas and the offset where they begin to differ."""
    items = "".join(
        f'<li><svg aria-hidden="true" viewBox="0 0 26 14"><path class="step" d="M2 7H24" '
        f'style="{_style(groups, number)}"/></svg>{escape(group.name + _apart(group))}</li>'
        for number, group in enumerate(groups)
    )
    return f'<ul class="legend">{items}</ul>'


def draw_offsets(verdict: Verdict, groups: Sequence[Group]) -> str:
    """Return each group's log by offset: its epochs, checkpoints and findings, and the committed bounds."""
    lowest = min(replica.start_offset for replica in verdict.replicas)
    highest = max(max(replica.end_offset, replica.snapshot_end) for replica in verdict.replicas)
    span = Span(low=lowest if lowest < highest * 0.9 else 0, high=max(highest, lowest + 1))
    lanes = "".join(_offsets(verdict, group, span) for group in groups)
    return lanes + lane("", plot(18, "offsets", [span.fitted(lambda width_px: _offset_axis(span, width_px))]))


def bars(rows: Sequence[tuple[str, int]]) -> str:
    """Return horizontal bars with their numbers behind them."""
    most = max((count for _, count in rows), default=1)

    def drawn(name: str, count: int) -> str:
        width = max(0.4, 80 * count / most)
        return (
            f'<div class="name">{escape(name)}</div>'
            f'<svg height="18" role="img" aria-label="{escape(name)}: {count:,}">'
            f'<rect class="bar" x="0" y="2" height="14" rx="3" width="{width:.2f}%"/>'
            f'<text class="on" x="{width + 1:.2f}%" y="13">{count:,}</text></svg>'
        )

    return f'<div class="bars">{"".join(drawn(name, count) for name, count in rows)}</div>'


def _apart(group: Group) -> str:
    if group.apart is None:
        return ""
    verb = "differs" if len(group.replicas) == 1 else "differ"
    batches = f" and in {group.apart.batches - 1:,} later batches" if group.apart.batches > 1 else ""
    return f": {verb} at offset {group.apart.offset:,}{batches}"


def _progress(verdict: Verdict, groups: Sequence[Group], span: Span) -> str:
    ends = [point.end_offset for replica in verdict.replicas for point in replica.progress]
    low, high = (min(ends) if max(ends) / 2 < min(ends) < max(ends) else 0), max(*ends, 1)
    vertical = Span(low=low, high=max(high, low + 1), width_px=_BOX)
    ticks = [
        (tick, _TOP + (_HEIGHT - _TOP) * (1 - vertical.share(tick)))
        for tick in _round_numbers(low, high, _HEIGHT // 50)
    ]
    lines = "".join(_step(groups, number, span, vertical) for number in range(len(groups)))
    parts = [
        draw_time_grid(span, _HEIGHT),
        *(f'<line class="grid" x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}"/>' for _, at in ticks),
        *_dividers(verdict, span),
        f'<svg x="0" y="{_TOP}" width="100%" height="{_HEIGHT - _TOP}" viewBox="0 0 {_BOX} {_BOX}" '
        f'preserveAspectRatio="none">{lines}</svg>',
        *(f'<text class="halo" x="4" y="{at - 4:.1f}">{tick:,}</text>' for tick, at in ticks),
        *_rings(verdict, span, vertical),
    ]
    during = f"from {time_text(int(span.low))} to {time_text(int(span.high))}"
    title = f"Log end offset by replica {during}; the highest is {high:,}"
    return lane("log end offset", plot(_HEIGHT, title, parts))


def _step(groups: Sequence[Group], number: int, span: Span, vertical: Span) -> str:
    """Return a group's line. Each next line is thinner, so that all are visible where they overlap."""
    group = groups[number]
    points = max((replica.progress for replica in group.replicas), key=len)
    if not points:
        return ""
    spots = [(_BOX * span.share(point.at_ms), _BOX * (1 - vertical.share(point.end_offset))) for point in points]
    path = f"M{spots[0][0]:.1f} {spots[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in spots[1:])
    style = _style(groups, number)
    return (
        f'<g data-group="{number}"><title>{escape(group.name + _apart(group))}: up to offset '
        f"{group.first.end_offset:,}, epoch {group.first.last_epoch}</title>"
        f'<path class="step" d="{path}" style="{style}"/>'
        f'<path class="step end" d="M{spots[-1][0]:.1f} {spots[-1][1]:.1f}h0" style="{style}"/></g>'
    )


def _style(groups: Sequence[Group], number: int) -> str:
    """Return a line's colour and width. Groups that differ are red, and dashed because they overlap with others."""
    group = groups[number]
    width = 2.5 + 2 * (min(len(groups), 3) - 1 - min(number, 2))
    if group.apart is not None:
        return f"stroke:var(--bad);stroke-width:{width:.1f}px;stroke-dasharray:6 5"
    dashes = ";stroke-dasharray:2 5" if number >= SERIES else ""
    return f"stroke:var(--s{number % SERIES});stroke-width:{width:.1f}px{dashes}"


def _dividers(verdict: Verdict, span: Span) -> Iterator[str]:
    """Yield the operator's marks as lines through the plot."""
    for event in verdict.events:
        if event.kind is EventKind.MARKED and span.low <= event.at_ms <= span.high:
            at = span.at(event.at_ms)
            yield (
                f'<line class="flag through" x1="{at}" x2="{at}" y1="0" y2="{_HEIGHT}">'
                f"<title>{escape(event.text)}</title></line>"
            )


def _rings(verdict: Verdict, span: Span, vertical: Span) -> Iterator[str]:
    """Yield a ring at each of the first offsets where replicas differ; the very first one has its offset as text."""
    timed = [difference for difference in verdict.differences if difference.at_ms > 0][:_MOST_FLAGS]
    heights = [_TOP + (_HEIGHT - _TOP) * (1 - vertical.share(difference.offset)) for difference in timed]
    for difference, y in zip(timed, heights, strict=True):
        yield f'<circle class="ring" cx="{span.at(difference.at_ms)}" cy="{y:.1f}" r="7"/>'
    if timed:
        yield span.fitted(lambda width_px: _ring_text(span, timed[0], heights[0], width_px))


def _ring_text(span: Span, difference: Difference, y: float, width_px: float) -> str:
    """Return the text beside a ring, right and below or left and above: a log never goes down, so no line is there."""
    at = span.share(difference.at_ms)
    room, offset = max(at, 1 - at) * width_px - _RING_GAP_PX, f"{difference.offset:,}"
    text = first_that_fits((f"differs at offset {offset}", f"at offset {offset}", offset), room)
    placed = place_beside([Label(at=at, text=text)], width_px, 1, _RING_GAP_PX)
    is_left = any(label.anchor == "end" for label in placed)
    return draw_texts(span, placed, max(y - 10, 12) if is_left else min(y + 20, _HEIGHT - 2), kind="bad halo")


def _leaders(verdict: Verdict, span: Span) -> str:
    epochs = [epoch for epoch in verdict.epochs if epoch.first_ms > 0]
    parts = [draw_time_grid(span, _BAND_PX)]
    for number, epoch in enumerate(epochs):
        end = epochs[number + 1].first_ms if number + 1 < len(epochs) else span.high
        kind = "leads" if number % 2 == 0 else "leads-b"
        bar = Bar(start=epoch.first_ms, end=end, kind=kind, title=_epoch_title(epoch), labels=_epoch_labels(epoch))
        parts.append(draw_bar(span, bar, 2, _BAND_PX - 4))
    elections = sum(epoch.leader_id >= 0 for epoch in epochs)
    title = f"Leaders by epoch: {'; '.join(map(_epoch_title, epochs))}"
    return lane("leaders", plot(_BAND_PX, title, parts), below=count_of(elections, "election"))


def _epoch_title(epoch: LeaderEpoch) -> str:
    leader = f", led by node {epoch.leader_id}" if epoch.leader_id >= 0 else ""
    since = f", since {time_text(epoch.first_ms)}" if epoch.first_ms > 0 else ""
    return f"epoch {epoch.epoch}{leader}: offsets {epoch.start_offset:,} to {epoch.end_offset:,}{since}"


def _epoch_labels(epoch: LeaderEpoch) -> tuple[str, ...]:
    if epoch.leader_id < 0:
        return (f"epoch {epoch.epoch}", f"e{epoch.epoch}")
    return (
        f"node {epoch.leader_id} leads, epoch {epoch.epoch}",
        f"node {epoch.leader_id}, e{epoch.epoch}",
        f"node {epoch.leader_id}",
        str(epoch.leader_id),
    )


def _topics(verdict: Verdict, span: Span) -> list[str]:
    events = [event for event in verdict.events if event.kind is not EventKind.MARKED]
    if not events:
        return []
    most = max(event.count for event in events)
    parts = [draw_time_grid(span, _BAND_PX)]
    for event in events:
        height = 6 + 12 * event.count / most
        parts.append(
            f'<svg x="{span.at(event.at_ms)}" y="0" width="1" height="{_BAND_PX}" style="overflow:visible"><rect '
            f'class="{event.kind}" x="-1.5" y="{_BAND_PX - 4 - height:.1f}" width="3" height="{height:.1f}" rx="1">'
            f"<title>{escape(event.text)}</title></rect></svg>"
        )
    created, deleted = (_total(events, kind) for kind in (EventKind.CREATED, EventKind.DELETED))
    below = f"{created:,} created" + (f", {deleted:,} deleted" if deleted else "")
    return [lane("topics", plot(_BAND_PX, f"Topics over time: {below}", parts), below=below)]


def _total(events: Iterable[Event], kind: EventKind) -> int:
    return sum(event.count for event in events if event.kind is kind)


def _marks(verdict: Verdict, span: Span) -> list[str]:
    flags = [
        (event.at_ms, event.text)
        for event in verdict.events
        if event.kind is EventKind.MARKED and span.low <= event.at_ms <= span.high
    ]
    if not flags:
        return []
    rows = flag_rows(span, flags, _MOST_FLAGS)
    title = "; ".join(f"{time_text(at)}: {text}" for at, text in flags)
    return [lane("marked", plot(rows * ROW_PX, title, [draw_flags(span, flags, rows)]))]


def _marks_outside(verdict: Verdict, span: Span) -> Iterator[str]:
    """Yield a sentence for each mark outside the time axis, which is the log's."""
    for event in verdict.events:
        if event.kind is EventKind.MARKED and not span.low <= event.at_ms <= span.high:
            when = "before the first" if event.at_ms < span.low else "after the last"
            yield f'<p class="lead">Marked {when} batch, {time_text(event.at_ms)}: {escape(event.text)}.</p>'


def _offsets(verdict: Verdict, group: Group, span: Span) -> str:
    replica = group.first
    hits = [found for found in verdict.findings if verdict.label_of(found) in group.labels and found.offset is not None]
    parts: list[str] = []
    if replica.start_offset > 0:
        parts.append(f'<line class="behind" x1="0" x2="{span.at(replica.start_offset)}" y1="17" y2="17"/>')
    for number, epoch in enumerate(replica.epochs):
        bar = Bar(
            start=epoch.start_offset,
            end=epoch.end_offset,
            kind="ea" if number % 2 == 0 else "eb",
            title=_epoch_title(epoch),
            labels=(f"epoch {epoch.epoch}", f"e{epoch.epoch}"),
        )
        parts.append(draw_bar(span, bar, 8, 18))
    if group.apart is not None:
        parts.append(_apart_bar(group, span, group.apart))
    for offset, kind in ((verdict.lower, "bound"), (verdict.upper, "bound upper")):
        if offset is not None and (kind == "bound" or verdict.upper != verdict.lower):
            at = span.at(offset)
            parts.append(f'<line class="{kind}" x1="{at}" x2="{at}" y1="0" y2="{_LANE_PX}"/>')
    for end in sorted({each.snapshot_end for each in group.replicas if each.snapshot_end > 0}):
        parts.append(_triangle(span, end, "snapshot", "M-5 1h10l-5 7z", f"checkpoint to {end:,}"))
    parts += [_hit(verdict.label_of(finding), finding, span) for finding in hits]
    extent = f"{replica.start_offset:,} to {replica.end_offset:,}"
    title = f"{group.name}: offsets {extent}, epoch {replica.last_epoch}, {count_of(len(hits), 'finding')}"
    return lane(group.name, plot(_LANE_PX, title, parts), below=f"{group.role}, {extent}")


def _apart_bar(group: Group, span: Span, apart: Difference) -> str:
    """Return the bar of the part of a log that differs from the majority's: one batch, or all from the first one on."""
    end = apart.offset if apart.batches == 1 else group.first.end_offset
    bar = Bar(start=apart.offset, end=end, kind="apart", title=f"{group.name}{_apart(group)}")
    return draw_bar(span, bar, 22, 4)


def _hit(label: str, finding: Finding, span: Span) -> str:
    kind = "hit" if finding.counts else "hit note"
    title = f"{label}: {KINDS[finding.kind].title} at offset {finding.offset:,}"
    return _triangle(span, finding.offset or 0, kind, "M-6 34h12l-6 -9z", title)


def _triangle(span: Span, value: float, kind: str, path: str, title: str) -> str:
    shape = f'<path class="{kind}" d="{path}"><title>{escape(title)}</title></path>'
    return f'<svg x="{span.at(value)}" y="0" width="1" height="1" style="overflow:visible">{shape}</svg>'


def _offset_axis(span: Span, width_px: float) -> str:
    numbers = [int(span.low), int(span.high), *_round_numbers(int(span.low), int(span.high), int(width_px / 90))]
    labels = [Label(at=span.share(number), text=f"{number:,}") for number in numbers]
    return draw_texts(span, place_centred(labels, width_px), 13)


def _round_numbers(lowest: int, highest: int, count: int) -> Sequence[int]:
    """Return up to `count` round numbers above the lowest, up to the highest."""
    steps = (factor * 10**power for power in range(19) for factor in (1, 2, 5))
    step = next(step for step in steps if (highest - lowest) / step <= max(count, 1))
    return range(-(-max(lowest, 1) // step) * step, highest + 1, step)
