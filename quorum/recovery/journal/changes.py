"""What a repair writes, as data: files of one log directory with their new content, and how content is copied.

Decides: nothing. Must not know: in which order and how safely it is written (`repair_record` and `carry_out` do).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.files.port import FileHandle, Files, parent_of
from quorum.recovery.journal.repair_facts import RepairFacts

_CHUNK_BYTES: Final = 1 << 20


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """New bytes of a file: where there is a `source`, `size` bytes of that file from `start` on; and then `data`.

    `patches`: bytes that take the place of as many of the source, by position from `start`.
    """

    data: bytes = b""
    source: str | None = None
    start: int = 0
    size: int = 0
    patches: tuple[tuple[int, bytes], ...] = ()


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file, by its name within the log directory, and what it is to hold; None: it is removed."""

    name: str
    content: Content | None


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """All that is done to one log directory. `facts` go into the audit file.

    `undoes`: the work directory of the repair that this takes back, and `unmakes` what else that one had made.
    """

    action: str
    log_dir: str
    changes: tuple[FileChange, ...]
    facts: RepairFacts = RepairFacts()
    undoes: str | None = None
    unmakes: tuple[str, ...] = ()


def chunks(files: Files, path: str, size: int | None = None, *, start: int = 0) -> Iterator[bytes]:
    """The bytes of a file from `start` on, or `size` of them.

    Raises:
        OSError: it cannot be read, or is shorter.
    """
    handle = files.open(path, read_only=True)
    try:
        end = handle.size() if size is None else start + size
        position = start
        while position < end:
            data = handle.pread(min(_CHUNK_BYTES, end - position), position)
            if not data:
                raise OSError(f"{path} ends at {position}, and {end} bytes of it were there before")
            yield data
            position += len(data)
    finally:
        handle.close()


def pieces(files: Files, content: Content) -> Iterator[bytes]:
    """The bytes that a content stands for."""
    if content.source is not None:
        yield from _patched(chunks(files, content.source, content.size, start=content.start), content.patches)
    if content.data:
        yield content.data


def _patched(parts: Iterator[bytes], patches: tuple[tuple[int, bytes], ...]) -> Iterator[bytes]:
    begin = 0
    for data in parts:
        end = begin + len(data)
        changed = bytearray(data)
        for position, patch in patches:
            first, last = max(position, begin), min(position + len(patch), end)
            if first < last:
                changed[first - begin : last - begin] = patch[first - position : last - position]
        yield bytes(changed)
        begin = end


def make_directories(files: Files, path: str, *, like: str, owner_of: str | None = None) -> None:
    """Make a directory and its parents where absent, each with the mode of the directory `like`, and its owner.

    `owner_of`: whose owner they get instead.
    """
    missing: list[str] = []
    while not files.exists(path):
        missing.append(path)
        path = parent_of(path)
    for made in reversed(missing):
        files.mkdirs(made)
        files.copy_access(like, made, owner_of=owner_of)


def sha256_of(files: Files, path: str) -> str | None:
    """Of a file, in hexadecimal; None where there is none."""
    if not files.exists(path):
        return None
    digest = hashlib.sha256()
    for data in chunks(files, path):
        digest.update(data)
    return digest.hexdigest()


def write_durably(files: Files, path: str, parts: Iterator[bytes], *, like: str, owner_of: str | None = None) -> str:
    """Write a file that is not in use and make its bytes durable; give their SHA-256. Its entry is not durable yet.

    It gets the mode and owner of `like`, or the owner of `owner_of`, before its first byte: a log holds credentials.
    """
    digest = hashlib.sha256()
    handle: FileHandle = files.open(path, create=True)
    try:
        handle.truncate(0)
        files.copy_access(like, path, owner_of=owner_of)
        position = 0
        for data in parts:
            handle.pwrite(data, position)
            digest.update(data)
            position += len(data)
        handle.fdatasync()
    finally:
        handle.close()
    return digest.hexdigest()
