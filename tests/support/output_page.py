"""docs/output.md: its statements on each command's JSON and tables; and the list of commands."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from typer.main import get_command

from quorum.cli.app import build_app
from quorum.cli.main import COMMANDS

PAGE: Final = Path(__file__).parents[2] / "docs" / "output.md"
_ROW: Final = re.compile(r"^\| (`kraft [^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
_MANIFEST: Final = "the manifest's keys"


class Described(NamedTuple):
    """A row of the page. `has_manifest`: its JSON includes a manifest, which has its own version."""

    keys: frozenset[str]
    has_manifest: bool
    as_lines: str
    headings: tuple[tuple[str, ...], ...]


def described() -> dict[str, Described]:
    """Return the rows of the page's table, by command; a row with several commands counts for each."""
    found: dict[str, Described] = {}
    for commands, keys, lines, headings in _ROW.findall(PAGE.read_text()):
        row = Described(
            keys=frozenset(re.findall(r"`([a-z0-9_]+)(?:\[\])?`", keys)),
            has_manifest=_MANIFEST in keys,
            as_lines=lines,
            headings=tuple(tuple(re.findall(r"\w+", table)) for table in headings.split(";")),
        )
        first, *others = re.findall(r"`([^`]+)`", commands)
        group = first.rpartition(" ")[0]
        for name in (first, *(other if other.startswith("kraft ") else f"{group} {other}" for other in others)):
            assert name not in found, f"{name} has two rows"
            found[name] = row
    return found


def begins_with_a_table(row: Described) -> bool:
    """Return True if the page has the headings of the command's first table. Each begins with a capital."""
    return all(heading[0].isupper() for heading in row.headings[0])


def commands_with(form: str) -> set[str]:
    """Return the commands whose `-o` takes this form."""
    return {f"kraft {words}" for words, forms in all_commands().items() if form in forms}


@functools.cache
def all_commands() -> Mapping[str, Sequence[str]]:
    """Return every command, without `kraft`, and the forms that its `-o` takes: from the command line's own tree."""
    found: dict[str, Sequence[str]] = {}
    for name in COMMANDS:
        tree: Any = get_command(build_app([name], COMMANDS))
        found |= _leaves(tree.commands[name], [name])
    return found


def _leaves(command: Any, words: list[str]) -> Iterator[tuple[str, Sequence[str]]]:
    below = getattr(command, "commands", None)
    if below:
        for name, one in below.items():
            yield from _leaves(one, [*words, name])
        return
    forms = next((one.type.choices for one in command.params if "-o" in one.opts), ())
    yield " ".join(words), [getattr(form, "value", form) for form in forms]
