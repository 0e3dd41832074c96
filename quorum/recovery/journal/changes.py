"""The changes of a repair as data: files of one log directory with their new content, and the durable write of a file.

Must not know: the order of the writes (`carry_out` decides it).
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
    """New bytes of a file: `size` bytes of `source` from `start` on, if there is a source, followed by `data`.

    `patches` overwrite bytes of the source; each position counts from `start`.
    """

    data: bytes = b""
    source: str | None = None
    start: int = 0
    size: int = 0
    patches: tuple[tuple[int, bytes], ...] = ()


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file, by its name within the log directory, and its new content. None removes it."""

    name: str
    content: Content | None


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """All changes to one log directory. `facts` go into the audit file.

    `undoes`: the work directory of the repair that this one undoes. `unmakes`: see `RepairRecord`.
    """

    action: str
    log_dir: str
    changes: tuple[FileChange, ...]
    facts: RepairFacts = RepairFacts()
    undoes: str | None = None
    unmakes: tuple[str, ...] = ()


def chunks(files: Files, path: str, size: int | None = None, *, start: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a file from `start` on: `size` of them, by default all.

    Raises:
        OSError: the file cannot be read, or is shorter.
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
    """Yield the bytes that a content describes."""
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
    """Make a directory and its missing parents, each with mode and owner of the directory `like`.

    `owner_of`: a path whose owner they get instead.
    """
    missing: list[str] = []
    while not files.exists(path):
        missing.append(path)
        path = parent_of(path)
    for made in reversed(missing):
        files.mkdirs(made)
        files.copy_access(like, made, owner_of=owner_of)


def sha256_of(files: Files, path: str) -> str | None:
    """Return the SHA-256 of a file in hexadecimal, or None if there is no such file."""
    if not files.exists(path):
        return None
    digest = hashlib.sha256()
    for data in chunks(files, path):
        digest.update(data)
    return digest.hexdigest()


def write_durably(files: Files, path: str, parts: Iterator[bytes], *, like: str, owner_of: str | None = None) -> str:
    """Write a file that is not in use, make its bytes durable and return their SHA-256.

    The caller syncs the directory, which makes the file's entry durable. The file gets mode and owner of `like`, or the
    owner of `owner_of`.
    """
    digest = hashlib.sha256()
    handle: FileHandle = files.open(path, create=True)
    try:
        handle.truncate(0)
        # Before the first byte: a log holds credentials.
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
