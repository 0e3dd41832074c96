"""Compares audit files of version 1 and 2 by the fields that both have.

Sentences are not compared: a later release may word them better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_SENTENCES: Final = frozenset({"text", "why", "proof", "not_checked", "asked"})
_ADDED: Final = frozenset({"proven"})
"""Facts that no file of version 1 has."""
_ADDED_TO_STEPS: Final = "recover"
"""The commands of a step as data, which no file of version 1 has."""
_EMPTY: Final = (None, [], {}, -1)
"""Values that version 2 leaves out among the facts."""


def differences(first: Mapping[str, object], second: Mapping[str, object]) -> list[str]:
    """Return the fields in which an audit file of version 1 differs from one of version 2, as lines."""
    assert (first["format_version"], second["format_version"]) == (1, 2)
    return [
        *_differing("", {**first, "format_version": 0, "facts": {}}, {**second, "format_version": 0, "facts": {}}),
        *_differing_facts(first["facts"], second["facts"]),
    ]


def _differing_facts(first: object, second: object) -> Iterator[str]:
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    for name in sorted({*first, *second} - _ADDED):
        path, one, two = f"facts.{name}", first.get(name), second.get(name)
        if name == "may_lose":
            if (one is None) != (two is None):
                yield f"{path}: {one} and {two}"
        elif one not in _EMPTY or two not in _EMPTY:
            yield from _differing(path, one, two)


def _differing(path: str, first: object, second: object) -> Iterator[str]:
    if path.rpartition(".")[2] in {*_SENTENCES, _ADDED_TO_STEPS}:
        return
    if isinstance(first, dict) and isinstance(second, dict):
        for name in sorted({*first, *second}):
            yield from _differing(f"{path}.{name}", first.get(name), second.get(name))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, (one, two) in enumerate(zip(first, second, strict=True)):
            yield from _differing(f"{path}[{number}]", one, two)
    elif first != second:
        yield f"{path}: {first} and {second}"
