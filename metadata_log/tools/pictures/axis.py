"""Round times on an axis, from milliseconds to years, and their labels. All times are UTC.

Decides: the positions and labels of ticks, and where dates are written. Must not know: the width of a picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

_SECOND: Final = 1000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
_YEAR: Final = 365 * _DAY
_STEPS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(count * _SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 5, 10)),
)
_MONTH_STEPS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000, 24_000, 60_000, 120_000)
_MONTHS: Final = 10_000 * 12
_LAST_MS: Final = 253_402_300_799_999
"""End of the year 9999. Later times, which only corruption makes, are drawn there."""


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A round time. `date`: the day or the year that the label lacks, for the line below it."""

    at_ms: int
    label: str
    date: str


def ticks(first_ms: int, last_ms: int, count: int) -> list[Tick]:
    """Return up to `count` round times from the first to the last, both inclusive."""
    span = max(last_ms - first_ms, 1)
    step = next((step for step in _STEPS if span / step <= count), None)
    if step is None:
        months = next((months for months in _MONTH_STEPS if span / (months * _MONTH) <= count), _MONTH_STEPS[-1])
        return [_tick(at_ms, months * _MONTH) for at_ms in _months(first_ms, last_ms, months)]
    begin = -(-first_ms // step) * step
    return [_tick(at_ms, step) for at_ms in range(begin, last_ms + 1, step)]


def dates(first_ms: int, shown: Sequence[Tick]) -> list[Tick]:
    """Return the ticks with a text in the line of dates: the axis's start, and the first tick of each further date.

    An axis of years has none, because its labels are complete.
    """
    if shown and not shown[-1].date:
        return []
    begin = _tick(first_ms, _DAY if shown and _is_of_days(shown[-1]) else _HOUR)
    found = [begin]
    for tick in shown:
        if tick.date != found[-1].date:
            found.append(tick)
    return found


def day_text(time_ms: int) -> str:
    """Return a day as `27 Nov 2026`."""
    at = _time(time_ms)
    return f"{at.day} {at:%b} {at.year}"


def minute_text(time_ms: int) -> str:
    """Return a time as `27 Nov 2026, 16:45 UTC`."""
    return f"{day_text(time_ms)}, {_time(time_ms):%H:%M} UTC"


def duration_text(duration_ms: int) -> str:
    """Return a duration in its two largest units: `3 d 4 h`, `1 h 12 min`, `41.3 s`, `12 ms`."""
    for unit_ms, name, smaller_ms, smaller in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", _SECOND, "s"),
    ):
        if duration_ms >= unit_ms:
            rest = duration_ms % unit_ms // smaller_ms
            return f"{duration_ms // unit_ms:,} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{duration_ms / 1000:.1f} s" if duration_ms >= _SECOND else f"{duration_ms} ms"


def _is_of_days(tick: Tick) -> bool:
    return tick.date.isdigit()


def _tick(at_ms: int, step: int) -> Tick:
    at = _time(at_ms)
    if step < _SECOND:
        return Tick(at_ms=at_ms, label=f"{at:%H:%M:%S}.{at_ms % 1000:03d}", date=day_text(at_ms))
    if step < _DAY:
        return Tick(at_ms=at_ms, label=f"{at:%H:%M:%S}" if step < _MINUTE else f"{at:%H:%M}", date=day_text(at_ms))
    if step < _MONTH:
        return Tick(at_ms=at_ms, label=f"{at.day} {at:%b}", date=str(at.year))
    return Tick(at_ms=at_ms, label=f"{at:%b}", date=str(at.year)) if step < _MONTH * 12 else _year(at_ms)


def _year(at_ms: int) -> Tick:
    return Tick(at_ms=at_ms, label=str(_time(at_ms).year), date="")


def _months(first_ms: int, last_ms: int, step: int) -> Iterator[int]:
    """Yield the first instants of months, `step` months apart, from `first_ms` to `last_ms`."""
    first = _time(first_ms)
    month = -(-(first.year * 12 + first.month - 1) // step) * step
    while month < _MONTHS:
        at_ms = int(datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp() * 1000)
        if at_ms > last_ms:
            return
        if at_ms >= first_ms:
            yield at_ms
        month += step


def _time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(min(time_ms, _LAST_MS) // 1000, UTC)
