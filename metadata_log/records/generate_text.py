"""The common part of the generators: indented lines of text, and the names of Structs and functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from metadata_log.records.wire import FIXED_SIZES, Field, schema_of

STRUCT_CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "float64": "d",
    "uuid": "16s",
}
"""The wire forms of fixed size as the struct module writes them."""

_NAME_LETTERS = STRUCT_CODES | {"bool": "t", "uuid": "u"}


class Lines:
    """Python text under construction."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._depth = 0

    def add(self, line: str) -> None:
        """Add a line at the current depth."""
        self.text.append("    " * self._depth + line)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Indent the lines of the block by one level."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that ends with a colon, and indent the lines of the block."""
        self.add(head)
        with self.deeper():
            yield


def is_fixed(field: Field) -> bool:
    """Return True if the field always has the same number of bytes."""
    return field.wire_type in FIXED_SIZES and not field.is_array


def fixed_runs(fields: Sequence[Field]) -> list[list[Field]]:
    """Return the fields in order, with adjacent fields of fixed size in one list."""
    runs: list[list[Field]] = []
    for field in fields:
        if runs and is_fixed(field) and is_fixed(runs[-1][-1]):
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


def struct_name(run: Sequence[Field]) -> str:
    """Return the name of the Struct for these fields."""
    return "_S_" + "".join(_NAME_LETTERS[field.wire_type] for field in run)


def struct_format(run: Sequence[Field]) -> str:
    """Return the format of the Struct for these fields."""
    return ">" + "".join(STRUCT_CODES[field.wire_type] for field in run)


def element_name(element: type[msgspec.Struct], version: int) -> str:
    """Return the name of a struct's form in this version of the record; versions of equal form share a name."""
    shape = max((field.since for field in schema_of(element).fields if field.since <= version), default=0)
    return f"{element.__name__}_{shape}"


def default_text(field: Field) -> str:
    """Return the default as Python text."""
    return repr(field.default)
