"""A reader of kio's entities from untrusted bytes.

Decides: how bytes become one of kio's entities, and when they are malformed. Must not know: the meaning of an entity.

kio's own reader (0.6.5) allocates as many elements as an array announces, and the process dies if memory runs out. It
also rejects tagged fields that are newer than itself. So this module reads requests and peers' responses. It checks
every length against the bytes left, bounds the elements of an entity, and skips unknown tags (KIP-482). An error
stays a plain number, because a newer node may send codes that are unknown here.
"""

from __future__ import annotations

import dataclasses
import datetime
import struct
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any, Final

from quorum.transport.kafka.lengths import LONGEST_TEXT

MAX_ELEMENTS: Final = 50_000
"""The most elements of all arrays of one request together: so many structs take half a second to read."""
NUMBERS_AN_ELEMENT: Final = 8
"""So many numbers count as one element: arrays of numbers are read ten times as fast, and take less memory."""


class BadFrame(Exception):
    """The bytes are a malformed request or response; the text says why. Their connection cannot continue."""


class Cursor:
    """A position in a buffer, and the array elements that may still be read. `numbers_an_element` numbers count as
    one."""

    __slots__ = ("at", "data", "elements_left", "end", "numbers_an_element")

    def __init__(
        self,
        data: bytes,
        at: int = 0,
        most_elements: int = MAX_ELEMENTS,
        numbers_an_element: int = NUMBERS_AN_ELEMENT,
    ) -> None:
        self.data = data
        self.at = at
        self.end = len(data)
        self.elements_left = most_elements
        self.numbers_an_element = numbers_an_element

    def take(self, count: int) -> bytes:
        """Return the next bytes.

        Raises:
            BadFrame: fewer are left.
        """
        at = self.at
        if count < 0 or at + count > self.end:
            raise BadFrame(f"{count} bytes are announced, {self.end - at} are left")
        self.at = at + count
        return self.data[at : at + count]

    def uvarint(self) -> int:
        """Return an unsigned number of at most 32 bits."""
        if self.at < self.end and (first := self.data[self.at]) < 0x80:
            self.at += 1
            return first
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise BadFrame("a length of more than five bytes")

    def passes_zero(self) -> bool:
        """Return True, and pass the byte, if the next one is zero: nearly every section of tagged fields is empty."""
        if self.at < self.end and self.data[self.at] == 0:
            self.at += 1
            return True
        return False

    def elements(self, count: int, in_one: int = 1) -> range:
        """Return the range of the next `count` elements, and charge them to the bound; `in_one` of them count as one.

        Raises:
            BadFrame: the bytes left cannot hold so many, or the bound is exceeded.
        """
        if count < 0 or count > self.end - self.at:
            raise BadFrame(f"{count} elements are announced, {self.end - self.at} bytes are left")
        self.elements_left -= -(-count // in_one)
        if self.elements_left < 0:
            raise BadFrame("it holds more elements than are read of one request")
        return range(count)


Read = Callable[[Cursor], Any]
Rows = Callable[[Cursor, int], tuple[Any, ...] | None]
"""Reads so many elements at once, or returns None with the position unchanged: they must be read one by one."""


def _number(form: str) -> Read:
    unpack, size = struct.Struct(form).unpack, struct.calcsize(form)

    def read(cursor: Cursor) -> Any:
        return unpack(cursor.take(size))[0]

    return read


def _uuid(cursor: Cursor) -> uuid.UUID | None:
    value = cursor.take(16)
    return uuid.UUID(bytes=value) if any(value) else None


def _milliseconds(form: str) -> Read:
    """Return a reader of a duration. A value outside of Python's range is cut to its limit, some three million
    years."""
    number = _number(form)
    one = datetime.timedelta(milliseconds=1)
    least, longest = datetime.timedelta.min // one, datetime.timedelta.max // one
    return lambda cursor: datetime.timedelta(milliseconds=max(least, min(number(cursor), longest)))


NUMBERS: Final = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d", "bool": "?",
    "error_code": "h",
}  # fmt: skip
"""The codes of `struct`."""
_FIXED: Final[dict[str, Read]] = {
    **{name: _number(f">{form}") for name, form in NUMBERS.items()},
    "uuid": _uuid,
    "timedelta_i32": _milliseconds(">i"),
    "timedelta_i64": _milliseconds(">q"),
}


