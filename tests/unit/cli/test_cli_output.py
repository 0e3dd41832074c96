"""Tables for people, JSON for programs."""

from __future__ import annotations

import json

import pytest
from rich.table import Table

from quorum.cli.output import OutputFormat, plain_lines, show_object, show_rows
from quorum.cli.tables import table_lines, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (True, "yes"), (False, "no"), ((), "-"), ([1, 2], "1,2"), ("a", "a"), (0, "0")],
)
def test_a_cell(value: object, text: str) -> None:
    assert text_of(value) == text


def test_numbers_stand_to_the_right_and_lines_end_with_their_text() -> None:
    rows = [{"name": "a", "count": 5, "note": None}, {"name": "longer", "count": 12, "note": "x"}]
    assert table_lines(("name", "count", "note"), rows) == [
        "name    count  note",
        "a           5  -",
        "longer     12  x",
    ]


def test_json_holds_what_the_table_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "a", "hidden": [1]}]
    show_rows(OutputFormat.JSON, ("name",), rows)
    assert json.loads(capsys.readouterr().out) == rows
    show_rows(OutputFormat.TABLE, ("name",), rows)
    assert capsys.readouterr().out == "name\na\n"


def test_no_rows_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(OutputFormat.TABLE, ("name",), [], empty="There are none.")
    assert capsys.readouterr().out == "There are none.\n"
    show_rows(OutputFormat.JSON, ("name",), [])
    assert json.loads(capsys.readouterr().out) == []


def test_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    show_object(OutputFormat.TABLE, {"ClusterId": "x", "Voters": [1, 2]})
    assert capsys.readouterr().out == "ClusterId: x\nVoters:    1,2\n"


def test_a_pipe_gets_no_colours_no_folds_and_no_blanks_at_the_end() -> None:
    table = Table(box=None, pad_edge=False, header_style="bold red")
    table.add_column("a")
    table.add_column("b")
    table.add_row("x" * 100, "y")
    assert plain_lines(table) == ["a" + " " * 101 + "b", "x" * 100 + "  y"]
