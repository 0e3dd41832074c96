"""Times as people write and read them: UTC, with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

PAST_THE_CALENDAR_MS: Final = 253_402_300_800_000
"""The first millisecond of the year 10,000."""


def parse_time_ms(text: str) -> int:
    """Return ms since 1970 for `2026-01-31T12:00:00[.123][+01:00]`, UTC by default. Digits alone are ms.

    Raises:
        ValueError: the text is no time.
    """
    if text.isdecimal() and text.isascii():
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("write UTC as 2026-01-31T12:00:00, or milliseconds since 1970") from None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def clock_text(time_ms: int) -> str:
    """Return `12:00:00`, for a day that is written elsewhere; like `time_text` if there is no such time."""
    whole = time_text(time_ms)
    return whole[11:19] if whole.endswith("Z") else whole


def time_text(time_ms: int) -> str:
    """Return `2026-01-31T12:00:00.123Z`, or "no time" for a negative time, as of an empty log.

    A time past the year 9999, which only corruption makes, is written as its number.
    """
    if time_ms < 0:
        return "no time"
    if time_ms >= PAST_THE_CALENDAR_MS:
        return f"{time_ms} ms since 1970"
    at = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"
