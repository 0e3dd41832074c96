"""Conversion of requests and responses whose messages have the struct's field names.

Decides: how each Python type is encoded in a message:

- A tuple is a repeated field. A tuple that may be None, or is inside another tuple, is a message with that one field.
- A struct is a message. A pair is a message with two fields, in their order.
- An enumeration is its number. `error` is `error_code`.

A field that the message lacks gets the default of its struct. Must not know: which requests there are.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from typing import Any, Final

import msgspec
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from metadata_log.ids import DirectoryId, TopicId, Uuid
from quorum.api.error_codes import Error
from quorum.transport.grpc.convert.common import BadMessage, directory_id_from, error_from, topic_id_from, uuid_from

_IDS: Final[dict[Any, Callable[[bytes], Any]]] = {
    TopicId: topic_id_from,
    DirectoryId: directory_id_from,
    Uuid: uuid_from,
}


class ByFields(msgspec.Struct, frozen=True):
    """Both directions between a struct and its message.

    `to_struct` raises BadMessage if an id has a wrong length, or an enumeration has no member of that number.
    """

    to_message: Callable[[Any], Any]
    to_struct: Callable[[Any], Any]


_Way = tuple[str, str, Callable[..., Any]]
"""The name of a field in the struct, its name in the message, and `put` or `take` of its `_Field`."""


class _Field(msgspec.Struct, frozen=True, kw_only=True):
    """The functions that write one field into a message and read it back."""

    put: Callable[[Any, str, Any], None]
    take: Callable[[Any, str], Any]


def by_fields(struct: type[Any], message: type[Any]) -> ByFields:
    """Return the conversion of one struct.

    Raises:
        TypeError: the message has no such field, or a field's type is not supported here.
    """
    known = message.DESCRIPTOR.fields_by_name
    put: list[_Way] = []
    take: list[_Way] = []
    take_present: list[_Way] = []
    for field in msgspec.structs.fields(struct):
        wire = "error_code" if field.type is Error else field.name
        if wire not in known:
            raise TypeError(f"{message.__name__} has no field {wire} for {struct.__name__}.{field.name}")
        of_wire = known[wire]
        row = _field(field.type, of_wire.message_type)
        put.append((field.name, wire, row.put))
        (take_present if of_wire.has_presence and not field.required else take).append((field.name, wire, row.take))

    def to_message(value: Any) -> Any:
        made = message()
        for name, wire, one in put:
            one(made, wire, getattr(value, name))
        return made

    def to_struct(made: Any) -> Any:
        given = {name: one(made, wire) for name, wire, one in take}
        for name, wire, one in take_present:
            if made.HasField(wire):
                given[name] = one(made, wire)
        return struct(**given)

    return ByFields(to_message, to_struct)


def _field(kind: Any, inner: Descriptor | None) -> _Field:
    given = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        (kind,) = (each for each in given if each is not types.NoneType)
        return _optional(_scalar(kind) if inner is None else _wrapped(kind, inner))
    if typing.get_origin(kind) is tuple:
        return _repeated(given[0], inner)
    return _scalar(kind) if inner is None else _wrapped(kind, inner)


def _optional(field: _Field) -> _Field:
    def put(made: Any, wire: str, value: Any) -> None:
        if value is not None:
            field.put(made, wire, value)

    return _Field(put=put, take=lambda made, wire: field.take(made, wire) if made.HasField(wire) else None)


def _scalar(kind: Any) -> _Field:
    read = _reader(kind)
    if read is None:
        return _Field(put=setattr, take=getattr)
    return _Field(put=setattr, take=lambda made, wire: read(getattr(made, wire)))


def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts a field's value when it is read, or None if the value stays as it is."""
    if kind is Error:
        return error_from
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return lambda number: _member(kind, number)
    return _IDS.get(kind)


def _member(kind: type[enum.IntEnum], number: int) -> enum.IntEnum:
    try:
        return kind(number)
    except ValueError as unknown:
        raise BadMessage(Error.INVALID_REQUEST, f"there is no {kind.__name__} {number}") from unknown


def _repeated(kind: Any, inner: Descriptor | None) -> _Field:
    if inner is None:
        read = _IDS.get(kind)
        return _Field(
            put=lambda made, wire, value: getattr(made, wire).extend(value),
            take=lambda made, wire: tuple(getattr(made, wire) if read is None else map(read, getattr(made, wire))),
        )
    each = _element(kind, inner)
    return _Field(
        put=lambda made, wire, value: getattr(made, wire).extend(map(each.to_message, value)),
        take=lambda made, wire: tuple(map(each.to_struct, getattr(made, wire))),
    )


def _wrapped(kind: Any, inner: Descriptor | None) -> _Field:
    each = _element(kind, inner)
    return _Field(
        put=lambda made, wire, value: getattr(made, wire).CopyFrom(each.to_message(value)),
        take=lambda made, wire: each.to_struct(getattr(made, wire)),
    )


def _element(kind: Any, inner: Descriptor | None) -> ByFields:
    """Return the conversion of a nested message: a struct, a tuple in its only field, or a pair."""
    if inner is None:
        raise TypeError(f"{kind} needs a message around it")
    message: type[Any] = GetMessageClass(inner)
    if typing.get_origin(kind) is not tuple:
        return by_fields(kind, message)
    given = typing.get_args(kind)
    if given[-1] is Ellipsis:
        (only,) = message.DESCRIPTOR.fields
        values = _repeated(given[0], only.message_type)
        return ByFields(
            lambda value: _made(message, ((only.name, values, value),)), lambda made: values.take(made, only.name)
        )
    fields = zip(message.DESCRIPTOR.fields, given, strict=True)
    rows = [(field.name, _field(each, field.message_type)) for field, each in fields]
    return ByFields(
        lambda value: _made(message, [(wire, row, part) for (wire, row), part in zip(rows, value, strict=True)]),
        lambda made: tuple(row.take(made, wire) for wire, row in rows),
    )


def _made(message: type[Any], parts: typing.Iterable[tuple[str, _Field, Any]]) -> Any:
    made = message()
    for wire, row, value in parts:
        row.put(made, wire, value)
    return made
