"""Protobuf messages before they are parsed: the number of their elements, and the fields of one message.

Decides: which messages are rejected before any object is made of them. Must not know: the content of a request.

A message of 4 MiB may hold two million empty elements, which take a tenth of a second and 150 MB to parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple, TypeVar, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from quorum.node.process.large_requests import AT_ONCE_BYTES, Done, LargeRequests
from quorum.node.process.rounds import LEAST_COST

M = TypeVar("M", bound=Message)

NUMBERS_AN_ELEMENT: Final = 8
"""So many numbers or texts of a list count as one element."""
FIELDS_AN_ELEMENT: Final = 10
"""The fields that may be set for each allowed element; the largest, an ACL, has seven."""
MOST_AT_ONCE: Final = 1_000
"""The most elements of a request that is handled at once. One with more waits for the turn of a large request."""
_SLICE: Final = 1_024
"""Fields that are read before the loop gets its turn: a millisecond."""
_DEEPEST: Final = 100
LENGTH_FIRST: Final = 2
"""The wire type of texts, lists and nested messages."""
_VARINT, _FIXED64, _FIXED32 = 0, 1, 5
_CONTINUED: Final = bytes(range(128, 256))
"""The bytes of a number except its last."""
_MOST_VARINT_BYTES: Final = 10


class TooManyElementsError(Exception):
    """A message holds more elements than are allowed."""


Part = tuple[int, int, int, int]
"""A field of a message: its number, its wire type, and the begin and end of its payload."""


class _Field(NamedTuple):
    """A field that may hold elements, and their weight."""

    nested: Descriptor | None
    is_repeated: bool
    number_bytes: int
    """The size of each packed number; 0 if sizes differ, -1 if it holds no numbers."""


def fields_in(raw: bytes, begins_at: int = 0, ends_at: int | None = None) -> Iterator[Part]:
    """Yield the fields of a message, in order.

    Raises:
        DecodeError: it is malformed, or has groups.
    """
    at, end = begins_at, len(raw) if ends_at is None else ends_at
    while at < end:
        tag = raw[at]
        at += 1
        if tag > 127:
            tag, at = _varint(raw, at - 1)
        payload_at, wire_type = at, tag & 7
        if wire_type == LENGTH_FIRST:
            size = raw[at] if at < end else 0
            payload_at = at + 1
            if size > 127:
                size, payload_at = _varint(raw, at)
            at = payload_at + size
        elif wire_type == _VARINT:
            _, at = _varint(raw, at)
        elif wire_type == _FIXED64:
            at += 8
        elif wire_type == _FIXED32:
            at += 4
        else:
            raise DecodeError(f"the message has a field of wire type {wire_type}")
        if at > end or payload_at > end:
            raise DecodeError("a field of the message has no end")
        yield tag >> 3, wire_type, payload_at, at


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for byte in raw[at : at + _MOST_VARINT_BYTES]:
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise DecodeError("a number of the message has no end")


async def check_elements(raw: bytes, descriptor: Descriptor, most: int) -> None:
    """Count the elements of a message at all depths; the loop runs meanwhile.

    Raises:
        TooManyElementsError: there are more than `most`.
        DecodeError: it is malformed.
    """
    for _ in _Count(raw, most).message(descriptor, 0, len(raw), 0):
        await asyncio.sleep(0)


class _Count:
    """The elements and fields of one message."""

    def __init__(self, raw: bytes, most: int) -> None:
        self._raw = raw
        self._most = most
        self._most_fields = most * FIELDS_AN_ELEMENT
        self._elements = 0
        self._fields = 0

    def message(self, descriptor: Descriptor, begins_at: int, ends_at: int, depth: int) -> Iterator[None]:
        """Count the elements of a nested message; pause after each slice."""
        if depth > _DEEPEST:
            raise DecodeError("the message is nested too deeply")
        known, lists = _fields_of(descriptor), dict[int, int]()
        for number, wire_type, payload_at, payload_ends_at in fields_in(self._raw, begins_at, ends_at):
            self._fields += 1
            if self._fields % _SLICE == 0:
                yield
            field = known.get(number)
            if field is None:
                pass
            elif field.nested is None:
                numbers = self._numbers_in(field, wire_type, payload_at, payload_ends_at)
                lists[number] = lists.get(number, 0) + numbers
            elif wire_type == LENGTH_FIRST:
                self._elements += field.is_repeated
                if payload_at < payload_ends_at:
                    yield from self.message(field.nested, payload_at, payload_ends_at, depth + 1)
            self._check()
        self._elements += sum(numbers // NUMBERS_AN_ELEMENT for numbers in lists.values())
        self._check()

    def _check(self) -> None:
        if self._elements > self._most or self._fields > self._most_fields:
            raise TooManyElementsError(f"the request holds more than {self._most} elements: divide it")

    def _numbers_in(self, field: _Field, wire_type: int, payload_at: int, ends_at: int) -> int:
        if wire_type != LENGTH_FIRST or field.number_bytes < 0:
            return 1
        if field.number_bytes:
            return (ends_at - payload_at) // field.number_bytes
        return len(self._raw[payload_at:ends_at].translate(None, _CONTINUED))


def emptied(raw: bytes, most: int) -> bytes:
    """Return a message of the same fields, whose texts, lists and nested messages are empty.

    Raises:
        TooManyElementsError: it has more than `most` fields.
        DecodeError: it is malformed.
    """
    kept = bytearray()
    begins_at = 0
    for count, (_, wire_type, _payload_at, ends_at) in enumerate(fields_in(raw)):
        if count >= most:
            raise TooManyElementsError(f"a message has more than {most} fields")
        if wire_type == LENGTH_FIRST:
            _, tag_ends_at = _varint(raw, begins_at)
            kept += raw[begins_at:tag_ends_at] + b"\0"
        else:
            kept += raw[begins_at:ends_at]
        begins_at = ends_at
    return bytes(kept)


@cache
def _lists_of(descriptor: Descriptor) -> tuple[str, ...]:
    return tuple(field.name for field in descriptor.fields if field.is_repeated)


def elements_in(message: Message) -> int:
    """Return the total length of a message's own lists."""
    count = 0
    for name in _lists_of(cast("Descriptor", message.DESCRIPTOR)):
        count += len(getattr(message, name))
    return count


