"""The variable-length integers of record batches: zig-zag, seven bits a byte, least significant first."""

from __future__ import annotations

from typing import Final

_MOST_BYTES: Final = 10


def varint(value: int) -> bytes:
    """Return the encoding of a signed integer of up to 64 bits."""
    left = (value << 1) ^ (value >> 63)
    if left < 0x80:
        return bytes((left,))
    written = bytearray()
    while left >= 0x80:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)
    return bytes(written)


def read_varint(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Return the signed integer at `position`, and the position after it.

    Raises:
        IndexError: the buffer ends within the integer.
        ValueError: the integer has more than ten bytes.
    """
    value = 0
    for index in range(_MOST_BYTES):
        byte = buffer[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + index + 1
    raise ValueError(f"the integer at position {position} does not end within {_MOST_BYTES} bytes")
