"""Lengths, texts and tagged fields as bytes of Kafka's protocol, in both of its encodings.

Source: KIP-482: flexible versions have compact lengths, one more than the length and 0 for null.
"""

from __future__ import annotations

import struct
from typing import Final

LONGEST_TEXT: Final = 0x7FFF
"""In bytes, in every version. Compact lengths allow more, but Kafka rejects it."""
_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(0x80))
"""The encodings of unsigned numbers that fit one byte."""
_OF_AN_ARRAY: Final = struct.Struct(">i")
_OF_A_TEXT: Final = struct.Struct(">h")


def uvarint(value: int) -> bytes:
    """Return the encoding of an unsigned integer: seven bits a byte, the lowest first."""
    if value < len(_ONE_BYTE):
        return _ONE_BYTE[value]
    parts = bytearray()
    while value > 0x7F:
        parts.append((value & 0x7F) | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def array_length(length: int | None, *, is_flexible: bool) -> bytes:
    """Return the encoded length of an array, or of bytes; None is null."""
    return _length(length, _OF_AN_ARRAY, is_flexible=is_flexible)


def text_bytes(value: str | None, *, is_flexible: bool) -> bytes:
    """Return a text with its length in front; None is null.

    Raises:
        ValueError: the text is longer than `LONGEST_TEXT`.
    """
    if value is None:
        return _length(None, _OF_A_TEXT, is_flexible=is_flexible)
    encoded = value.encode()
    if len(encoded) > LONGEST_TEXT:
        raise ValueError(f"a text of {len(encoded)} bytes: the longest has {LONGEST_TEXT}")
    return _length(len(encoded), _OF_A_TEXT, is_flexible=is_flexible) + encoded


def tagged_field(tag: int, value: bytes) -> bytes:
    """Return a tagged field with its tag and length; the tag is below 128."""
    return _ONE_BYTE[tag] + uvarint(len(value)) + value


def _length(length: int | None, form: struct.Struct, *, is_flexible: bool) -> bytes:
    if is_flexible:
        return uvarint(0 if length is None else length + 1)
    return form.pack(-1 if length is None else length)