def _length(cursor: Cursor, form: str, *, is_flexible: bool) -> int:
    """Return the length, or -1 for null."""
    return cursor.uvarint() - 1 if is_flexible else int(_FIXED[form](cursor))


def _text(*, is_flexible: bool, is_optional: bool) -> Read:
    def read(cursor: Cursor) -> str | None:
        length = _length(cursor, "int16", is_flexible=is_flexible)
        if length < 0 and is_optional:
            return None
        if length > LONGEST_TEXT:
            raise BadFrame(f"a text of {length} bytes: the longest has {LONGEST_TEXT}")
        try:
            return cursor.take(length).decode()
        except UnicodeDecodeError as error:
            raise BadFrame("a text is not UTF-8") from error

    return read


def _bytes(*, is_flexible: bool, is_optional: bool) -> Read:
    def read(cursor: Cursor) -> bytes | None:
        length = _length(cursor, "int32", is_flexible=is_flexible)
        return None if length < 0 and is_optional else cursor.take(length)

    return read


def _array(
    item: Read, at_once: Rows | None, *, is_flexible: bool, is_optional: bool, is_of_numbers: bool = False
) -> Read:
    def read(cursor: Cursor) -> tuple[Any, ...] | None:
        length = _length(cursor, "int32", is_flexible=is_flexible)
        if length < 0 and is_optional:
            return None
        elements = cursor.elements(length, cursor.numbers_an_element if is_of_numbers else 1)
        found = None if at_once is None else at_once(cursor, length)
        return tuple([item(cursor) for _ in elements]) if found is None else found

    return read


def _numbers(kafka_type: str) -> Rows | None:
    """Return the reader of an array of numbers, or None for another type."""
    form = NUMBERS.get(kafka_type)
    if form is None or kafka_type == "bool":
        return None
    size = struct.calcsize(f">{form}")
    return lambda cursor, count: struct.unpack(f">{count}{form}", cursor.take(count * size))


def _structs_of_numbers(entity: type[Any]) -> Rows | None:
    """Return the reader of an array of structs that hold only numbers, or None for other structs.

    It returns None if an element has tags. Brokers send a hundred thousand such structs at once (AlterPartition).
    """
    fields = dataclasses.fields(entity)
    if not fields or not all(is_number(field) and "tag" not in field.metadata for field in fields):
        return None
    form = struct.Struct(">" + "".join(NUMBERS[field.metadata["kafka_type"]] for field in fields))
    names, tags = [field.name for field in fields], int(entity.__flexible__)
    row = struct.Struct(form.format + "x" * tags)

    def read(cursor: Cursor, count: int) -> tuple[Any, ...] | None:
        start, end = cursor.at, cursor.at + count * row.size
        if tags and cursor.data[start + form.size : end : row.size].count(0) != count:
            return None
        rows = row.iter_unpack(cursor.take(count * row.size))
        return tuple([entity(**dict(zip(names, values, strict=True))) for values in rows])

    return read


def _optional_entity(item: Read) -> Read:
    """Return the reader of a struct that may be null (KIP-893)."""
    return lambda cursor: None if _FIXED["int8"](cursor) < 0 else item(cursor)


def _primitive(kafka_type: str, *, is_flexible: bool, is_optional: bool) -> Read:
    if kafka_type == "string":
        return _text(is_flexible=is_flexible, is_optional=is_optional)
    if kafka_type in ("bytes", "records"):
        return _bytes(is_flexible=is_flexible, is_optional=is_optional)
    return _FIXED[kafka_type]


