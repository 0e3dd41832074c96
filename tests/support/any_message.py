"""Valid messages of any protobuf type, filled at random: seeds for mutations. The same draws give the same message."""

from __future__ import annotations

import random
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_DEEPEST: Final = 6
_NUMBERS: Final = (0, 1, 2, 3, -1, 7, 100, 2**31 - 1, -(2**31))
_TEXTS: Final = ("", "a", "__cluster_metadata", "topic-1", "\x00", "x" * 300, "ä\u202e")
_BYTES: Final = (b"", bytes(16), bytes(15) + b"\1", b"\xff" * 16, b"short", bytes(200))
_UNSIGNED: Final = (
    FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_FIXED32,
    FieldDescriptor.TYPE_FIXED64,
)


def any_message(kind: type[Message], draw: random.Random, depth: int = 0) -> Any:
    """Return a message with most of its fields set."""
    message: Any = kind()
    for field in kind.DESCRIPTOR.fields:
        if draw.random() < 0.2 or depth > _DEEPEST:
            continue
        is_struct = field.message_type is not None
        if field.is_repeated and is_struct:
            for _ in range(draw.choice((0, 1, 1, 2, 3))):
                item = getattr(message, field.name).add()
                item.CopyFrom(any_message(type(item), draw, depth + 1))
        elif field.is_repeated:
            getattr(message, field.name).extend(_scalar(field, draw) for _ in range(draw.choice((0, 1, 2, 3))))
        elif is_struct:
            part = getattr(message, field.name)
            part.CopyFrom(any_message(type(part), draw, depth + 1))
        else:
            setattr(message, field.name, _scalar(field, draw))
    return message


def _scalar(field: FieldDescriptor, draw: random.Random) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw.choice(_TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return draw.choice(_BYTES)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return draw.random() < 0.5
    if field.type == FieldDescriptor.TYPE_ENUM:
        return draw.choice([value.number for value in field.enum_type.values])
    if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return draw.choice((0.0, 1.5, -1.0, float("nan"), float("inf")))
    number = draw.choice(_NUMBERS)
    return abs(number) if field.type in _UNSIGNED else number
