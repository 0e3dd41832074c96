"""Times as text, and back: one form for all that is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.tools.times import clock_text, parse_time_ms, time_text

LAST_MS = 253_402_300_799_999


@given(st.integers(min_value=0, max_value=LAST_MS))
def test_what_is_written_is_read(time_ms: int) -> None:
    assert parse_time_ms(time_text(time_ms)) == time_ms
    assert clock_text(time_ms) == time_text(time_ms)[11:19]


def test_known_times() -> None:
    assert time_text(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert clock_text(1_700_000_000_123) == "22:13:20"
    assert parse_time_ms("2023-11-14T23:13:20.123+01:00") == parse_time_ms("1700000000123") == 1_700_000_000_123


@pytest.mark.parametrize(("time_ms", "text"), [(-1, "no time"), (LAST_MS + 1, f"{LAST_MS + 1} ms since 1970")])
def test_what_is_no_time_of_the_calendar_is_told_as_it_is(time_ms: int, text: str) -> None:
    assert time_text(time_ms) == clock_text(time_ms) == text


@pytest.mark.parametrize("text", ["", "yesterday", "12:00", "2026-02-30T00:00:00", "٣"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write UTC as"):
        parse_time_ms(text)
