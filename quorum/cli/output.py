"""How answers are shown: a table for people, JSON for programs."""

from __future__ import annotations

import enum
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, TypeVar, cast

import typer

from quorum.cli.streams import Terminal
from quorum.cli.tables import table_lines, text_of
from quorum.plain_text import for_terminal, on_one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_PIPE_WIDTH: Final = 140
"""In a pipe there is no width to ask for, and a folded table is hard to search in."""


class _Answer:
    """Of the command that runs in this process: whether one JSON value was asked for, and whether one was printed."""

    is_json = False
    is_begun = False


_answer: Final = _Answer()


_Format = TypeVar("_Format", bound=enum.StrEnum)


def as_asked(form: _Format) -> _Format:
    """What `-o` asks for; remembered, so that a command that cannot answer says so in that form."""
    _answer.is_json = form.value == OutputFormat.JSON.value
    return form


class OutputFormat(enum.StrEnum):
    """What `-o` takes."""

    TABLE = "table"
    JSON = "json"


Output = Annotated[
    OutputFormat,
    typer.Option(
        "-o", "--output", help="table for people, json for programs.", case_sensitive=False, callback=as_asked
    ),
]


class RowFormat(enum.StrEnum):
    """What `-o` takes where the answer is rows, or a stream of things."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


RowOutput = Annotated[
    RowFormat,
    typer.Option(
        "-o",
        "--output",
        help="table for people; json: one value; jsonl: one a line.",
        case_sensitive=False,
        callback=as_asked,
    ),
]


def show_rows(
    output: OutputFormat | RowFormat,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    *,
    empty: str = "nothing",
) -> None:
    """Print one row a line. `columns` are keys of the rows, in order; JSON holds the whole rows."""
    if output == RowFormat.JSON:
        show_json(list(rows))
        return
    if output == RowFormat.JSONL:
        for row in rows:
            show_json_line(row)
        return
    if not rows:
        print(empty)
        return
    print_table(columns, rows)


def show_object(output: OutputFormat, fields: Mapping[str, object]) -> None:
    """Print one thing: `Name: value` lines, or a JSON object."""
    if output is OutputFormat.JSON:
        show_json(fields)
        return
    for line in object_lines(fields):
        print(line)


def object_lines(fields: Mapping[str, object]) -> list[str]:
    """The `Name: value` lines of one thing, values under each other, also where one has several lines."""
    width = max(len(key) for key in fields) + 2
    return [
        f"{name:<{width}}{line}"
        for key, value in fields.items()
        for name, line in zip_longest((f"{key}:",), text_of(value).split("\n"), fillvalue="")
    ]


def show_json(value: object) -> None:
    """Print `value` as JSON: indented on a terminal, on one line in a pipe."""
    _answer.is_begun = True
    print(_json(value, indent=2 if sys.stdout.isatty() else None))


def begin_answer() -> None:
    """A command begins: nothing was asked for or printed yet."""
    _answer.is_json = _answer.is_begun = False


def show_failure(sentence: str) -> None:
    """Print `{"error": sentence}` in place of the JSON value that was asked for; nothing, if one was printed."""
    if _answer.is_json and not _answer.is_begun:
        show_json({"error": sentence})


def show_json_line(value: object) -> None:
    """Print `value` as JSON on one line."""
    print(_json(value))


def _json(value: object, indent: int | None = None) -> str:
    """Its JSON. Bytes of a name that is no UTF-8 are escaped as Python reads them again: `\\udcff` is the byte 0xff."""
    return json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def shown(text: str) -> str:
    """On one line, and without what a terminal would obey: a control character is escaped, as in `\\x1b`."""
    return on_one_line(text)


def terminal_console(**options: Any) -> Console:
    """Return a console of rich's for standard output, on which text of others is escaped as everywhere else."""
    from rich.console import Console, ConsoleOptions  # noqa: PLC0415  (only some commands show such)
    from rich.segment import Segment  # noqa: PLC0415

    class Escaping(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(for_terminal(segment.text), segment.style)

    out = sys.stdout
    return Escaping(file=cast("TextIO", out.trusted) if isinstance(out, Terminal) else None, **options)


def plain_lines(what: RenderableType) -> list[str]:
    """What rich would show of it, as lines without colours for a pipe."""
    from rich.console import Console  # noqa: PLC0415  (only some commands show such)

    console = Console(file=io.StringIO(), width=_PIPE_WIDTH, highlight=False, no_color=True)
    with console.capture() as captured:
        console.print(what)
    return [line.rstrip() for line in captured.get().splitlines()]


def print_table(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Print rows under their columns, numbers to the right."""
    for line in table_lines(columns, rows):
        print(line)
