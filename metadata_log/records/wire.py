"""The declaration of wire forms in record classes.

Each field of a record class is `Annotated[type, Wire(...)]`, with its default as usual. The generated codec, the JSON
form and the tests derive the wire form from `schema_of(cls)`. Must not know: records, bytes, JSON.

Wire forms are those of Kafka's flexible messages (KIP-482): bool, int8, int16, int32, int64, uint16, float64, uuid,
string, bytes, struct; `[]` before one makes it a compact array, `?` after it makes it nullable.
"""

from __future__ import annotations

import functools
import re
import types
import typing
from typing import Any, Final

import msgspec

FIXED_SIZES: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint16": 2,
    "float64": 8,
    "uuid": 16,
}
"""The number of bytes of each form of fixed size."""

WIRE_TYPES: Final = frozenset({*FIXED_SIZES, "string", "bytes", "struct"})


class Wire(msgspec.Struct, frozen=True):
    """The wire form of one field.

    `since` is the first version with the field. A `tag` makes it a tagged field, which is written only if it differs
    from its default. `json` is its name in Kafka's JSON, if that is not the attribute's name in camel case.
    """

    form: str
    since: int = 0
    tag: int | None = None
    json: str | None = None


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of one field of a record or of a struct in it."""

    name: str
    json_name: str
    wire_type: str
    is_array: bool
    nullable: bool
    since: int
    tag: int | None
    default: Any = msgspec.NODEFAULT
    element: type[msgspec.Struct] | None = None
    """The class of the struct if `wire_type` is "struct", otherwise None."""

    @property
    def has_default(self) -> bool:
        return self.default is not msgspec.NODEFAULT


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of a class: its fields in wire order."""

    record: type[msgspec.Struct]
    fields: tuple[Field, ...]

    def untagged(self, version: int) -> tuple[Field, ...]:
        """Return the untagged fields of this version, in wire order."""
        return tuple(field for field in self.fields if field.tag is None and field.since <= version)

    def tagged(self, version: int) -> tuple[Field, ...]:
        """Return the tagged fields of this version, by ascending tag."""
        fields = [field for field in self.fields if field.tag is not None and field.since <= version]
        return tuple(sorted(fields, key=lambda field: typing.cast(int, field.tag)))

    def newer(self, version: int) -> tuple[Field, ...]:
        """Return the fields that this version lacks."""
        return tuple(field for field in self.fields if field.since > version)


class DeclarationError(TypeError):
    """The annotation, wire form and default of a record class's field contradict each other."""


@functools.cache
def schema_of(record: type[msgspec.Struct]) -> Schema:
    """The declaration of `record`, checked.

    Raises:
        DeclarationError: a field has no Wire mark, an unknown form, a null where none may be, or lacks a default that
        its versions ask for.
    """
    hints = typing.get_type_hints(record, include_extras=True)
    fields = tuple(_field(record, info, hints[info.name]) for info in msgspec.structs.fields(record))
    tags = [field.tag for field in fields if field.tag is not None]
    if len(tags) != len(set(tags)):
        raise DeclarationError(f"{record.__name__} gives one tag to two fields")
    return Schema(record=record, fields=fields)


def _field(record: type[msgspec.Struct], info: msgspec.structs.FieldInfo, hint: Any) -> Field:
    where = f"{record.__name__}.{info.name}"
    marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Wire)]
    if len(marks) != 1:
        raise DeclarationError(f"{where} needs exactly one Wire mark")
    wire = marks[0]
    is_array, wire_type, nullable = _parse_form(where, wire.form)
    inner = _without_null(where, hint.__origin__, nullable)
    field = Field(
        name=info.name,
        json_name=wire.json or camel_case(info.name),
        wire_type=wire_type,
        is_array=is_array,
        nullable=nullable,
        since=wire.since,
        tag=wire.tag,
        default=info.default,
        element=_element(where, inner, is_array) if wire_type == "struct" else None,
    )
    if not field.has_default and (field.since > 0 or field.tag is not None):
        raise DeclarationError(f"{where} may be absent from the wire and so needs a default")
    return field


def _parse_form(where: str, form: str) -> tuple[bool, str, bool]:
    match = re.fullmatch(r"(\[\])?([a-z0-9]+)(\?)?", form)
    if match is None or match[2] not in WIRE_TYPES:
        raise DeclarationError(f"{where} has the wire form {form!r}, which is unknown")
    is_array, nullable = match[1] is not None, match[3] is not None
    if nullable and (match[2] == "struct" or not (is_array or match[2] in ("string", "bytes"))):
        raise DeclarationError(f"{where} is of a form that has no null: {form!r}")
    return is_array, match[2], nullable


def _without_null(where: str, hint: Any, nullable: bool) -> Any:
    is_union = isinstance(hint, types.UnionType)
    if is_union != nullable:
        raise DeclarationError(f"{where} is nullable in its annotation or in its wire form, but not in both")
    if not is_union:
        return hint
    return next(option for option in typing.get_args(hint) if option is not type(None))


def _element(where: str, hint: Any, is_array: bool) -> type[msgspec.Struct]:
    candidate = typing.get_args(hint)[0] if is_array else hint
    if not (isinstance(candidate, type) and issubclass(candidate, msgspec.Struct)):
        raise DeclarationError(f"{where} is declared as a struct, but its type is not one")
    return candidate


def camel_case(name: str) -> str:
    """Return `leader_epoch` as `leaderEpoch`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


@functools.cache  # of few names
def constant_case(name: str) -> str:
    """Return `NoOpRecord` as `NO_OP_RECORD`, the type's name in Kafka's tools."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
