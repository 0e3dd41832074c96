"""Where replicas' logs hold different batches at the same offset.

Decides: what is the same batch (offsets, epoch, size, checksum: followers append a leader's batches unchanged). Must
not know: which side is right, and what the batches hold. Streams: memory does not grow with the logs.

Measured: 1.2 µs a batch and replica, one core.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from metadata_log.files.port import FileHandle, Files
from metadata_log.format.batch import CRC_COVERS_FROM, HEADER_SIZE, LOG_OVERHEAD, MAGIC
from metadata_log.format.crc import crc32c
from metadata_log.tools.read.scan import Damage, scan

_CHUNK_BYTES: Final = 1 << 20
_HEADER: Final = struct.Struct(">qiibIhi")
_Print: TypeAlias = tuple[int, int, int, int, int, str, int]
"""Base offset, next offset, epoch, checksum, size in bytes, file, position."""


class Held(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch that some replicas hold, and where the first of them has it."""

    epoch: int
    holders: frozenset[int]


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A way in which replicas divide: first at `offset`, at `count` base offsets in all, to before `end`.

    `places`: file and position of the batch at `offset`, by replica.
    """

    offset: int
    end: int
    count: int
    sides: tuple[Held, ...]
    places: dict[int, tuple[str, int]]


def compare(files: Files, replicas: Sequence[Sequence[str]]) -> list[Conflict]:
    """How the logs in these segments (paths, in order, for each replica) divide; damage and gaps are passed over.

    So is a segment that a running node removed after its log was verified: of what it has left, all is compared.

    Raises:
        OSError: a segment cannot be read.
    """
    streams = [_batches(files, segments) for segments in replicas]
    heads: dict[int, _Print] = {}
    for index, stream in enumerate(streams):
        _advance(heads, index, stream)
    found: dict[tuple[tuple[int, frozenset[int]], ...], Conflict] = {}
    while len(heads) > 1:
        low = min(head[0] for head in heads.values())
        here = {index: head for index, head in heads.items() if head[0] == low}
        prints = {head[1:5] for head in here.values()}
        if len(prints) > 1:
            _note(found, low, here)
        for index in here:
            _advance(heads, index, streams[index])
    return sorted(found.values(), key=lambda conflict: conflict.offset)


def _advance(heads: dict[int, _Print], index: int, stream: Iterator[_Print]) -> None:
    following = next(stream, None)
    if following is None:
        heads.pop(index, None)
    else:
        heads[index] = following


def _note(found: dict[tuple[tuple[int, frozenset[int]], ...], Conflict], offset: int, here: dict[int, _Print]) -> None:
    holders: dict[tuple[int, ...], set[int]] = {}
    for index, head in here.items():
        holders.setdefault(head[1:5], set()).add(index)
    sides = tuple(sorted((key[1], frozenset(held)) for key, held in holders.items()))
    end = max(head[1] for head in here.values())
    known = found.get(sides)
    if known is None:
        found[sides] = Conflict(
            offset=offset,
            end=end,
            count=1,
            sides=tuple(Held(epoch=epoch, holders=held) for epoch, held in sides),
            places={index: (head[5], head[6]) for index, head in here.items()},
        )
    else:
        found[sides] = msgspec.structs.replace(known, end=end, count=known.count + 1)


def _batches(files: Files, segments: Sequence[str]) -> Iterator[_Print]:
    """The sound batches of a log, in order. One whose offsets go back is passed over."""
    expected = -1
    for path in segments:
        try:
            handle = files.open(path, read_only=True)
        except FileNotFoundError:
            continue
        try:
            for found in _in_segment(handle, path):
                if found[0] >= expected:
                    expected = found[1]
                    yield found
        finally:
            handle.close()


def _in_segment(handle: FileHandle, path: str) -> Iterator[_Print]:
    limit = handle.size()
    position, wanted = 0, _CHUNK_BYTES
    while position < limit:
        buffer = handle.pread(min(wanted, limit - position), position)
        view, at = memoryview(buffer), 0
        while len(buffer) - at >= HEADER_SIZE:
            base, length, epoch, magic, crc, _, delta = _HEADER.unpack_from(buffer, at)
            end = at + LOG_OVERHEAD + length
            if magic != MAGIC or length < HEADER_SIZE - LOG_OVERHEAD or end > len(buffer):
                break
            if crc32c(view[at + CRC_COVERS_FROM : end]) != crc:
                break
            yield base, base + delta + 1, epoch, crc, end - at, path, position + at
            at = end
        position += at
        if at == 0:
            passed = _pass_damage(handle, path, position, limit)
            if passed is None:
                return
            if passed[1] is not None:
                yield passed[1]
            position = passed[0]


def _pass_damage(handle: FileHandle, path: str, position: int, limit: int) -> tuple[int, _Print | None] | None:
    """Where to read on after what does not fit or is not sound, with the batch if it was only a large one."""
    seen = next(scan(handle, position, limit), None)
    if seen is None:
        return None
    if isinstance(seen, Damage):
        return seen.end, None
    header = seen.header
    size = header.size_in_bytes
    found = (header.base_offset, header.next_offset, header.partition_leader_epoch, header.crc, size, path, position)
    return position + size, found
