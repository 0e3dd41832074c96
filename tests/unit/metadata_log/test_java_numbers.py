"""Java's numbers: the texts that Kafka 4.3 on Java 17 accepted as one, and those that it rejected."""

from __future__ import annotations

import math

import pytest

from metadata_log.java_text import java_double, java_int


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+21", 21),
        ("021", 21),
        ("0" * 30_000 + "7", 7),
        ("\u0661\u0660\u0660", 100),
        ("\uff15", 5),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("2147483648", None),
        ("9" * 30_000, None),
        ("-" + "9" * 5_000, None),
        ("\U0001d7ce", None),
        ("", None),
        ("-", None),
        ("+-1", None),
        (" 1", None),
        ("1_0", None),
        ("\u00b2", None),
    ],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert java_int(text, 32) == number


def test_longs_are_wider() -> None:
    assert java_int("9223372036854775807", 64) == (1 << 63) - 1
    assert java_int("9223372036854775808", 64) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", 0.5),
        (" 0.5\t", 0.5),
        (".5f", 0.5),
        ("1d", 1.0),
        ("1.", 1.0),
        ("5e-1D", 0.5),
        ("0x1p-1", 0.5),
        ("-0X.8P0f", -0.5),
        ("1e-9999999999999", 0.0),
        ("0x0p9999999999999", 0.0),
        ("Infinity", math.inf),
        ("1e999", math.inf),
        ("-0x1p9999", -math.inf),
        ("9" * 30_000, math.inf),
        ("9" * 30_000 + "x", None),
        ("0x" + "9" * 30_000 + "x", None),
        ("0x1", None),
        ("0_5", None),
        ("inf", None),
        ("nan", None),
        ("NaNd", None),
        ("\u0661", None),
        ("\u00a00.5", None),
        ("", None),
    ],
)
def test_floating_point_numbers(text: str, number: float | None) -> None:
    assert java_double(text) == number


def test_no_number_at_all_is_one_to_java() -> None:
    assert math.isnan(java_double("-NaN") or 0)
