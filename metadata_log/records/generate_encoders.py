"""The text of the functions that write records, from their declarations. Knows the wire forms, no particular record.

A function takes the record `r` and returns its bytes: one join over pieces, each an expression. Tagged fields that are
not at their default follow by ascending tag; a field that the version does not have must be at its default.
"""

from __future__ import annotations

import msgspec

from metadata_log.records.generate_text import Lines, default_text, element_name, fixed_runs, is_fixed, struct_name
from metadata_log.records.wire import FIXED_SIZES, Field, Schema, schema_of

_WRITERS = {
    ("string", False): "write_string",
    ("bytes", False): "write_bytes",
    ("string", True): "write_strings",
    ("int32", True): "write_int32s",
    ("uuid", True): "write_uuids",
}


def record_writer(record: type[msgspec.Struct], version: int, frame: bytes) -> Lines:
    """`_write_<Record>_<version>(r)`, whose bytes begin with `frame`."""
    lines = Lines()
    lines.add(f"def _write_{record.__name__}_{version}(r: {record.__name__}) -> bytes:")
    with lines.deeper():
        _body(lines, schema_of(record), version, [repr(frame)] if frame else [])
    return lines


def struct_writer(record: type[msgspec.Struct], version: int) -> Lines:
    """`_write_<Struct>_<version>(r)`: a struct inside of a record."""
    lines = Lines()
    lines.add(f"def _write_{element_name(record, version)}(r: {record.__name__}) -> bytes:")
    with lines.deeper():
        _body(lines, schema_of(record), version, [])
    return lines


def _body(lines: Lines, schema: Schema, version: int, pieces: list[str]) -> None:
    for field in schema.newer(version):
        with lines.block(f"if {_is_set(field, f'r.{field.name}')}:"):
            lines.add(f"raise newer_field({f'{schema.record.__name__}.{field.name}'!r}, {version})")
    for run in fixed_runs(schema.untagged(version)):
        pieces.append(_fixed(lines, run) if is_fixed(run[0]) else _variable(lines, run[0], version))
    pieces.append(_tags(lines, schema.tagged(version), version))
    lines.add(f"return b''.join(({', '.join(pieces)},))" if len(pieces) > 1 else f"return {pieces[0]}")


def _is_set(field: Field, value: str) -> str:
    if field.default is None:
        return f"{value} is not None"
    return f"{value} != {default_text(field)}"


def _fixed(lines: Lines, run: list[Field]) -> str:
    values = []
    for field in run:
        if field.wire_type == "uuid":
            lines.add(f"{field.name} = r.{field.name}")
            with lines.block(f"if len({field.name}) != 16:"):
                lines.add(f"raise wrong_id({field.name})")
            values.append(field.name)
        else:
            values.append(f"r.{field.name}")
    if len(run) == 1 and run[0].wire_type == "uuid":
        return values[0]
    return f"{struct_name(run)}.pack({', '.join(values)})"


def _variable(lines: Lines, field: Field, version: int) -> str:
    value = f"r.{field.name}"
    if field.nullable:
        lines.add(f"{field.name} = {value}")
        return f"b'\\0' if {field.name} is None else {_written(field, field.name, version)}"
    if field.wire_type == "string" and not field.is_array:
        lines.add(f"{field.name} = {value}.encode()")
        lines.add(f"n = len({field.name}) + 1")
        lines.add(f"{field.name} = (ONE[n] if n < 128 else long_string_length(n)) + {field.name}")
        return field.name
    if field.wire_type == "int32" and field.is_array:
        lines.add(f"{field.name} = {value}")
        lines.add(f"n = len({field.name}) + 1")
        lines.add(
            f"{field.name} = PACK_INT32S[n](n, *{field.name}) if n < 128 else {_written(field, field.name, version)}"
        )
        return field.name
    return _written(field, value, version)


def _written(field: Field, value: str, version: int) -> str:
    if field.element is None:
        return f"{_WRITERS[field.wire_type, field.is_array]}({value})"
    writer = f"_write_{element_name(field.element, version)}"
    if field.is_array:
        return f"array_length(len({value})) + b''.join([{writer}(x) for x in {value}])"
    return f"{writer}({value})"


def _tags(lines: Lines, fields: tuple[Field, ...], version: int) -> str:
    if not fields:
        return "b'\\0'"
    lines.add("count = 0")
    lines.add("tags = b''")
    for field in fields:
        lines.add(f"{field.name} = r.{field.name}")
        with lines.block(f"if {_is_set(field, field.name)}:"):
            lines.add("count += 1")
            _tag(lines, field, version)
    return "ONE[count], tags"


def _tag(lines: Lines, field: Field, version: int) -> None:
    if field.tag is None or not 0 <= field.tag < 128:
        raise ValueError(f"{field.name} has tag {field.tag}: the generator writes tags of one byte")
    if is_fixed(field):
        size = FIXED_SIZES[field.wire_type]
        lines.add(f"tags += {bytes((field.tag, size))!r} + {struct_name([field])}.pack({field.name})")
        return
    if field.nullable and field.default is not None:
        raise ValueError(f"{field.name} is tagged and nullable with another default than null")
    tag = repr(bytes((field.tag,)))
    general = f"tagged({tag}, {_written(field, field.name, version)})"
    if field.wire_type == "int32":
        lines.add(f"n = len({field.name}) + 1")
        packed = f"PACK_TAGGED_INT32S[n]({field.tag}, 4 * n - 3, n, *{field.name})"
        lines.add(f"tags += {packed} if n < TAGGED else {general}")
    else:
        lines.add(f"tags += {general}")
