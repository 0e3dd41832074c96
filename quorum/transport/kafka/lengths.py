"""Lengths, and the texts and tagged fields behind them, as bytes of Kafka's protocol, in both of its forms.

Decides: how they stand in a message. Must not know: in which.

Source: KIP-482: flexible versions have compact lengths, one more than the length and 0 for null.
"""

from __future__ import annotations

import struct
from typing import Final

LONGEST_TEXT: Final = 0x7FFF
"""In bytes, in every version: compact lengths could say more, and Kafka refuses it."""
_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(0x80))
"""Unsigned numbers that fit one byte."""
_OF_AN_ARRAY: Final = struct.Struct(">i")
_OF_A_TEXT: Final = struct.Struct(">h")


def uvarint(value: int) -> bytes:
    """An unsigned integer, seven bits a byte, the lowest first."""
    if value < len(_ONE_BYTE):
        return _ONE_BYTE[value]
    parts = bytearray()
    while value > 0x7F:
        parts.append((value & 0x7F) | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def array_length(length: int | None, *, is_flexible: bool) -> bytes:
    """Of an array, or of bytes; None is null's."""
    return _length(length, _OF_AN_ARRAY, is_flexible=is_flexible)


def text_bytes(value: str | None, *, is_flexible: bool) -> bytes:
    """A text behind its length; None is null's.

    Raises:
        ValueError: it is longer than a text may be.
    """
    if value is None:
        return _length(None, _OF_A_TEXT, is_flexible=is_flexible)
    encoded = value.encode()
    if len(encoded) > LONGEST_TEXT:
        raise ValueError(f"a text of {len(encoded)} bytes: the longest has {LONGEST_TEXT}")
    return _length(len(encoded), _OF_A_TEXT, is_flexible=is_flexible) + encoded


def tagged_field(tag: int, value: bytes) -> bytes:
    """A tagged field, behind its tag and its length; tags below 128."""
    return _ONE_BYTE[tag] + uvarint(len(value)) + value


def _length(length: int | None, form: struct.Struct, *, is_flexible: bool) -> bytes:
    if is_flexible:
        return uvarint(0 if length is None else length + 1)
    return form.pack(-1 if length is None else length)
