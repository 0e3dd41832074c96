"""Text can be read on each ground that it is drawn upon, light or dark; style sheets name known colours alone."""

from __future__ import annotations

import re

import pytest

from metadata_log.tools.pictures.palette import CHART_STYLE, COLOURS, PAGE_STYLE, page_style, picture_style

LEAST_FOR_TEXT = 4.5
"""Of WCAG 2.2, level AA."""
ON_GROUNDS = [
    *(("text", ground) for ground in ("page", "card", "epoch-a", "epoch-b", "unfenced", "good-soft", "bad-soft")),
    ("text", "note-soft"),
    ("muted", "page"),
    ("muted", "card"),
    ("good", "good-soft"),
    ("bad", "bad-soft"),
    ("bad", "card"),
    ("warn", "warn-soft"),
    ("note", "note-soft"),
]


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize(("text", "ground"), ON_GROUNDS)
def test_text_has_contrast(text: str, ground: str, is_dark: bool) -> None:
    assert _contrast(COLOURS[text][is_dark], COLOURS[ground][is_dark]) >= LEAST_FOR_TEXT


def test_contrast_is_as_defined() -> None:
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    assert _contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_style_sheets_name_no_other_colours() -> None:
    sheets = CHART_STYLE.read_text() + PAGE_STYLE.read_text()
    assert set(re.findall(r"var\(--([a-z0-9-]+)\)", sheets)) <= set(COLOURS)
    assert not re.search(r"#[0-9a-f]{6}\b", sheets)
    assert "url(" not in page_style()
    assert "@import" not in page_style()
    assert "var(" not in picture_style(is_light=False)
