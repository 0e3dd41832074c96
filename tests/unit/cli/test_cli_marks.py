"""`kraft analyze --mark`: a mark that cannot be put on an axis is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.main import run


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("2026-01-31T12:00:00", "no text; write a time, = and a text"),
        ("2026-01-31T12:00:00=  ", "no text; write a time, = and a text"),
        ("=rack B lost power", "nothing is no time"),
        ("noon=rack B lost power", "noon is no time: write UTC as 2026-01-31T12:00:00"),
        ("99999999999999999999=late", "99999999999999999999 is no time between 1970 and 9999"),
        ("1960-01-01T00:00:00=early", "1960-01-01T00:00:00 is no time between 1970 and 9999"),
    ],
)
def test_a_mark_without_time_or_text_is_refused(
    mark: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", str(tmp_path), "--mark", mark]) == 2
    said = capsys.readouterr().err
    assert f"--mark {mark}" in said
    assert why in said
    assert "Spark" not in said
