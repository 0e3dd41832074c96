"""Bars are seen however brief they are, texts are there as wide as fits, flags have the rows that they need."""

from __future__ import annotations

import re

import pytest

from metadata_log.tools.pictures.span import Bar, Span, draw_bar, draw_flags, draw_time_axis, flag_rows, visible

_DAY = 86_400_000


@pytest.mark.parametrize(("start", "end"), [(0, 0), (50, 50), (100, 100), (99.99, 100), (-5, 200), (0, 100)])
def test_a_bar_is_seen_and_stays_within(start: float, end: float) -> None:
    first, last = visible(Span(low=0, high=100), start, end)
    assert 0 <= first < last <= 1 + 1e-9
    assert last - first >= 0.005 - 1e-9


def test_a_bar_has_the_fullest_label_that_fits_in_each_window() -> None:
    labels = ("node 1 leads, epoch 3", "node 1, e3", "1")
    drawn = draw_bar(Span(low=0, high=100), Bar(start=0, end=40, kind="leads", title="t", labels=labels), 0, 20)
    texts = dict(re.findall(r'<g class="(narrow|wide)"><text[^>]*>([^<]*)', drawn))
    assert texts == {"narrow": "node 1, e3", "wide": "node 1 leads, epoch 3"}
    alone = draw_bar(
        Span(low=0, high=100, width_px=1000), Bar(start=0, end=1, kind="leads", title="t", labels=labels), 0, 20
    )
    assert "<text" not in alone
    assert 'width="10.0"' in alone


def test_a_text_that_fits_in_every_window_is_there_once() -> None:
    drawn = draw_bar(Span(low=0, high=100), Bar(start=0, end=100, kind="leads", title="t", labels=("epoch 3",)), 0, 20)
    assert drawn.count("epoch 3") == 1
    assert "narrow" not in drawn


def test_flags_have_as_many_rows_as_their_texts_need() -> None:
    span = Span(low=0, high=_DAY, width_px=1000)
    apart = [(0, "a"), (_DAY / 2, "b")]
    together = [(0, "SIGKILL to controller 1"), (1, "SIGKILL to controller 2"), (2, "SIGKILL to controller 3")]
    assert [flag_rows(span, flags, 6) for flags in ([], apart, together)] == [1, 1, 3]
    assert flag_rows(span, together * 5, 6) == 6
    drawn = draw_flags(span, together, 3)
    assert drawn.count("<line") == 3
    assert sorted(re.findall(r'<text[^>]* y="([\d.]+)"', drawn)) == ["13.0", "30.0", "47.0"]


def test_texts_of_flags_are_escaped() -> None:
    assert "<b>" not in draw_flags(Span(low=0, high=1), [(0, "<b>&")], 1)


@pytest.mark.parametrize("span_ms", [1, 1000, 3_600_000, 90 * _DAY, 4000 * _DAY])
def test_an_axis_says_a_date_or_a_year(span_ms: int) -> None:
    start = 1_795_823_100_000
    assert "202" in draw_time_axis(Span(low=start, high=start + span_ms), 0)
