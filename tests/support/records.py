"""Records of every type and version, derived from the declarations: by Hypothesis, and fixed ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from metadata_log.records import CONTROL_RECORDS, METADATA_RECORDS
from metadata_log.records.wire import Field, schema_of

_NUMBERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint16": st.integers(0, 2**16 - 1),
}
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    **_NUMBERS,
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "bytes": st.binary(max_size=200),
    "string": st.text(max_size=20) | st.text("abé", min_size=100, max_size=300),
}
_SAMPLES: dict[str, Any] = {
    "bool": True,
    "int8": -7,
    "int16": 513,
    "int32": 70_000,
    "int64": -(2**40),
    "uint16": 65_000,
    "float64": 0.1,
    "uuid": bytes(range(16)),
    "bytes": b"\x00\xffsalt",
    "string": 'a "b" \\ é \t\x01',
}
_LEAST: dict[str, Any] = {
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "bytes": b"",
    "string": "",
    **dict.fromkeys(_NUMBERS, 0),
}

METADATA_VERSIONS_OF = [(record, version) for record in METADATA_RECORDS.values() for version in record.VERSIONS]
"""Every metadata record class with each of its versions."""

CONTROL_VERSIONS_OF = [(record, version) for record in CONTROL_RECORDS.values() for version in record.VERSIONS]
"""Every control record class with each of its versions."""


def version_id(item: tuple[type[msgspec.Struct], int]) -> str:
    """Return the name of a record's test case."""
    return f"{item[0].__name__}-v{item[1]}"


@cache
def any_record(record: type[msgspec.Struct], version: int) -> st.SearchStrategy[Any]:
    """Return a strategy for any record of this class that this version can hold."""
    fields = [field for field in schema_of(record).fields if field.since <= version]
    values = {field.name: _strategy(record, field, version) for field in fields}
    return st.builds(record, **values)


def full_record(record: type[msgspec.Struct], version: int, elements: int = 3) -> Any:
    """Return a record with every field of the version set to a value that is not its default."""
    return _made(record, version, _SAMPLES, elements)


def bare_record(record: type[msgspec.Struct], version: int) -> Any:
    """Return a record with every field empty, null, zero or at its default."""
    required = [field for field in schema_of(record).fields if not field.has_default]
    values = {field.name: None if field.nullable else _value(field, version, _LEAST, 0) for field in required}
    if "version" in record.__struct_fields__:
        values["version"] = version
    return record(**values)


def _strategy(record: type[msgspec.Struct], field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.name == "version" and record in CONTROL_RECORDS.values():
        return st.just(version)
    one = _VALUES[field.wire_type] if field.element is None else any_record(field.element, version)
    if field.is_array:
        sizes = st.sampled_from((0, 1, 3, 14, 15, 16, 126, 127, 128)) if field.element is None else st.integers(0, 3)
        values: st.SearchStrategy[Any] = sizes.flatmap(
            lambda size: st.lists(one, min_size=min(size, 20), max_size=min(size, 20)).map(
                lambda items: tuple((items * size)[:size])
            )
        )
    else:
        values = one
    if field.nullable:
        values = st.none() | values
    if field.has_default:
        values = st.just(field.default) | values
    return values


def _made(record: type[msgspec.Struct], version: int, leaves: dict[str, Any], elements: int) -> Any:
    fields = [field for field in schema_of(record).fields if field.since <= version]
    values = {field.name: _value(field, version, leaves, elements) for field in fields}
    if record in CONTROL_RECORDS.values():
        values["version"] = version
    return record(**values)


def _value(field: Field, version: int, leaves: dict[str, Any], elements: int) -> Any:
    one = leaves[field.wire_type] if field.element is None else _made(field.element, version, leaves, elements)
    return (one,) * elements if field.is_array else one
