"""Reading at many positions of one buffer at once, with numpy: numbers, lengths and ranges of bytes.

Decides: which rows are wrong. A row that ends too early, or has a length that no reader accepts, is marked. It goes on
from its end, so that no read leaves the buffer. Must not know: records and their fields.
"""

from __future__ import annotations

from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]

PADDING: Final = 16
"""Zeros after the last row, so that a fixed-size read at a row's end stays in the buffer."""
_MOST_UVARINT_BYTES: Final = 5
_MOST_LENGTH: Final = 2**31 - 1
_MORE: Final = 0x80
_SEVEN_BITS: Final = 0x7F


class Rows:
    """A position in each of many byte strings, the rows, which share one padded buffer.

    Attributes:
        at: the position of each row, in bytes from the buffer's start.
        end: one past the last byte of each row.
        bad: True for each row that cannot be read as its declaration says.
    """

    __slots__ = ("_bytes", "_padded", "at", "bad", "end")

    def __init__(self, padded: bytes, at: Ints, end: Ints) -> None:
        self._padded = padded
        self._bytes = np.frombuffer(padded, np.uint8)
        self.at, self.end = at, end
        self.bad: Bools = np.zeros(len(at), np.bool_)

    @classmethod
    def of_values(cls, values: list[bytes]) -> Self:
        """Return a row for each of these values."""
        end = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
        at = np.concatenate((np.zeros(1, np.int64), end[:-1]))[: len(values)]
        return cls(b"".join(values) + bytes(PADDING), at, end)

    def __len__(self) -> int:
        return len(self.at)

    def part(self, chosen: Ints, at: Ints | None = None, end: Ints | None = None) -> Rows:
        """Return the chosen rows as rows of their own, by default with the same positions."""
        return Rows(self._padded, self.at[chosen] if at is None else at, self.end[chosen] if end is None else end)

    def refuse(self, wrong: Bools) -> None:
        """Mark these rows as bad and move them to their ends."""
        if wrong.any():
            self.bad |= wrong
            self.at = np.where(wrong, self.end, self.at)

    def skip(self, count: Ints | int) -> None:
        """Advance each row by `count` bytes. A row that would pass its end is bad."""
        after = self.at + count
        self.refuse(after > self.end)
        self.at = np.minimum(after, self.end)

    def numbers(self, kind: str, size: int) -> npt.NDArray[Any]:
        """Return the big-endian number of `size` bytes at each row, of numpy's type `kind`, and advance."""
        found = self.values_at(self.at, kind, size)
        self.skip(size)
        return found

    def values_at(self, at: Ints, kind: str, size: int) -> npt.NDArray[Any]:
        """Return the values of `size` bytes at these positions, which may be at any byte."""
        count = len(self._padded) - size + 1
        every: npt.NDArray[Any] = np.ndarray((count,), kind, self._padded, strides=(1,))
        found: npt.NDArray[Any] = every[at]
        return found

    def frames(self) -> Ints:
        """Return the first three bytes of each row as one number, without advancing."""
        first, second, third = (self._bytes[self.at + index].astype(np.int64) for index in range(3))
        return first << 16 | second << 8 | third

    def uvarints(self) -> Ints:
        """Return the unsigned varint of at most 31 bits at each row, and advance."""
        first = self._bytes[self.at]
        value = first.astype(np.int64)
        if not len(first) or int(first.max()) < _MORE:
            self.skip(1)
            return value
        value &= _SEVEN_BITS
        length = np.ones(len(first), np.int64)
        more = np.flatnonzero(first >= _MORE)
        for index in range(1, _MOST_UVARINT_BYTES):
            byte = self._bytes[np.minimum(self.at[more] + index, self.end[more])].astype(np.int64)
            value[more] |= (byte & _SEVEN_BITS) << (7 * index)
            length[more] += 1
            more = more[byte >= _MORE]
            if not len(more):
                break
        wrong = value > _MOST_LENGTH
        wrong[more] = True
        self.skip(length)
        self.refuse(wrong)
        value[wrong] = 0
        return value

    def lengths(self) -> Ints:
        """Return the compact length at each row, -1 for null, and advance. It is 0 in a row that is too short for
        it."""
        found = self.uvarints() - 1
        wrong = (found > self.end - self.at) | self.bad
        self.refuse(wrong & ~self.bad)
        found[wrong] = 0
        return found

    def bytes_of(self, starts: Ints, lengths: Ints) -> tuple[npt.NDArray[np.int32], Bytes]:
        """Return Arrow's offsets and the joined bytes of these ranges."""
        ends = np.cumsum(lengths)
        offsets = np.zeros(len(lengths) + 1, np.int32)
        offsets[1:] = ends
        total = int(ends[-1]) if len(ends) else 0
        return offsets, self._bytes[np.repeat(starts - offsets[:-1], lengths) + np.arange(total)]
