"""Records as Kafka's tools print them: JSON names, the order of keys, and the very text.

`data_of` gives plain Python values for whoever writes JSON of their own; `json_text` is byte for byte what Kafka's
JSON converters and Jackson make of the same record. A tagged field is left out at its default; every other field of
the version is there, null included. Nothing here knows bytes or offsets.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from metadata_log.ids import id_text
from metadata_log.records.json_values import double_text, string_text
from metadata_log.records.registry import ControlRecord, MetadataRecord
from metadata_log.records.wire import Field, constant_case, schema_of

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_CONSTANTS: Final = {None: "null", True: "true", False: "false"}


def type_name(record_type: type[MetadataRecord]) -> str:
    """The type as Kafka's tools name it: "PARTITION_RECORD"."""
    return constant_case(record_type.__name__)


def data_of(record: MetadataRecord | ControlRecord, version: int) -> dict[str, JsonValue]:
    """The fields of this version under Kafka's names, in Kafka's order; ids as text, bytes as base64."""
    return _data(record, version)


def json_text(value: JsonValue) -> str:
    """The text that Kafka's tools print for this value: no spaces, only what must be is escaped, doubles as Java has
    them.
    """
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(name)}:{json_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, float):
        return double_text(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return str(value)


def _data(record: msgspec.Struct, version: int) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {}
    for field, convert in _plan(type(record), version):
        value = getattr(record, field.name)
        if field.tag is None or value != field.default:
            data[field.json_name] = None if value is None else convert(value)
    return data


@functools.cache
def _plan(record_type: type[msgspec.Struct], version: int) -> tuple[tuple[Field, Callable[[Any], JsonValue]], ...]:
    fields = [field for field in schema_of(record_type).fields if field.since <= version]
    return tuple((field, _converter(field, version)) for field in fields)


def _converter(field: Field, version: int) -> Callable[[Any], JsonValue]:
    one = _one_converter(field, version)
    if field.is_array:
        return lambda values: [one(value) for value in values]
    return one


def _one_converter(field: Field, version: int) -> Callable[[Any], JsonValue]:
    if field.wire_type == "uuid":
        return id_text
    if field.wire_type == "bytes":
        return lambda value: base64.b64encode(value).decode("ascii")
    if field.wire_type == "struct":
        return lambda value: _data(value, version)
    return lambda value: value