_SIZES: Final = {
    FieldDescriptor.TYPE_BOOL: 1,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_STRING: -1,
    FieldDescriptor.TYPE_BYTES: -1,
}


@cache
def _fields_of(descriptor: Descriptor) -> dict[int, _Field]:
    """Return the fields that may hold elements, by their numbers."""
    return {
        field.number: _Field(field.message_type, field.is_repeated, _SIZES.get(field.type, 0))
        for field in descriptor.fields
        if field.message_type is not None or field.is_repeated
    }


async def parsed_in_turn(
    large: LargeRequests, address: str, raw: bytes, kind: type[M], most: int, *, held: int | None = None
) -> tuple[M, Done]:
    """Wait for the turn of a large message, count its elements and parse it; return the function to call once it is
    answered.

    `held` are the bytes that wait with it, if more than its own. A rejected message takes its turn as well.

    Raises:
        TooManyWaitError, TooManyElementsError: it is rejected.
        DecodeError: it is malformed.
    """
    done = await large.turn(address, len(raw) if held is None else held)
    try:
        await check_elements(raw, cast("Descriptor", kind.DESCRIPTOR), most)
        return kind.FromString(raw), done
    except BaseException:
        done()
        raise


async def parsed_in_round(
    large: LargeRequests, address: str, raw: bytes, kind: type[M], most: int
) -> tuple[M, Done | None]:
    """Parse a message in a round, or in the turn of a large one if it has many bytes or elements.

    Raises:
        TooManyWaitError, TooManyElementsError: it is rejected.
        DecodeError: it is malformed.
    """
    if len(raw) <= AT_ONCE_BYTES:
        if not large.rounds.admits(len(raw)):
            await large.rounds.turn(address, len(raw))
        message = kind.FromString(raw)
        if (elements := elements_in(message)) <= MOST_AT_ONCE:
            large.rounds.charge(len(raw), LEAST_COST * elements)
            return message, None
        del message
    return await parsed_in_turn(large, address, raw, kind, most)
