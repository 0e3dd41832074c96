"""The axis has round times with their dates, from milliseconds to centuries, and labels do not lie upon each other."""

from __future__ import annotations

from itertools import pairwise

import pytest

from metadata_log.tools.pictures.axis import dates, duration_text, minute_text, ticks
from metadata_log.tools.pictures.fitting import Label, elided, place_beside, place_centred, text_width

_START = 1_795_823_100_000  # 2026-11-27T23:45:00Z
_HOUR = 3_600_000
_DAY = 24 * _HOUR


@pytest.mark.parametrize(
    ("span_ms", "labels", "days"),
    [
        (40, ["23:45:00.000", "23:45:00.010", "23:45:00.020", "23:45:00.030", "23:45:00.040"], ["27 Nov 2026"]),
        (40_000, ["23:45:00", "23:45:10", "23:45:20", "23:45:30", "23:45:40"], ["27 Nov 2026"]),
        (_HOUR, ["23:45", "00:00", "00:15", "00:30", "00:45"], ["27 Nov 2026", "28 Nov 2026"]),
        (4 * _DAY, ["28 Nov", "29 Nov", "30 Nov", "1 Dec"], ["2026"]),
        (100 * _DAY, ["Dec", "Jan", "Feb", "Mar"], ["2026", "2027"]),
        (5 * 365 * _DAY, ["2028", "2030"], []),
    ],
)
def test_ticks_are_round_and_dated(span_ms: int, labels: list[str], days: list[str]) -> None:
    shown = ticks(_START, _START + span_ms, 4)
    assert [tick.label for tick in shown] == labels
    assert [day.date for day in dates(_START, shown)] == days


@pytest.mark.parametrize(
    "span_ms", [1, 7, 999, 60_000, _HOUR, 13 * _HOUR, 31 * _DAY, 400 * _DAY, 250_000_000 * 1000 * 1000]
)
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_ticks_are_few_and_within(span_ms: int, count: int) -> None:
    last = min(_START + span_ms, 253_402_300_799_000)
    shown = ticks(_START, last, count)
    assert len(shown) <= count + 1
    assert all(_START <= tick.at_ms <= last for tick in shown)
    assert all(one.at_ms < other.at_ms for one, other in pairwise(shown))


def test_a_short_log_without_a_round_time_still_has_its_date() -> None:
    assert [day.date for day in dates(_START + 1, ticks(_START + 1, _START + 2, 1))] == ["27 Nov 2026"]


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(12, "12 ms"), (41_250, "41.2 s"), (60_000, "1 min"), (4_320_000, "1 h 12 min"), (1_000 * _DAY, "1,000 d")],
)
def test_durations(duration_ms: int, text: str) -> None:
    assert duration_text(duration_ms) == text


def test_a_minute() -> None:
    assert minute_text(_START) == "27 Nov 2026, 23:45 UTC"


def test_a_text_is_cut_where_its_place_ends() -> None:
    assert elided("payments", 200) == "payments"
    cut = elided("x" * 249, 100)
    assert cut.endswith("…")
    assert text_width(cut) <= 100
    assert elided("payments", 10) == ""
    assert text_width("漢字") > text_width("ab")


@pytest.mark.parametrize("width_px", [300, 560])
def test_labels_lie_beside_each_other_within_the_picture(width_px: float) -> None:
    labels = [Label(at=at / 10, text=f"SIGKILL to controller {at}") for at in range(11)]
    placed = place_beside(labels, width_px, 6)
    assert placed
    spans: dict[int, list[tuple[float, float]]] = {}
    for label in placed:
        start = label.at * width_px - (text_width(label.text) if label.anchor == "end" else 0)
        end = start + text_width(label.text)
        assert start >= -0.01
        assert end <= width_px + 0.01
        assert all(end < left or right < start for left, right in spans.setdefault(label.row, []))
        spans[label.row].append((start, end))
    assert max(spans) < 6


def test_centred_labels_that_would_overlap_are_left_out() -> None:
    labels = [Label(at=at, text="12:00:00") for at in (0.0, 0.05, 0.5, 1.0)]
    placed = place_centred(labels, 300)
    assert [(label.at, label.anchor) for label in placed] == [(0.0, "start"), (0.5, "middle"), (1.0, "end")]
