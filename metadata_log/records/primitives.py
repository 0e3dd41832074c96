"""Functions for the generated codec: lengths, strings, arrays and tags of Kafka's flexible messages, and its errors.

The generated code handles lengths of one byte inline, and calls these functions for the rest. A reading function takes
the position of the length, and returns the value and the position after it. It may raise IndexError, struct.error,
UnicodeDecodeError and MalformedRecordError; `serde` turns all of them into one error.

Encoded lengths of strings and arrays are one greater: 0 is null (KIP-482).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final, TypeAlias

from metadata_log.errors import InvariantViolation, MalformedRecordError

MAX_STRING: Final = 32767
"""Bytes of UTF-8: Kafka neither reads nor writes a longer string."""

_MAX_UVARINT_BYTES: Final = 5
_MAX_LENGTH: Final = 2**31 - 1

ONE: Final = tuple(bytes((value,)) for value in range(128))
"""The encoding of each number that an unsigned varint has in one byte."""

_Read: TypeAlias = Callable[[bytes, int], tuple[Any, ...]]

_INT32S: Final = [Struct(f">{count}i").unpack_from for count in range(127)]
_UUIDS: Final = [Struct("16s" * count).unpack_from for count in range(127)]


def _refuse_null(v: bytes, p: int) -> tuple[int, ...]:
    raise MalformedRecordError(f"null before byte {p}, where an array must stand")


READ_INT32S: Final[tuple[_Read, ...]] = (_refuse_null, *_INT32S)
READ_UUIDS: Final[tuple[_Read, ...]] = (_refuse_null, *_UUIDS)
"""Readers of arrays by the encoded length, if that has one byte."""

PACK_INT32S: Final = tuple(Struct(f">B{max(length - 1, 0)}i").pack for length in range(128))
"""Writers of arrays with their length, by the encoded length."""

TAGGED: Final = 33
"""A tagged array of int32 with a smaller encoded length has a size of one byte."""

PACK_TAGGED_INT32S: Final = tuple(Struct(f">BBB{max(length - 1, 0)}i").pack for length in range(TAGGED))
"""Writers of tag, size and array, by the encoded length."""


def uvarint(value: int) -> bytes:
    """Encode an unsigned number, seven bits a byte, least significant first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(v: bytes, p: int) -> tuple[int, int]:
    """Read an unsigned number of at most five bytes and 31 bits."""
    value = 0
    for index in range(_MAX_UVARINT_BYTES):
        byte = v[p + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > _MAX_LENGTH:
                break
            return value, p + index + 1
    raise MalformedRecordError(f"the number at byte {p} is too large")


def read_length(v: bytes, p: int) -> tuple[int, int]:
    """Read a length, -1 for null; raise if it exceeds the remaining bytes (an element has at least one byte)."""
    length, p = read_uvarint(v, p)
    length -= 1
    if length > len(v) - p:
        raise MalformedRecordError(f"the length before byte {p} is {length}, but only {len(v) - p} bytes follow")
    return length, p


def read_count(v: bytes, p: int) -> tuple[int, int]:
    """Read the length of an array that may not be null."""
    length, p = read_length(v, p)
    if length < 0:
        raise MalformedRecordError(f"null before byte {p}, where an array must stand")
    return length, p


def read_string(v: bytes, p: int) -> tuple[str, int]:
    """Read a compact string."""
    text, p = read_nullable_string(v, p)
    if text is None:
        raise MalformedRecordError(f"null before byte {p}, where a string must stand")
    return text, p


def read_nullable_string(v: bytes, p: int) -> tuple[str | None, int]:
    """Read a compact nullable string."""
    length, p = read_length(v, p)
    if length < 0:
        return None, p
    if length > MAX_STRING:
        raise MalformedRecordError(f"the string at byte {p} has {length} bytes, more than {MAX_STRING}")
    return v[p : p + length].decode(), p + length


def read_bytes(v: bytes, p: int) -> tuple[bytes, int]:
    """Read compact bytes."""
    length, p = read_count(v, p)
    return v[p : p + length], p + length


def read_strings(v: bytes, p: int) -> tuple[tuple[str, ...], int]:
    """Read a compact array of compact strings."""
    count, p = read_count(v, p)
    texts = []
    for _ in range(count):
        text, p = read_string(v, p)
        texts.append(text)
    return tuple(texts), p


def read_int32s(v: bytes, p: int) -> tuple[tuple[int, ...], int]:
    """Read a compact array of int32."""
    count, p = read_count(v, p)
    return Struct(f">{count}i").unpack_from(v, p), p + 4 * count


def read_nullable_int32s(v: bytes, p: int) -> tuple[tuple[int, ...] | None, int]:
    """Read a compact nullable array of int32."""
    return read_int32s(v, p) if v[p] else (None, p + 1)


def read_uuids(v: bytes, p: int) -> tuple[tuple[bytes, ...], int]:
    """Read a compact array of ids."""
    count, p = read_count(v, p)
    end = p + 16 * count
    if end > len(v):
        raise MalformedRecordError(f"{count} ids at byte {p} reach past the end of the record")
    return tuple([v[start : start + 16] for start in range(p, end, 16)]), end


def read_nullable_uuids(v: bytes, p: int) -> tuple[tuple[bytes, ...] | None, int]:
    """Read a compact nullable array of ids."""
    return read_uuids(v, p) if v[p] else (None, p + 1)


def read_tag_head(v: bytes, p: int) -> tuple[int, int, int]:
    """Read a tag's head: tag, end of the content, position of the content."""
    tag, p = read_uvarint(v, p)
    size, p = read_uvarint(v, p)
    return tag, p + size, p


def skip_tags(v: bytes, p: int) -> int:
    """Return the position after a section of unknown tags: a reader may ignore tagged fields (KIP-482)."""
    count, p = read_uvarint(v, p)
    for _ in range(count):
        _, p, _ = read_tag_head(v, p)
        if p > len(v):
            raise MalformedRecordError(f"a tagged field reaches {p - len(v)} bytes past the end of the record")
    return p


def long_string_length(length_plus_one: int) -> bytes:
    """Encode the length of a string that has 127 bytes or more."""
    if length_plus_one > MAX_STRING + 1:
        raise MalformedRecordError(f"a string has {length_plus_one - 1} bytes in UTF-8; {MAX_STRING} are allowed")
    return uvarint(length_plus_one)


def write_string(text: str) -> bytes:
    """Encode a compact string."""
    content = text.encode()
    return long_string_length(len(content) + 1) + content


def write_strings(texts: tuple[str, ...]) -> bytes:
    """Encode a compact array of compact strings."""
    return b"".join((array_length(len(texts)), *map(write_string, texts)))


def write_bytes(content: bytes) -> bytes:
    """Encode compact bytes."""
    return uvarint(len(content) + 1) + content


def write_int32s(values: tuple[int, ...]) -> bytes:
    """Encode a compact array of int32."""
    return array_length(len(values)) + Struct(f">{len(values)}i").pack(*values)


def write_uuids(ids: tuple[bytes, ...]) -> bytes:
    """Encode a compact array of ids."""
    for value in ids:
        if len(value) != 16:
            raise wrong_id(value)
    return array_length(len(ids)) + b"".join(ids)


def array_length(count: int) -> bytes:
    """Encode the length of an array."""
    return ONE[count + 1] if count < 127 else uvarint(count + 1)


def tagged(tag: bytes, content: bytes) -> bytes:
    """Encode a tagged field: tag, size, content."""
    size = len(content)
    return tag + (ONE[size] if size < 128 else uvarint(size)) + content


def wrong_end(v: bytes, p: int) -> MalformedRecordError:
    """Return the error of a record whose fields and bytes have different ends."""
    if p > len(v):
        return MalformedRecordError(f"it is cut short: {p - len(v)} bytes are missing")
    return MalformedRecordError(f"{len(v) - p} bytes are left over after its last field")


def wrong_tag(tag: int, p: int, end: int) -> MalformedRecordError:
    """Return the error of a tagged field whose content differs from its size."""
    return MalformedRecordError(f"the field of tag {tag} ends at byte {p}, its size says {end}")


def tag_of_newer_version(tag: int) -> MalformedRecordError:
    """Return the error of a tag that this record type has only in a later version."""
    return MalformedRecordError(f"tag {tag} is of a newer version of this record")


def wrong_id(value: bytes) -> MalformedRecordError:
    """Return the error of an id that has not 16 bytes: padding or cutting it would write another id."""
    return MalformedRecordError(f"an id has {len(value)} bytes, not 16: {value!r}")


def newer_field(name: str, version: int) -> InvariantViolation:
    """Return the error of a set field that the written version lacks: leaving it out would lose it silently."""
    return InvariantViolation(f"{name} is set, but version {version} does not have it")
