"""Records in the JSON of Kafka's tools: names, the order of keys, and the exact text.

`data_of` returns plain Python values for other JSON writers. `json_text` equals the text of Kafka's JSON converters and
Jackson byte for byte. A tagged field at its default is left out; every other field of the version is present, including
null. Must not know: bytes or offsets.
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
    """Return the type's name in Kafka's tools: "PARTITION_RECORD"."""
    return constant_case(record_type.__name__)


def data_of(record: MetadataRecord | ControlRecord, version: int) -> dict[str, JsonValue]:
    """Return the fields of this version with Kafka's names and order; ids as text, bytes as base64."""
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
