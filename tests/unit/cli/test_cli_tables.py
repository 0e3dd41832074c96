"""Tables and sentences take the width of the terminal, and lose nothing at any."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.cli.tables import table_lines, wrapped
from tests.support.lost_end import lost_end_nodes
from tests.support.on_a_terminal import on_a_terminal

_COLUMNS: Final = ("node", "path", "fault", "epoch")
_LONG: Final = "the log ends at offset 104, but a file beside it proves that it reached 107 and that all was committed"
_ROWS: Final = (
    {"node": 1, "path": "a/node-1", "fault": _LONG, "epoch": 7},
    {"node": 2, "path": "a/node-2", "fault": None, "epoch": 7},
)


def test_a_long_cell_is_wrapped_in_its_column() -> None:
    assert table_lines(_COLUMNS, _ROWS, width=70) == [
        "Node  Path      Fault                                            Epoch",
        "   1  a/node-1  the log ends at offset 104, but a file beside        7",
        "                it proves that it reached 107 and that all was",
        "                committed",
        "   2  a/node-2  -                                                    7",
    ]


def test_columns_without_room_go_below_their_row() -> None:
    assert table_lines(_COLUMNS, _ROWS, width=40) == [
        "Node  Path",
        "   1  a/node-1",
        "      Fault: the log ends at offset 104,",
        "        but a file beside it proves that",
        "        it reached 107 and that all was",
        "        committed",
        "      Epoch: 7",
        "   2  a/node-2",
        "      Epoch: 7",
    ]


def test_a_table_with_room_is_one_line_a_row() -> None:
    assert table_lines(_COLUMNS, _ROWS, width=400) == table_lines(_COLUMNS, _ROWS)
    assert [len(line.splitlines()) for line in table_lines(_COLUMNS, _ROWS, width=400)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("short", ["short"]),
        ("Committed: all before 108.", ["Committed: all", "  before 108."]),
        ("    loses offsets 104 to 108", ["    loses offsets", "      104 to 108"]),
        ("  1. Start controllers 1, 2", ["  1. Start", "     controllers", "     1, 2"]),
        ("  → keep it and start nothing", ["  → keep it and", "    start nothing"]),
        ("  a/path/that/is/longer/than/it is", ["  a/path/that/is/longer/than/it", "    is"]),
    ],
)
def test_a_sentence_goes_on_below_its_begin(line: str, lines: list[str]) -> None:
    assert wrapped(line, 18) == lines


_CELLS: Final = st.none() | st.integers(0, 10**6) | st.text("abc /", max_size=80)


@given(st.lists(st.lists(_CELLS, min_size=4, max_size=4), min_size=1, max_size=4), st.integers(1, 200))
def test_no_word_is_lost_or_cut_at_any_width(cells: list[list[object]], width: int) -> None:
    names = ("w", "x", "y", "z")
    lines = table_lines(names, [dict(zip(names, row, strict=True)) for row in cells], width=width)
    words = sorted(word for row in cells for cell in row if cell is not None for word in str(cell).split())
    shown = sorted(
        word
        for line in lines[1:]
        for word in line.split()
        if word not in ("-", *(f"{name.upper()}:" for name in names))
    )
    assert shown == words
    longest = max(map(len, words), default=0)
    assert all(len(line) <= max(width, longest + len("        z: ")) for line in lines)


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_inspect_fits_the_terminal(columns: int, tmp_path: Path) -> None:
    nodes = [str(node) for node in sorted(lost_end_nodes(tmp_path).iterdir())]
    (said,) = on_a_terminal([["recover", "inspect", *nodes]], COLUMNS=str(columns))
    lines = said.decode().splitlines()
    wider = [line for line in lines if len(line) > columns and not line.lstrip().startswith("kraft recover ")]
    assert [line for line in wider if len(line.split()) > 2] == []  # `path: ` and what cannot be broken
    assert "00000000000000000107.snapshot proves that it reached 107" in " ".join(said.decode().split())
