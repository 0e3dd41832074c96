"""The Arrow type of each field of a record, as every table of records has it, and the text form of many ids at once."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.ids import ID_BYTES, id_text
from metadata_log.records.wire import Field, schema_of

ARROW_TYPES: Final = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint16": pa.uint16(), "float64": pa.float64(), "uuid": pa.string(), "string": pa.string(), "bytes": pa.binary(),
}  # fmt: skip
"""The Arrow type of each wire form. Ids are text in Kafka's form."""
_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
TEXT_BYTES: Final = len(id_text(bytes(ID_BYTES)))


def arrow_type(field: Field) -> pa.DataType:
    """Return the Arrow type of a field: a list for an array, a struct for a struct."""
    one = ARROW_TYPES[field.wire_type] if field.element is None else struct_type(field.element)
    return pa.list_(one) if field.is_array else one


def struct_type(record: type[msgspec.Struct]) -> pa.StructType:
    """Return the Arrow type of a record or of a struct in one: its fields in wire order."""
    return pa.struct([(field.name, arrow_type(field)) for field in schema_of(record).fields])


def id_texts(ids: npt.NDArray[Any]) -> pa.StringArray:
    """Return ids of 16 bytes each, of type V16, as Arrow strings: base64 for URLs, without padding."""
    count = len(ids)
    padded = np.zeros((count, 18), np.uint8)
    padded[:, :ID_BYTES] = np.ascontiguousarray(ids).view(np.uint8).reshape(count, ID_BYTES)
    three = padded.reshape(count, 6, 3)
    first, second, third = three[:, :, 0], three[:, :, 1], three[:, :, 2]
    sixes = np.empty((count, 6, 4), np.uint8)
    sixes[:, :, 0] = first >> 2
    sixes[:, :, 1] = (first & 3) << 4 | second >> 4
    sixes[:, :, 2] = (second & 15) << 2 | third >> 6
    sixes[:, :, 3] = third & 63
    text = _ALPHABET[sixes.reshape(count, 24)[:, :TEXT_BYTES]]
    offsets = np.arange(count + 1, dtype=np.int32) * TEXT_BYTES
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text)))