def without_none(kind: Any) -> tuple[Any, bool]:
    """Return the type without None, and True if it may be None."""
    if not isinstance(kind, types.UnionType):
        return kind, False
    (left,) = (each for each in typing.get_args(kind) if each is not type(None))
    return left, True


def _field(field: dataclasses.Field[Any], *, is_flexible: bool) -> Read:
    kind, is_optional = without_none(field.type)
    # An absent tagged field is null; a present one is encoded as non-null.
    is_optional = is_optional and "tag" not in field.metadata
    kafka_type = field.metadata.get("kafka_type")
    if typing.get_origin(kind) is not tuple:
        if kafka_type is not None:
            return _primitive(kafka_type, is_flexible=is_flexible, is_optional=is_optional)
        entity = reader_of(kind)
        return _optional_entity(entity) if is_optional else entity
    element = typing.get_args(kind)[0]
    if kafka_type is None:
        rows = _structs_of_numbers(element)
        return _array(reader_of(element), rows, is_flexible=is_flexible, is_optional=is_optional)
    item, numbers = _primitive(kafka_type, is_flexible=is_flexible, is_optional=False), _numbers(kafka_type)
    is_of_numbers = numbers is not None
    return _array(item, numbers, is_flexible=is_flexible, is_optional=is_optional, is_of_numbers=is_of_numbers)


_READERS: Final[dict[type[Any], Read]] = {}


def reader_of(entity: type[Any]) -> Read:
    """Return the reader of one of kio's entities. It raises `BadFrame` if the bytes are malformed."""
    found = _READERS.get(entity)
    if found is None:
        found = _READERS[entity] = _make_reader(entity)
    return found


def _make_reader(entity: type[Any]) -> Read:
    is_flexible = entity.__flexible__
    steps: list[_Step] = []
    numbers: list[dataclasses.Field[Any]] = []
    tagged: dict[int, tuple[str, Read]] = {}
    left_out: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = (field.name, _field(field, is_flexible=is_flexible))
            if field.default is dataclasses.MISSING:
                left_out[field.name] = None
        elif is_number(field):
            numbers.append(field)
        else:
            steps += _at_once(numbers)
            numbers = []
            steps.append(_one(field.name, _field(field, is_flexible=is_flexible)))
    steps += _at_once(numbers)

    def read(cursor: Cursor) -> Any:
        values = left_out.copy()
        for step in steps:
            step(cursor, values)
        if is_flexible:
            _read_tags(cursor, tagged, values)
        return entity(**values)

    return read


_Step = Callable[[Cursor, dict[str, Any]], None]


def is_number(field: dataclasses.Field[Any]) -> bool:
    """Return True if the field is a number that is always present."""
    kind, is_optional = without_none(field.type)
    return not is_optional and typing.get_origin(kind) is not tuple and field.metadata.get("kafka_type") in NUMBERS


def _at_once(fields: list[dataclasses.Field[Any]]) -> list[_Step]:
    """Return one step that reads adjacent numbers together."""
    if not fields:
        return []
    form = struct.Struct(">" + "".join(NUMBERS[field.metadata["kafka_type"]] for field in fields))
    names, unpack, size = [field.name for field in fields], form.unpack, form.size

    def read(cursor: Cursor, values: dict[str, Any]) -> None:
        values.update(zip(names, unpack(cursor.take(size)), strict=True))

    return [read]


def _one(name: str, read_field: Read) -> _Step:
    def read(cursor: Cursor, values: dict[str, Any]) -> None:
        values[name] = read_field(cursor)

    return read


def _read_tags(cursor: Cursor, tagged: dict[int, tuple[str, Read]], values: dict[str, Any]) -> None:
    if cursor.passes_zero():
        return
    for _ in cursor.elements(cursor.uvarint()):
        tag, size = cursor.uvarint(), cursor.uvarint()
        known = tagged.get(tag)
        if known is None:
            cursor.take(size)
            continue
        name, read_field = known
        ends_at = cursor.at + size
        values[name] = read_field(cursor)
        if cursor.at != ends_at:
            raise BadFrame(f"the tagged field {tag} has another length than it announces")
