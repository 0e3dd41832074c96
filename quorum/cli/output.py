"""The output of commands: a table for people, JSON for programs.

Decides: the form of every command's JSON (an object that begins with its `schema_version`), and headings of tables.
docs/output.md is the reference for both.
"""

from __future__ import annotations

import enum
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, TypeVar, cast

import typer

from metadata_log.tools.times import time_text
from metadata_log.tools.words import heading_of
from quorum.cli.streams import Terminal
from quorum.cli.tables import table_lines, text_of
from quorum.plain_text import for_terminal, on_one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_PIPE_WIDTH: Final = 140
"""A pipe has no width, and a folded table is hard to search."""


SCHEMA_VERSION: Final = 1
"""The version of the JSON of all commands; docs/output.md says when it rises."""
OF_A_LOG: Final = {"start_offset": "LogStartOffset", "end_offset": "LogEndOffset"}
"""Kafka's headings of a log's offsets. Elsewhere these keys mean other things, such as a snapshot's end."""
OF_TOPICS: Final = {"partitions": "PartitionCount"}
"""Kafka's heading of the number of a topic's partitions."""
_AS_KEYS: Final[Mapping[str, str]] = {}


class _Answer:
    """The state of the running command's output: whether `-o json` was given, and whether JSON was printed."""

    is_json = False
    is_begun = False


_answer: Final = _Answer()


_Format = TypeVar("_Format", bound=enum.StrEnum)


def as_asked(form: _Format) -> _Format:
    """Return the value of `-o`, and remember it: a command that fails reports its error in that form."""
    _answer.is_json = form.value == OutputFormat.JSON.value
    return form


class OutputFormat(enum.StrEnum):
    """The values of `-o`."""

    TABLE = "table"
    JSON = "json"


Output = Annotated[
    OutputFormat,
    typer.Option(
        "-o", "--output", help="table for people, json for programs.", case_sensitive=False, callback=as_asked
    ),
]


class RowFormat(enum.StrEnum):
    """The values of `-o` for output that is rows or a stream."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


RowOutput = Annotated[
    RowFormat,
    typer.Option(
        "-o",
        "--output",
        help="table for people; json: one object; jsonl: an object a line.",
        case_sensitive=False,
        callback=as_asked,
    ),
]


def show_rows(
    output: OutputFormat | RowFormat,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    *,
    name: str,
    empty: str = "nothing",
    headings: Mapping[str, str] = _AS_KEYS,
) -> None:
    """Print one row a line. `columns` are keys of the rows, in order. JSON holds the whole rows, under `name`."""
    if output == RowFormat.JSON:
        show_json({name: list(rows)})
        return
    if output == RowFormat.JSONL:
        for row in rows:
            show_json_line(row)
        return
    if not rows:
        print(empty)
        return
    print_table(columns, rows, headings)


def show_object(output: OutputFormat, fields: Mapping[str, object], headings: Mapping[str, str] = _AS_KEYS) -> None:
    """Print one object: `Heading: value` lines, or JSON."""
    if output is OutputFormat.JSON:
        show_json(fields)
        return
    for line in object_lines(fields, headings):
        print(line)


def object_lines(fields: Mapping[str, object], headings: Mapping[str, str] = _AS_KEYS) -> list[str]:
    """Return the `Heading: value` lines of one object. Values are aligned; one of several lines stays in its column."""
    titles = {key: headings.get(key) or heading_of(key) for key in fields}
    width = max(map(len, titles.values())) + 2
    return [
        f"{name:<{width}}{line}"
        for key, value in fields.items()
        for name, line in zip_longest((f"{titles[key]}:",), text_of(value).split("\n"), fillvalue="")
    ]


def document(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields as a command's JSON has them: after its `schema_version`."""
    return {"schema_version": SCHEMA_VERSION, **fields}


def with_times(fields: Mapping[str, object], *keys: str) -> dict[str, object]:
    """Return the fields with an ISO 8601 time behind each of `keys`, in objects below, too.

    A key that ends in `_ms` is in ms since 1970; the key of its ISO 8601 time is without that suffix.
    """
    shown: dict[str, object] = {}
    for key, value in fields.items():
        shown[key] = _with_times_below(value, keys)
        if key in keys:
            shown[key.removesuffix("_ms")] = time_text(value) if isinstance(value, int) and value >= 0 else None
    return shown


def _with_times_below(value: object, keys: tuple[str, ...]) -> object:
    if isinstance(value, dict):
        return with_times(value, *keys)
    return [_with_times_below(each, keys) for each in value] if isinstance(value, list | tuple) else value


def show_json(fields: Mapping[str, object]) -> None:
    """Print a command's JSON: indented on a terminal, on one line in a pipe."""
    _answer.is_begun = True
    print(_json(document(fields), indent=2 if sys.stdout.isatty() else None))


def begin_answer() -> None:
    """Forget the output of an earlier command of this process."""
    _answer.is_json = _answer.is_begun = False


def show_failure(sentence: str) -> None:
    """Print `{"error": sentence}` if `-o json` was given and no JSON was printed yet."""
    if _answer.is_json and not _answer.is_begun:
        show_json({"error": sentence})


def show_json_line(fields: Mapping[str, object]) -> None:
    """Print one object of a stream, on one line."""
    print(_json(document(fields)))


def _json(value: Mapping[str, object], indent: int | None = None) -> str:
    """Return the JSON text. Undecodable bytes of a name keep Python's escape: `\\udcff` is the byte 0xff."""
    return json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def shown(text: str) -> str:
    """Return the text on one line, with control characters escaped, as in `\\x1b`."""
    return on_one_line(text)


def terminal_console(**options: Any) -> Console:
    """Return a console of rich's for standard output, which escapes control characters in foreign text."""
    from rich.console import Console, ConsoleOptions  # noqa: PLC0415  (only some commands show such)
    from rich.segment import Segment  # noqa: PLC0415

    class Escaping(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(for_terminal(segment.text), segment.style)

    out = sys.stdout
    return Escaping(file=cast("TextIO", out.trusted) if isinstance(out, Terminal) else None, **options)


def plain_lines(what: RenderableType) -> list[str]:
    """Return the output that rich would print, as lines without colours for a pipe."""
    from rich.console import Console  # noqa: PLC0415  (only some commands show such)

    console = Console(file=io.StringIO(), width=_PIPE_WIDTH, highlight=False, no_color=True)
    with console.capture() as captured:
        console.print(what)
    return [line.rstrip() for line in captured.get().splitlines()]


def print_table(
    columns: Sequence[str], rows: Sequence[Mapping[str, object]], headings: Mapping[str, str] = _AS_KEYS
) -> None:
    """Print rows under their columns, numbers to the right."""
    for line in table_lines(columns, rows, headings):
        print(line)
