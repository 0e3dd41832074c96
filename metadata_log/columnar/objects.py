"""Arrow arrays of decoded records and of their fields, one value at a time: for what `decode` leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.columnar.types import arrow_type, struct_type
from metadata_log.ids import id_text
from metadata_log.records.wire import Field, schema_of


def records_array(record: type[msgspec.Struct], records: Sequence[msgspec.Struct | None]) -> pa.StructArray:
    """Return records of one class as an Arrow array of structs; None gives null."""
    convert = _struct_converter(record)
    return pa.array([None if one is None else convert(one) for one in records], struct_type(record))


def objects_array(field: Field, values: Sequence[Any]) -> pa.Array:
    """Return values of one field as an Arrow array."""
    convert = _converter(field)
    return pa.array([None if value is None else convert(value) for value in values], arrow_type(field))


def _converter(field: Field) -> Callable[[Any], Any]:
    if field.wire_type == "uuid":
        one: Callable[[Any], Any] = id_text
    elif field.element is not None:
        one = _struct_converter(field.element)
    else:
        one = _same
    return partial(_each, one) if field.is_array else one


def _same(value: Any) -> Any:
    return value


def _each(convert: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    return [convert(value) for value in values]


def _struct_converter(record: type[msgspec.Struct]) -> Callable[[msgspec.Struct], dict[str, Any]]:
    fields = [(field.name, _converter(field)) for field in schema_of(record).fields]

    def convert(one: msgspec.Struct) -> dict[str, Any]:
        return {
            name: None if (value := getattr(one, name)) is None else convert_field(value)
            for name, convert_field in fields
        }

    return convert
