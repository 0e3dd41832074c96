"""The field of a request that its message cannot hold: text that is not UTF-8, a number out of range, a wrong type.

Decides: the field's path and the sentence about it; secrets are not shown. It walks a struct and its message together,
by the rules of `by_fields`, and only after the conversion has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

FAILURES: Final = (ValueError, TypeError, OverflowError)
"""The exceptions that a message raises for a value it cannot hold."""
_KINDS: Final = {
    FieldDescriptor.TYPE_STRING: "a text that UTF-8 can write",
    FieldDescriptor.TYPE_INT32: "a whole number of 32 bits",
    FieldDescriptor.TYPE_UINT32: "a whole number of 32 bits, not negative",
    FieldDescriptor.TYPE_INT64: "a whole number of 64 bits",
    FieldDescriptor.TYPE_UINT64: "a whole number of 64 bits, not negative",
    FieldDescriptor.TYPE_DOUBLE: "a number",
    FieldDescriptor.TYPE_BOOL: "true or false",
    FieldDescriptor.TYPE_ENUM: "a whole number of 32 bits",
    FieldDescriptor.TYPE_BYTES: "bytes",
}
_MOST_SHOWN: Final = 60


class Unsendable(Exception):
    """A request does not fit into its message. The text names the field with its path."""


def why_unsendable(request: object, message: Descriptor | None) -> str | None:
    """Return a sentence about the first field that does not fit, or None if all fit."""
    return None if message is None else next(_faults(request, message, type(request).__name__), None)


def _faults(value: Any, message: Descriptor, path: str) -> Iterator[str]:
    """Yield the faults of a struct, of a tuple that is the only field of its message, or of a pair."""
    if isinstance(value, msgspec.Struct):
        known = message.fields_by_name
        for name in value.__struct_fields__:
            if name in known:
                yield from _faults_of_field(getattr(value, name), known[name], f"{path}.{name}")
    elif len(message.fields) == 1:
        yield from _faults_of_field(value, message.fields[0], path)
    else:
        for field, part in zip(message.fields, value, strict=True):
            yield from _faults_of_field(part, field, f"{path}.{field.name}")


def _faults_of_field(value: Any, field: FieldDescriptor, path: str) -> Iterator[str]:
    if value is None:
        return
    each_of = [(f"{path}[{index}]", each) for index, each in enumerate(value)] if field.is_repeated else [(path, value)]
    for place, each in each_of:
        if field.message_type is not None:
            yield from _faults(each, field.message_type, place)
        elif not _is_taken(each, field):
            yield f"{place} is {_shown(each, field)}, which is not {_KINDS[field.type]}"


def _is_taken(value: Any, field: FieldDescriptor) -> bool:
    if field.containing_type is None:
        return True
    message = GetMessageClass(field.containing_type)()
    try:
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    except FAILURES:
        return False
    return True


def _shown(value: Any, field: FieldDescriptor) -> str:
    """Return the value as text, or its type only: bytes, and a config's value, may be secret."""
    may_be_secret = field.type == FieldDescriptor.TYPE_BYTES or (field.name == "value" and isinstance(value, str))
    if may_be_secret or not isinstance(value, str | int | float):
        return f"of type {type(value).__name__}"
    text = ascii(value) if isinstance(value, str) else _number(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _number(value: float) -> str:
    try:
        return repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"
