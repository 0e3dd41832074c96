"""A segment or checkpoint in pieces of whole batches, so that memory does not grow with the file.

Decides: where pieces end. The intact part of a file ends as in Kafka's tool, at an incomplete batch or at zeros up to
the end. Must not know: the use of the pieces. Only lengths are checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, Protocol

import msgspec

from metadata_log.errors import CorruptBatchError
from metadata_log.format.batch import HEADER_SIZE, LARGEST_BATCH, LOG_OVERHEAD, parse_header

PIECE_BYTES: Final = 1 << 20
_LEAST_HEAD: Final = 17
"""With fewer bytes left, Kafka does not look for another batch."""
_LENGTH: Final = struct.Struct(">i")
_ZEROS: Final = 4 << 20


class Readable(Protocol):
    """The part of a file's port that is needed here."""

    def pread(self, count: int, position: int) -> bytes:
        """Return up to `count` bytes at `position`; fewer only at the end of the file."""


class Piece(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whole batches: `size` bytes of a file from `position`, with which `buffer` begins (it may hold more)."""

    position: int
    size: int
    buffer: bytes

    @property
    def end(self) -> int:
        return self.position + self.size


def pieces(handle: Readable, size: int, start: int = 0) -> Iterator[Piece]:
    """Yield the pieces of the first `size` bytes of a file from `start`, where a batch begins; the rest is its tail.

    Raises:
        CorruptBatchError: a length that no batch has; after the piece before it.
    """
    position = start
    while size - position >= _LEAST_HEAD:
        buffer = handle.pread(min(PIECE_BYTES, size - position), position)
        whole, claimed = _walk(buffer, position)
        if not whole and claimed <= 0:
            if claimed == 0 and _only_zeros(handle, position, size):
                return
            parse_header(handle.pread(HEADER_SIZE, position), 0)
        if not whole:
            if position + claimed > size:
                return
            buffer = handle.pread(claimed, position)
            whole = claimed if len(buffer) == claimed else 0
            if not whole:  #   # the file was cut since its size was read
                return
        yield Piece(position=position, size=whole, buffer=buffer)
        position += whole


def _walk(buffer: bytes, position: int) -> tuple[int, int]:
    """Return how many bytes of whole batches the buffer begins with; if none is whole, also the size that the first
    claims.

    Of the latter, 0 is a length of zero, and a negative one is too small.

    Raises:
        CorruptBatchError: it claims more than any batch has.
    """
    at, end, unpack = 0, len(buffer), _LENGTH.unpack_from
    length = 0
    while at + LOG_OVERHEAD <= end:
        (length,) = unpack(buffer, at + 8)
        if length < HEADER_SIZE - LOG_OVERHEAD or at + LOG_OVERHEAD + length > end:
            break
        at += LOG_OVERHEAD + length
    if at:
        return at, 0
    if length < HEADER_SIZE - LOG_OVERHEAD:
        return 0, 0 if length == 0 else -1
    if LOG_OVERHEAD + length > LARGEST_BATCH:
        raise CorruptBatchError(f"length is {length}, more than any batch has", position=position)
    return 0, LOG_OVERHEAD + length


def _only_zeros(handle: Readable, position: int, end: int) -> bool:
    while position < end:
        chunk = handle.pread(min(_ZEROS, end - position), position)
        if not chunk or chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True
