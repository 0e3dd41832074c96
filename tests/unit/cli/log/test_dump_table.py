from __future__ import annotations

import pytest

from metadata_log.tools.dump.rows import TextRow
from quorum.cli.log.dump_table import folded, head, row_text

DATA = '{"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","replicas":[1,2,3],"isr":[1,2,3],"text":"' + "x" * 300 + '"}'
ROW = TextRow(
    position=0,
    offset=12,
    epoch=3,
    timestamp_ms=1_700_000_000_000,
    is_control=False,
    type="BROKER_REGISTRATION_CHANGE_RECORD",
    version=2,
    data=DATA,
)


def test_in_a_pipe_a_row_is_one_line() -> None:
    text = row_text(ROW, None)
    assert text.count("\n") == 1
    assert text.endswith(f"{DATA}\n")


@pytest.mark.parametrize("width", [80, 100, 129, 130, 200])
def test_on_a_terminal_no_line_is_wider_and_nothing_is_cut(width: int) -> None:
    lines = row_text(ROW, width).splitlines()
    assert max(map(len, [*lines, *head(width).splitlines()])) <= width
    below = "".join(line.strip() for line in lines[1:])
    assert DATA in "".join(lines[0].split()[-1:]) + below
    assert lines[0].split()[:2] == ["12", "3"]
    assert "2" in (lines[0].split()[4] if width >= 130 else lines[1].split()[1])


def test_a_record_that_cannot_be_read_has_its_error() -> None:
    row = TextRow(
        position=0, offset=1, epoch=0, timestamp_ms=-1, is_control=False, type="?", version=None, data=None, error="CRC"
    )
    assert row_text(row, 80).splitlines()[1].strip() == "CRC"


@pytest.mark.parametrize("text", ["", "a", "a,b", "x" * 25, "one two, three four five", ","])
def test_folding_loses_no_character(text: str) -> None:
    parts = folded(text, 10)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert max(map(len, parts)) <= 10
