"""The commands that the product's texts name exist, with the options that they name."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.main import get_command

from quorum.cli.app import build_app
from quorum.cli.main import COMMANDS
from tests.architecture.messages_page import GENERATED, PACKAGES, messages_of

ROOT: Final = Path(__file__).parents[2]
_USE: Final = re.compile(r"(?<![\w/.-])kraft(?= [a-z{])((?:(?! kraft )[^`;,()])*)")
_NAMES: Final = re.compile(r"kraft [a-z{]|\"kraft\", ")
_WORD: Final = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_THE_PROGRAM: Final = frozenset({"of", "or", "that"})
"""Words after `kraft` where a text means the program: "a kraft of that release"."""
_THE_GROUP: Final = frozenset({"recover brings"})
"""Texts that mean a group of commands as a whole."""


@functools.cache
def _tree(name: str) -> Any:
    """Return the command or the group of this name."""
    tree: Any = get_command(build_app([name], COMMANDS))
    return tree.commands[name]


def _below(name: str) -> dict[str, Any]:
    """Return the commands of a group by name; none if there is no such group."""
    return getattr(_tree(name), "commands", None) or {} if name in COMMANDS else {}


def _options(words: str) -> frozenset[str] | None:
    """Return the options of a command, or of all commands of a group; None if there is no such command."""
    first, _, second = words.partition(" ")
    if first not in COMMANDS or (second and second not in _below(first)):
        return None
    below = _below(first)
    leaves = [below[second]] if second else list(below.values()) or [_tree(first)]
    found = {name for leaf in leaves for one in leaf.params for name in (*one.opts, *one.secondary_opts)}
    return frozenset(found | {"--help"})


def faults(text: str) -> Iterator[str]:
    """Yield how the commands in a text differ from those that exist."""
    for rest in _USE.findall(text):
        words = rest.split()
        if words[0] in _THE_PROGRAM or words[0].startswith("{"):
            continue
        first = words[0].rstrip(".:'")
        named = first
        if _below(first) and len(words) > 1 and words[0] == first and " ".join(words[:2]) not in _THE_GROUP:
            second = words[1].rstrip(".:'")
            named = f"{first} {second}" if _WORD.fullmatch(second) else first
        options = _options(named)
        if options is None:
            yield f"there is no command `kraft {named}`"
            continue
        lacking = [option for option in _OPTION.findall(rest) if option not in options]
        if lacking:
            yield f"`kraft {named}` has no option {', '.join(lacking)}"


def _as_words(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each command that is given word by word, as a program runs it."""
    for node in ast.walk(ast.parse(source)):
        words = node.elts if isinstance(node, ast.Tuple | ast.List) else node.args if isinstance(node, ast.Call) else []
        texts = [word.value if isinstance(word, ast.Constant) else None for word in words]
        if len(texts) > 1 and texts[0] == "kraft" and isinstance(texts[1], str):
            yield words[0].lineno, " ".join(str(text or "{}") for text in texts)


def _named() -> Iterator[tuple[str, int, str]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name, source = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            if _NAMES.search(source) and not GENERATED.search(name):
                yield from (message[:2] + message[3:] for message in messages_of(name, source))
                yield from ((name, *found) for found in _as_words(source))


def test_every_command_that_a_text_names_exists() -> None:
    named = [(path, line, text) for path, line, text in _named() if "kraft " in text]
    assert len(named) > 200
    wrong = [f"{path}:{line}: {fault}" for path, line, text in named for fault in faults(text)]
    assert not wrong, "\n".join(
        ["These texts send an operator to a command that is not there. Name one of `kraft --help`:", *wrong]
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run kraft recover inspect, then kraft log diff --at 3", ["`kraft log diff` has no option --at"]),
        ("run `kraft recover heal`", ["there is no command `kraft recover heal`"]),
        ("run `kraft recover heal --now`", ["there is no command `kraft recover heal`"]),
        ("kraft cluster unregister removes it", ["there is no command `kraft cluster unregister`"]),
        ("run kraft repair {path}", ["there is no command `kraft repair`"]),
        ("kraft check {path} --sideways", ["`kraft check` has no option --sideways"]),
        ("kraft storage audit DIR... --quarantine --to ELSEWHERE", []),
        ("use a kraft of that release, or kraft recover (`kraft recover {action} --apply`)", []),
    ],
)
def test_a_wrong_command_is_found(text: str, found: list[str]) -> None:
    assert list(faults(text)) == found
