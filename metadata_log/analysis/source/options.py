"""The options of the data source, and their checks: one sentence for each value that cannot be used.

Decides: names, defaults and forms of options. Must not know: Spark, and how files are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from metadata_log.analysis.errors import AnalysisError
from metadata_log.columnar.tables import RECORDS, AnyRecord, all_records, short_name, table_names

_NAMES: Final = (
    "path", "paths", "table", "clusters", "nodes", "types", "from", "to", "since", "until", "contents", "split_bytes",
    "secrets", "pushdown",
)  # fmt: skip
CONTENTS: Final = ("segments", "checkpoints", "all")
_SPLIT_BYTES: Final = 32 << 20
_LEAST_SPLIT: Final = 1 << 10


class SourceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The checked options of one read.

    Attributes:
        places: paths and URIs.
        table: the table's name.
        clusters: only logs of these clusters; empty: all.
        nodes: only logs of these nodes; empty: all.
        types: only records of these types; None: all but NoOps.
        first_offset: only rows from this offset on.
        end_offset: only rows of offsets below this one.
        since_ms: only rows from this time on, in ms since 1970.
        until_ms: only rows before this time, in ms since 1970.
        contents: `segments`, `checkpoints` or `all`. Rows of batches and records come from such files.
        split_bytes: a task reads about so many bytes.
        pushdown: take Spark's filters, which its configuration must enable.
        secrets: rows have keys of SCRAM credentials and secret values of configs.
    """

    places: tuple[str, ...]
    table: str = RECORDS
    clusters: frozenset[str] = frozenset()
    nodes: frozenset[int] = frozenset()
    types: tuple[AnyRecord, ...] | None = None
    first_offset: int | None = None
    end_offset: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    contents: str = CONTENTS[0]
    split_bytes: int = _SPLIT_BYTES
    secrets: bool = False
    pushdown: bool = False


def parse_options(options: Mapping[str, str]) -> SourceOptions:
    """Return the checked options.

    Raises:
        AnalysisError: an option is unknown, has a value that it cannot have, or no path is given.
    """
    given = {name.lower(): value for name, value in options.items()}
    for name in given:
        if name not in _NAMES:
            raise AnalysisError(f"{name}: no such option of kraft_metadata_log; there are {', '.join(_NAMES)}")
    return SourceOptions(
        places=_places(given),
        table=_one_of("table", given.get("table", RECORDS), table_names()),
        clusters=frozenset(_list(given.get("clusters", ""))),
        nodes=frozenset(_integer("nodes", one) for one in _list(given.get("nodes", ""))),
        types=_types(given.get("types")),
        first_offset=_optional_integer("from", given),
        end_offset=_optional_integer("to", given),
        since_ms=_time("since", given),
        until_ms=_time("until", given),
        contents=_one_of("contents", given.get("contents", CONTENTS[0]), CONTENTS),
        split_bytes=_split_bytes(given),
        secrets=_flag("secrets", given),
        pushdown=_flag("pushdown", given),
    )


def _places(given: Mapping[str, str]) -> tuple[str, ...]:
    places = [given["path"]] if given.get("path") else []
    if given.get("paths"):
        try:
            places += map(str, json.loads(given["paths"]))
        except ValueError as error:
            raise AnalysisError(f"paths is not a JSON array: {error}") from error
    if not places:
        raise AnalysisError("name the logs: load(PATH), with a metadata directory, an export, or a folder above them")
    return tuple(places)


def _list(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value.lower() not in known:
        raise AnalysisError(f"{name}={value}: it must be one of {', '.join(known)}")
    return value.lower()


def _flag(name: str, given: Mapping[str, str]) -> bool:
    return _one_of(name, given.get(name, "false"), ("true", "false")) == "true"


def _types(text: str | None) -> tuple[AnyRecord, ...] | None:
    if text is None:
        return None
    known = {short_name(record): record for record in all_records()}
    names = [_one_of("types", one.lower().removesuffix("_record"), list(known)) for one in _list(text)]
    return tuple(known[name] for name in names)


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise AnalysisError(f"{name}={text}: it must be a whole number") from error


def _optional_integer(name: str, given: Mapping[str, str]) -> int | None:
    return _integer(name, given[name]) if name in given else None


def _split_bytes(given: Mapping[str, str]) -> int:
    size = _integer("split_bytes", given.get("split_bytes", str(_SPLIT_BYTES)))
    if size < _LEAST_SPLIT:
        raise AnalysisError(f"split_bytes={size}: it must be {_LEAST_SPLIT} at least")
    return size


def _time(name: str, given: Mapping[str, Any]) -> int | None:
    """Return a time in ms since 1970: given so, or as ISO 8601; without a zone it is UTC."""
    text = given.get(name)
    if text is None:
        return None
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise AnalysisError(f"{name}={text}: it must be ms since 1970, or a time as 2026-11-28T12:00:00") from error
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
