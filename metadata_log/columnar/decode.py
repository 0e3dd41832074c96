"""Decodes many values of one record type and version to Arrow, field by field instead of value by value.

Decides: how each wire form of a declaration becomes an Arrow array, and which values are left to the codec of single
records: those that it would reject, and rare forms, such as an array with very many structs. Must not know: batches,
offsets and files.

Sources: KIP-482 (flexible versions: compact lengths and tagged fields).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from metadata_log.columnar.objects import objects_array
from metadata_log.columnar.spans import Bools, Ints, Rows
from metadata_log.columnar.types import arrow_type, id_texts, struct_type
from metadata_log.records.primitives import MAX_STRING
from metadata_log.records.wire import FIXED_SIZES, Field, Schema, schema_of

_KINDS: Final = {
    "bool": "u1", "int8": ">i1", "int16": ">i2", "int32": ">i4", "int64": ">i8", "uint16": ">u2", "float64": ">f8",
    "uuid": "V16",
}  # fmt: skip
_NOT_ASCII: Final = 0x80
_MOST_ROUNDS: Final = 64
"""A value with more structs or strings in one array, or with more tagged fields, is left to the codec."""


def decode(record: type[msgspec.Struct], version: int, rows: Rows) -> pa.StructArray:
    """Return a struct for each row, with all fields of `record`; fields that the version lacks have their defaults.

    Rows that cannot be read here are marked as bad; their structs have no meaning. All others end at their ends.
    """
    found = _struct(schema_of(record), version, rows)
    rows.refuse(rows.at != rows.end)
    return found


def _struct(schema: Schema, version: int, rows: Rows) -> pa.StructArray:
    if not schema.fields:
        _tagged(schema, version, rows)
        return pa.array([{}] * len(rows), struct_type(schema.record))
    columns = {field.name: _plain(field, version, rows) for field in schema.untagged(version)}
    columns.update(_tagged(schema, version, rows))
    for field in schema.fields:
        if field.name not in columns:
            columns[field.name] = _default(field, len(rows))
    return pa.StructArray.from_arrays(
        [columns[field.name] for field in schema.fields], fields=list(struct_type(schema.record))
    )


def _plain(field: Field, version: int, rows: Rows) -> pa.Array:
    """Decode one untagged field, or the content of a tagged one."""
    if field.is_array:
        return _array(field, version, rows)
    if field.element is not None:
        return _struct(schema_of(field.element), version, rows)
    if field.wire_type in FIXED_SIZES:
        return _fixed(field.wire_type, rows)
    return _bytes(field, rows)


def _fixed(form: str, rows: Rows) -> pa.Array:
    return _numbers(form, rows.numbers(_KINDS[form], FIXED_SIZES[form]))


def _numbers(form: str, found: Any) -> pa.Array:
    if form == "uuid":
        return id_texts(found)
    if form == "bool":
        return pa.array(found != 0)
    return pa.array(found.astype(found.dtype.newbyteorder("=")))


def _bytes(field: Field, rows: Rows) -> pa.Array:
    lengths = rows.lengths()
    wrong = lengths > MAX_STRING if field.wire_type == "string" else np.zeros(len(rows), np.bool_)
    missing = lengths < 0
    if not field.nullable:
        wrong = wrong | missing
    starts = rows.at
    lengths = np.where(wrong | missing, 0, lengths)
    rows.skip(lengths)
    offsets, data = rows.bytes_of(starts, lengths)
    if field.wire_type == "string" and len(data) and int(data.max()) >= _NOT_ASCII:
        not_text = _not_utf8(offsets, data)
        if not_text.any():
            wrong = wrong | not_text
            offsets, data = rows.bytes_of(starts, np.where(wrong, 0, lengths))
    rows.refuse(wrong)
    validity, nulls = None, 0
    if missing.any():
        validity, nulls = pa.array(~missing).buffers()[1], int(missing.sum())
    kind = pa.string() if field.wire_type == "string" else pa.binary()
    return pa.Array.from_buffers(kind, len(lengths), [validity, pa.py_buffer(offsets), pa.py_buffer(data)], nulls)


def _not_utf8(offsets: Any, data: Any) -> Bools:
    """Return True for each string that is not UTF-8. Only strings with a byte over 127 are looked at one by one."""
    found = np.zeros(len(offsets) - 1, np.bool_)
    places = np.searchsorted(offsets, np.flatnonzero(data >= _NOT_ASCII), side="right") - 1
    for index in map(int, np.unique(places)):
        try:
            data[offsets[index] : offsets[index + 1]].tobytes().decode()
        except UnicodeDecodeError:
            found[index] = True
    return found


def _array(field: Field, version: int, rows: Rows) -> pa.ListArray:
    counts = rows.lengths()
    missing = counts < 0
    wrong = np.zeros(len(rows), np.bool_) if field.nullable else missing
    counts = np.where(missing, 0, counts)
    size = FIXED_SIZES.get(field.wire_type)
    most = (rows.end - rows.at) // size if size is not None else _MOST_ROUNDS
    wrong = wrong | (counts > most)
    counts = np.where(wrong, 0, counts)
    rows.refuse(wrong)
    offsets = np.zeros(len(rows) + 1, np.int32)
    offsets[1:] = np.cumsum(counts)
    if size is None:
        elements = _elements(field, version, rows, counts, offsets)
    else:
        total = int(offsets[-1])
        at = np.repeat(rows.at - offsets[:-1] * size, counts) + np.arange(total) * size
        elements = _numbers(field.wire_type, rows.values_at(at, _KINDS[field.wire_type], size))
        rows.skip(counts * size)
    mask = pa.array(missing) if field.nullable and missing.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=arrow_type(field), mask=mask)


def _elements(field: Field, version: int, rows: Rows, counts: Ints, offsets: Any) -> pa.Array:
    """Decode the elements of arrays whose elements differ in size: the first one of each row, then the second, …"""
    one = msgspec.structs.replace(field, is_array=False, nullable=False)
    pieces, slots = [], []
    chosen = np.flatnonzero(counts > 0)
    index = 0
    while len(chosen):
        part = rows.part(chosen)
        pieces.append(_plain(one, version, part))
        slots.append(offsets[:-1][chosen] + index)
        rows.at[chosen] = part.at
        rows.bad[chosen] |= part.bad
        index += 1
        chosen = chosen[counts[chosen] > index]
    if not pieces:
        return pa.array([], arrow_type(one))
    if len(pieces) == 1:
        return pieces[0]
    return pa.concat_arrays(pieces).take(pa.array(np.argsort(np.concatenate(slots), kind="stable")))


def _tagged(schema: Schema, version: int, rows: Rows) -> dict[str, pa.Array]:
    """Decode the section of tagged fields. A row with a field of a later version, or with one field twice, is bad."""
    known = {field.tag: field for field in schema.tagged(version) if field.tag is not None}
    later = [field.tag for field in schema.newer(version) if field.tag is not None]
    found: dict[int, list[tuple[Ints, pa.Array]]] = {}
    counts = rows.uvarints()
    rows.refuse(counts > _MOST_ROUNDS)
    counts[rows.bad] = 0
    chosen = np.flatnonzero(counts > 0)
    index = 0
    while len(chosen):
        part = rows.part(chosen)
        tags, sizes = part.uvarints(), part.uvarints()
        ends = part.at + sizes
        part.refuse(ends > part.end)
        for tag in map(int, np.unique(tags)):
            having = np.flatnonzero((tags == tag) & ~part.bad)
            if tag in later:
                part.refuse((tags == tag) & ~part.bad)
            elif (field := known.get(tag)) is not None and len(having):
                content = part.part(having, end=ends[having])
                found.setdefault(tag, []).append((chosen[having], _plain(field, version, content)))
                content.refuse(content.at != content.end)
                part.bad[having] |= content.bad
        part.at = np.where(part.bad, part.end, ends)
        rows.at[chosen] = part.at
        rows.bad[chosen] |= part.bad
        index += 1
        chosen = chosen[(counts[chosen] > index) & ~part.bad]
    return {field.name: _scattered(field, rows, found.get(tag, [])) for tag, field in known.items()}


def _scattered(field: Field, rows: Rows, pieces: list[tuple[Ints, pa.Array]]) -> pa.Array:
    """Return a field's column from the pieces that some rows have; all other rows get its default."""
    if not pieces:
        return _default(field, len(rows))
    places = np.zeros(len(rows), np.int64)
    passed = 1
    for chosen, values in pieces:
        rows.bad[chosen[places[chosen] > 0]] = True
        places[chosen] = np.arange(passed, passed + len(values))
        passed += len(values)
    return pa.concat_arrays([_default(field, 1), *(values for _, values in pieces)]).take(pa.array(places))


def _default(field: Field, count: int) -> pa.Array:
    value = None if field.default is msgspec.NODEFAULT else field.default
    return objects_array(field, [value] * min(count, 1)).take(pa.array(np.zeros(count, np.int64)))
