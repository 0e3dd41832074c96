"""A writer of kio's entities without tagged fields: nearly all responses, and all that can be long.

Decides: how an entity becomes bytes. Must not know: the meaning of an entity. kio's own writer (0.6.5) writes the
others, and takes several times as long for each element. A test compares the two.

Source: KIP-482 (compact lengths are one more), KIP-893 (a struct that may be null).
"""

from __future__ import annotations

import dataclasses
import io
import struct
import typing
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final

from kio.serial import entity_writer

from quorum.transport.kafka.lengths import array_length, text_bytes
from quorum.transport.kafka.reader import NUMBERS, is_number, without_none

Write = Callable[[bytearray, Any], None]
_NO_TAGS: Final = b"\0"
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_MS: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def writer_of(entity: type[Any]) -> Callable[[Any], bytes]:
    """Return the encoder of one of kio's entities."""
    if _has_tags(entity):
        return _by_kio(entity)
    write = _entity(entity)

    def made(value: Any) -> bytes:
        out = bytearray()
        write(out, value)
        return bytes(out)

    return made


def _by_kio(entity: type[Any]) -> Callable[[Any], bytes]:
    write = entity_writer(entity)

    def made(value: Any) -> bytes:
        buffer = io.BytesIO()
        write(buffer, value)
        return buffer.getvalue()

    return made


def _has_tags(entity: type[Any]) -> bool:
    return any("tag" in field.metadata or _has_tags_within(field.type) for field in dataclasses.fields(entity))


def _has_tags_within(kind: Any) -> bool:
    within = typing.get_args(kind)
    if within:
        return any(map(_has_tags_within, within))
    return isinstance(kind, type) and dataclasses.is_dataclass(kind) and _has_tags(kind)


def _entity(entity: type[Any]) -> Write:
    is_flexible = entity.__flexible__
    steps: list[Write] = []
    numbers: list[dataclasses.Field[Any]] = []
    for field in dataclasses.fields(entity):
        if is_number(field):
            numbers.append(field)
            continue
        steps += _at_once(numbers)
        numbers = []
        steps.append(_one(field.name, _field(field, is_flexible=is_flexible)))
    steps += _at_once(numbers)
    if is_flexible:
        steps.append(lambda out, value: out.extend(_NO_TAGS))

    def write(out: bytearray, value: Any) -> None:
        for step in steps:
            step(out, value)

    return write


def _at_once(fields: list[dataclasses.Field[Any]]) -> list[Write]:
    """Return one step that writes adjacent numbers together."""
    if not fields:
        return []
    form = struct.Struct(">" + "".join(NUMBERS[field.metadata["kafka_type"]] for field in fields))
    pack, names = form.pack, [field.name for field in fields]
    if len(names) == 1:
        get = attrgetter(names[0])
        return [lambda out, value: out.extend(pack(get(value)))]
    get_all = attrgetter(*names)
    return [lambda out, value: out.extend(pack(*get_all(value)))]


def _one(name: str, write_field: Write) -> Write:
    get = attrgetter(name)
    return lambda out, value: write_field(out, get(value))


def _field(field: dataclasses.Field[Any], *, is_flexible: bool) -> Write:
    kind, is_optional = without_none(field.type)
    kafka_type = field.metadata.get("kafka_type")
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        if kafka_type is None:
            return _array(_entity(element), is_flexible=is_flexible)
        return _array(_primitive(kafka_type, is_flexible=is_flexible, is_optional=False), is_flexible=is_flexible)
    if kafka_type is not None:
        return _primitive(kafka_type, is_flexible=is_flexible, is_optional=is_optional)
    return _optional_entity(_entity(kind)) if is_optional else _entity(kind)


def _array(item: Write, *, is_flexible: bool) -> Write:
    def write(out: bytearray, values: tuple[Any, ...] | None) -> None:
        out += array_length(None if values is None else len(values), is_flexible=is_flexible)
        for value in values or ():
            item(out, value)

    return write


def _optional_entity(write_entity: Write) -> Write:
    def write(out: bytearray, value: Any) -> None:
        out += b"\xff" if value is None else b"\1"
        if value is not None:
            write_entity(out, value)

    return write


def _primitive(kafka_type: str, *, is_flexible: bool, is_optional: bool) -> Write:
    if kafka_type == "string":
        return _text(is_flexible=is_flexible, is_optional=is_optional)
    if kafka_type in ("bytes", "records"):
        return _bytes(is_flexible=is_flexible, is_optional=is_optional)
    if kafka_type in NUMBERS:
        pack = struct.Struct(f">{NUMBERS[kafka_type]}").pack
        return lambda out, value: out.extend(pack(value))
    return _FIXED[kafka_type]


def _text(*, is_flexible: bool, is_optional: bool) -> Write:
    def write(out: bytearray, value: str | None) -> None:
        if value is None and not is_optional:
            raise TypeError("a text that may not be null has no value")
        out += text_bytes(value, is_flexible=is_flexible)

    return write


def _bytes(*, is_flexible: bool, is_optional: bool) -> Write:
    def write(out: bytearray, value: bytes | None) -> None:
        if value is None and not is_optional:
            raise TypeError("bytes that may not be null have no value")
        out += array_length(None if value is None else len(value), is_flexible=is_flexible)
        out += value or b""

    return write


def _write_uuid(out: bytearray, value: uuid.UUID | None) -> None:
    out += bytes(16) if value is None else value.bytes


_FIXED: Final[dict[str, Write]] = {
    "uuid": _write_uuid,
    "timedelta_i32": lambda out, value: out.extend(_INT.pack(value // _MS)),
    "timedelta_i64": lambda out, value: out.extend(_LONG.pack(value // _MS)),
    "datetime_i64": lambda out, value: out.extend(_LONG.pack(-1 if value is None else (value - _EPOCH) // _MS)),
}
