"""The JSON that commands print: its version, its keys, and the form of a previous release."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from quorum.cli.output import SCHEMA_VERSION

_SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_OF_DATA: Final = frozenset({"added", "configs", "data", "features", "overrides", "records", "tree"})
"""Names of objects whose keys are data: names of configs and features, types of records, paths; a record's fields."""


def document(text: str) -> dict[str, Any]:
    """Return a command's JSON without its version, which must be there first; every key must be in snake case."""
    found: dict[str, Any] = json.loads(text)
    assert next(iter(found)) == "schema_version", found
    assert found.pop("schema_version") == SCHEMA_VERSION
    assert list(wrong_keys(found)) == []
    return found


def rows_of_either(text: str, name: str) -> list[Any]:
    """Return the rows that a command of this or of the previous release prints: `name` of an object, or a list."""
    found = json.loads(text)
    rows: list[Any] = found if isinstance(found, list) else found[name]
    return rows


def wrong_keys(value: object) -> Iterator[str]:
    """Yield the keys that are not in snake case, except those that are data."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not _SNAKE.fullmatch(key):
                yield key
            if key not in _OF_DATA or isinstance(inner, list):
                yield from wrong_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from wrong_keys(inner)
