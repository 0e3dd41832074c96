"""Tables of the bytes around a value in a record batch. With them, reading or writing a record's frame is a look-up.

The tables fill on demand and are bounded.
"""

from __future__ import annotations

from typing import Final

from metadata_log.format.varint import varint


class Frames(dict[int, tuple[bytes, bytes]]):
    """Value length → the bytes of a record before and after its offset delta, if the delta takes `delta_size` bytes.

    A record's frame depends only on these two sizes, and metadata values have few different lengths. The first element
    begins with the zero header count of the record before.
    """

    _LARGEST_KEPT = 4096

    def __init__(self, delta_size: int) -> None:
        super().__init__()
        self._delta_size = delta_size

    def __missing__(self, length: int) -> tuple[bytes, bytes]:
        after = b"\x01" + varint(length)
        frame = (b"\x00" + varint(3 + self._delta_size + len(after) + length) + b"\x00\x00", after)
        if length <= self._LARGEST_KEPT:
            self[length] = frame
        return frame


DELTA_BOUNDS: Final = ((1 << 6, 1), (1 << 13, 2), (1 << 20, 3), (1 << 27, 4))
"""(bound, bytes): an offset delta below the bound takes so many bytes as a varint."""
FRAMES: Final = {size: Frames(size) for _, size in DELTA_BOUNDS}
_LOW_BYTES: Final = [bytes((byte,)) for byte in range(0x80, 0x100, 2)]
_HIGH_BYTES: Final = [bytes((byte,)) for byte in range(1, 0x80)]
DELTAS: Final = (
    *(bytes((byte,)) for byte in range(0, 0x80, 2)),
    *(low + high for high in _HIGH_BYTES for low in _LOW_BYTES),
)
"""The varint of every offset delta below 2^13."""


class BareShapes(dict[int, tuple[int, int, int]]):
    """Record length → position of the key length, position of the value, first byte of the value length.

    Positions count from the start of the record, after its length. The table assumes a record as metadata batches have
    it: timestamp delta zero, an offset delta of `delta_size` bytes, no key, no header. The caller checks the bytes of
    key length (1: null), value length and header count; if they differ, it decodes the record field by field.
    """

    _LARGEST_KEPT = 4096

    def __init__(self, delta_size: int) -> None:
        super().__init__()
        self._delta_size = delta_size

    def __missing__(self, length: int) -> tuple[int, int, int]:
        key_at = 2 + self._delta_size
        for size in range(1, 6):
            value_size = length - key_at - 2 - size
            if value_size < 0:
                break
            value_length = varint(value_size)
            if len(value_length) == size:
                shape = (key_at, key_at + 1 + size, value_length[0])
                if length <= self._LARGEST_KEPT:
                    self[length] = shape
                return shape
        return (key_at, key_at + 2, _NO_BYTE)


_NO_BYTE: Final = -1
BARE: Final = {size: BareShapes(size) for _, size in DELTA_BOUNDS}
