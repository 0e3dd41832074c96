"""Outputs that cannot be compared as they are, made text: tables in binary forms, and JSON in no certain order."""

from __future__ import annotations

import functools
import importlib
import io
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

BINARY_FORMS: Final = ("parquet", "arrow")
"""Forms of `kraft log dump -o`."""


def renderer_of(words: Sequence[str]) -> Callable[[bytes], str] | None:
    """Return what makes text of this command's output, or None if its output is compared as it is."""
    if words and words[-1] in BINARY_FORMS:
        return functools.partial(_table_text, words[-1])
    if "shell" in words[:1] and words[-2:] == ["-o", "json"]:
        return _sorted_json
    return None


def _sorted_json(data: bytes) -> str:
    """Return JSON with sorted keys: `tree` prints them in hash order, which differs between processes."""
    return "".join(
        f"{json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False)}\n" for line in data.splitlines()
    )


def _table_text(form: str, data: bytes) -> str:
    """Return the columns with their types, then a row a line."""
    if not data:
        return ""
    table = _table(form, data)
    columns = [f"{field.name}: {field.type}" for field in table.schema]
    rows = [json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist()]
    return "\n".join([*columns, *rows, ""])


def _table(form: str, data: bytes) -> Any:
    """Return the table of pyarrow, which is slow to import, and imported for a few cases alone."""
    if form == "parquet":
        return importlib.import_module("pyarrow.parquet").read_table(io.BytesIO(data))
    return importlib.import_module("pyarrow.ipc").open_stream(data).read_all()
