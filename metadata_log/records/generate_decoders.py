"""Generates the functions that read records from the records' declarations. Must not know: any particular record.

A function reads from `v`, the whole value, at position `p`. Adjacent fields of fixed size are one Struct. While the
generator knows the position, the text has it as a number.
"""

from __future__ import annotations

import msgspec

from metadata_log.records.generate_text import Lines, default_text, element_name, fixed_runs, is_fixed, struct_name
from metadata_log.records.wire import FIXED_SIZES, Field, Schema, schema_of

_READERS = {
    ("string", False, False): "read_string",
    ("string", False, True): "read_nullable_string",
    ("bytes", False, False): "read_bytes",
    ("string", True, False): "read_strings",
    ("int32", True, False): "read_int32s",
    ("int32", True, True): "read_nullable_int32s",
    ("uuid", True, False): "read_uuids",
    ("uuid", True, True): "read_nullable_uuids",
}
_SMALL_ARRAYS = {"int32": ("READ_INT32S", 4), "uuid": ("READ_UUIDS", 16)}


class Position:
    """The position in the generated code: a number while it is known, then the variable `p`."""

    def __init__(self, known: int | None) -> None:
        self.known = known

    def plus(self, count: int) -> str:
        """The position `count` bytes further, as text."""
        if self.known is not None:
            return str(self.known + count)
        return f"p + {count}" if count else "p"

    def move(self, lines: Lines, count: int) -> None:
        """Advance by `count` bytes."""
        if self.known is not None:
            self.known += count
        else:
            lines.add(f"p += {count}")

    def is_variable(self) -> None:
        """From here on the generated code keeps it in `p`."""
        self.known = None


def record_reader(record: type[msgspec.Struct], version: int, start: int) -> Lines:
    """`_read_<Record>_<version>(v)`, which begins at `start` and must end where the value ends."""
    schema = schema_of(record)
    lines = Lines()
    lines.add(f"def _read_{record.__name__}_{version}(v: bytes) -> {record.__name__}:")
    with lines.deeper():
        _body(lines, schema, version, Position(start))
        with lines.block("if p != len(v):"):
            lines.add("raise wrong_end(v, p)")
        lines.add(f"return {_construction(schema, version)}")
    return lines


def struct_reader(record: type[msgspec.Struct], version: int) -> Lines:
    """`_read_<Struct>_<version>(v, p)`: a struct inside of a record, and the position after it."""
    schema = schema_of(record)
    lines = Lines()
    name = element_name(record, version)
    lines.add(f"def _read_{name}(v: bytes, p: int) -> tuple[{record.__name__}, int]:")
    with lines.deeper():
        _body(lines, schema, version, Position(None))
        lines.add(f"return {_construction(schema, version)}, p")
    return lines


def structs_reader(record: type[msgspec.Struct], version: int) -> Lines:
    """`_read_<Struct>_<version>s(v, p)`: a compact array of structs."""
    schema = schema_of(record)
    lines = Lines()
    name = element_name(record, version)
    lines.add(f"def _read_{name}s(v: bytes, p: int) -> tuple[tuple[{record.__name__}, ...], int]:")
    with lines.deeper():
        lines.add("count, p = read_count(v, p)")
        lines.add("elements = []")
        with lines.block("for _ in range(count):"):
            _body(lines, schema, version, Position(None))
            lines.add(f"elements.append({_construction(schema, version)})")
        lines.add("return tuple(elements), p")
    return lines


def _construction(schema: Schema, version: int) -> str:
    names = [field.name for field in schema.fields if field.since <= version]
    return f"{schema.record.__name__}({', '.join(f'{name}={name}' for name in names)})"


def _body(lines: Lines, schema: Schema, version: int, position: Position) -> None:
    for run in fixed_runs(schema.untagged(version)):
        if is_fixed(run[0]):
            _fixed(lines, run, position)
        else:
            _variable(lines, run[0], version, position)
    _tags(lines, schema, version, position)


