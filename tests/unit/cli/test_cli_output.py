"""Tables for people, JSON for programs."""

from __future__ import annotations

import json

import pytest
from rich.table import Table

from quorum.cli.output import (
    OF_A_LOG,
    SCHEMA_VERSION,
    OutputFormat,
    RowFormat,
    plain_lines,
    show_object,
    show_rows,
    with_times,
)
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
        "Name    Count  Note",
        "a           5  -",
        "longer     12  x",
    ]


def test_json_holds_what_the_table_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "a", "hidden": [1]}]
    show_rows(OutputFormat.JSON, ("name",), rows, name="things")
    assert json.loads(capsys.readouterr().out) == {"schema_version": SCHEMA_VERSION, "things": rows}
    show_rows(OutputFormat.TABLE, ("name",), rows, name="things")
    assert capsys.readouterr().out == "Name\na\n"


def test_each_line_of_a_stream_has_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(RowFormat.JSONL, ("name",), [{"name": "a"}, {"name": "b"}], name="things")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [list(line) for line in lines] == [["schema_version", "name"]] * 2


@pytest.mark.parametrize(
    ("key", "heading"),
    [("log_end_offset", "LogEndOffset"), ("isr", "Isr"), ("last_known_elr", "LastKnownElr")],
)
def test_headings_are_written_as_kafkas(key: str, heading: str) -> None:
    assert table_lines((key,), [])[0] == heading


def test_kafkas_heading_goes_before_the_key() -> None:
    assert table_lines(("end_offset",), [], OF_A_LOG) == ["LogEndOffset"]
    assert table_lines(("end_offset",), []) == ["EndOffset"]


def test_a_time_is_behind_its_milliseconds() -> None:
    assert with_times({"all": [{"at_ms": 0}]}, "at_ms") == {"all": [{"at_ms": 0, "at": "1970-01-01T00:00:00.000Z"}]}
    fields = {"at_ms": 1_700_000_000_123, "delay_ms": 5, "never_ms": -1, "unknown_ms": None}
    assert list(with_times(fields, "at_ms", "never_ms", "unknown_ms").items()) == [
        ("at_ms", 1_700_000_000_123),
        ("at", "2023-11-14T22:13:20.123Z"),
        ("delay_ms", 5),
        ("never_ms", -1),
        ("never", None),
        ("unknown_ms", None),
        ("unknown", None),
    ]


def test_no_rows_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(OutputFormat.TABLE, ("name",), [], name="things", empty="There are none.")
    assert capsys.readouterr().out == "There are none.\n"
    show_rows(OutputFormat.JSON, ("name",), [], name="things")
    assert json.loads(capsys.readouterr().out)["things"] == []


def test_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    show_object(OutputFormat.TABLE, {"cluster_id": "x", "voters": [1, 2]})
    assert capsys.readouterr().out == "ClusterId: x\nVoters:    1,2\n"


def test_a_pipe_gets_no_colours_no_folds_and_no_blanks_at_the_end() -> None:
    table = Table(box=None, pad_edge=False, header_style="bold red")
    table.add_column("a")
    table.add_column("b")
    table.add_row("x" * 100, "y")
    assert plain_lines(table) == ["a" + " " * 101 + "b", "x" * 100 + "  y"]
