"""Random damage to bytes, such as disks, crashes and other software may do to a log, and beyond.

Must not know: what reads them. The same seed gives the same damage.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

from metadata_log.errors import CorruptBatchError, UnsupportedBatchError
from metadata_log.format.batch import CRC_COVERS_FROM, CRC_POSITION, HEADER_SIZE, LOG_OVERHEAD, MAGIC, parse_header
from metadata_log.format.crc import crc32c
from metadata_log.format.varint import varint

_CORNERS: Final = (0, 1, -1, 2, 48, 49, 60, 61, 127, 128, 2**15, 2**31 - 1, -(2**31), 2**30)


def mutate(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Make one to three changes of any kind; half of the time, correct the checksums afterwards."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 3)):
        if changed:
            draw.choice(_KINDS)(changed, draw, others)
    if draw.random() < 0.5:
        seal(changed)
    return bytes(changed)


def seal(content: bytearray) -> None:
    """Correct the checksum of every batch that can still be found, so that readers look inside."""
    at = 0
    while len(content) - at >= HEADER_SIZE:
        try:
            header = parse_header(content, at)
        except (CorruptBatchError, UnsupportedBatchError):
            return
        end = at + header.size_in_bytes
        if end > len(content):
            return
        checksum = crc32c(bytes(content[at + CRC_COVERS_FROM : end]))
        content[at + CRC_POSITION : at + CRC_COVERS_FROM] = checksum.to_bytes(4, "big")
        at = end


def _flip(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)


def _overwrite(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    at = draw.randrange(len(content))
    content[at : at + draw.randint(1, 16)] = draw.randbytes(draw.randint(1, 16))


def _zeros(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    at = draw.randrange(len(content))
    size = min(draw.choice((1, 8, 61, 512)), len(content) - at)
    content[at : at + size] = bytes(size)


def _cut(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    del content[draw.randrange(len(content)) :]


def _delete(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    at = draw.randrange(len(content))
    del content[at : at + draw.randint(1, 80)]


def _insert(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    at = draw.randrange(len(content))
    content[at:at] = draw.randbytes(draw.randint(1, 80))


def _splice(content: bytearray, draw: random.Random, others: Sequence[bytes]) -> None:
    other = draw.choice(others)
    start = draw.randrange(len(other))
    at = draw.randrange(len(content))
    content[at : at + draw.randint(0, 200)] = other[start : start + draw.randint(1, 200)]


def _append(content: bytearray, draw: random.Random, others: Sequence[bytes]) -> None:
    content += draw.choice(others)


def _length(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    _number(content, draw, 8)


def _count(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    _number(content, draw, HEADER_SIZE - 4)


def _number(content: bytearray, draw: random.Random, at: int) -> None:
    if len(content) >= HEADER_SIZE:
        value = draw.choice(_CORNERS) if draw.random() < 0.7 else draw.randint(0, 5000)
        content[at : at + 4] = value.to_bytes(4, "big", signed=True)


def _varint(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    at = draw.randrange(min(HEADER_SIZE, len(content) - 1), len(content))
    number = varint(draw.choice((*_CORNERS, 2**62, -(2**62)))) if draw.random() < 0.8 else b"\xff" * 12
    content[at : at + draw.choice((1, len(number)))] = number


def _compressed_or_older(content: bytearray, draw: random.Random, _: Sequence[bytes]) -> None:
    if len(content) > LOG_OVERHEAD + 11:
        if draw.random() < 0.5:
            content[LOG_OVERHEAD + 10] |= draw.randint(1, 7)
        else:
            content[16] = draw.choice((0, 1, MAGIC + 1, 255))


_KINDS: Final[tuple[Callable[[bytearray, random.Random, Sequence[bytes]], None], ...]] = (
    _flip, _flip, _overwrite, _zeros, _cut, _delete, _insert, _splice, _append, _length, _count, _varint, _varint,
    _compressed_or_older,
)  # fmt: skip