def _fixed(lines: Lines, run: list[Field], position: Position) -> None:
    if len(run) == 1 and run[0].wire_type == "uuid":
        lines.add(f"{run[0].name} = v[{position.plus(0)} : {position.plus(16)}]")
    else:
        names = ", ".join(field.name for field in run)
        target = names if len(run) > 1 else f"({names},)"
        lines.add(f"{target} = {struct_name(run)}.unpack_from(v, {position.plus(0)})")
    position.move(lines, sum(FIXED_SIZES[field.wire_type] for field in run))


def _variable(lines: Lines, field: Field, version: int, position: Position) -> None:
    here = position.plus(0)
    if field.wire_type == "struct":
        if field.element is None:
            raise TypeError(f"{field.name} has no element class")
        plural = "s" if field.is_array else ""
        lines.add(f"{field.name}, p = _read_{element_name(field.element, version)}{plural}(v, {here})")
    elif field.wire_type == "string" and not field.is_array:
        _string(lines, field, here, position.plus(1))
    elif field.is_array and field.wire_type in _SMALL_ARRAYS:
        _small_array(lines, field, here, position.plus(1))
    else:
        lines.add(f"{field.name}, p = {_reader(field)}(v, {here})")
    position.is_variable()


def _string(lines: Lines, field: Field, here: str, after: str) -> None:
    lines.add(f"n = v[{here}]")
    with lines.block("if 0 < n < 128:"):
        lines.add(f"e = {here} + n")
        lines.add(f"{field.name} = v[{after} : e].decode()")
        lines.add("p = e")
    with lines.block("else:"):
        lines.add(f"{field.name}, p = {_reader(field)}(v, {here})")


def _small_array(lines: Lines, field: Field, here: str, after: str) -> None:
    table, size = _SMALL_ARRAYS[field.wire_type]
    lines.add(f"n = v[{here}]")
    with lines.block("if 0 < n < 128:" if field.nullable else "if n < 128:"):
        lines.add(f"{field.name} = {table}[n](v, {after})")
        lines.add(f"p {'+=' if here == 'p' else f'= {here} +'} {size} * n - {size - 1}")
    with lines.block("else:"):
        lines.add(f"{field.name}, p = {_reader(field)}(v, {here})")


def _reader(field: Field) -> str:
    return _READERS[field.wire_type, field.is_array, field.nullable]


def _tags(lines: Lines, schema: Schema, version: int, position: Position) -> None:
    known = schema.tagged(version)
    later = [field for field in schema.newer(version) if field.tag is not None]
    here = position.plus(0)
    for field in known:
        lines.add(f"{field.name} = {default_text(field)}")
    if not known and not later:
        lines.add(f"p = skip_tags(v, {here}) if v[{here}] else {position.plus(1)}")
        return
    with lines.block(f"if v[{here}]:"):
        lines.add(f"count = v[{here}]")
        lines.add(f"p = {position.plus(1)}")
        with lines.block("if count > 127:"):
            lines.add("count, p = read_uvarint(v, p - 1)")
        with lines.block("for _ in range(count):"):
            _one_tag(lines, known, [field.tag for field in later if field.tag is not None], version)
    with lines.block("else:"):
        lines.add(f"p = {position.plus(1)}")


def _one_tag(lines: Lines, known: tuple[Field, ...], later: list[int], version: int) -> None:
    lines.add("tag = v[p]")
    lines.add("end = p + 2 + v[p + 1]")
    with lines.block("if tag < 128 and end < p + 130:"):
        lines.add("p += 2")
    with lines.block("else:"):
        lines.add("tag, end, p = read_tag_head(v, p)")
    word = "if"
    for field in known:
        with lines.block(f"{word} tag == {field.tag}:"):
            position = Position(None)
            if is_fixed(field):
                _fixed(lines, [field], position)
            else:
                _variable(lines, field, version, position)
        word = "elif"
    if later:
        with lines.block(f"{word} tag in {tuple(sorted(later))}:"):
            lines.add("raise tag_of_newer_version(tag)")
        word = "elif"
    with lines.block("else:"):
        lines.add("p = end")
    with lines.block("if p != end:"):
        lines.add("raise wrong_tag(tag, p, end)")
