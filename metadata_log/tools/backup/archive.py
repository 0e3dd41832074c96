"""The archive of a backup: a tar of two plain files, written and read in one form only.

Decides: the bytes of headers and padding, and which lengths are believed. Must not know: the members' content.

A length in a file is no reason to allocate memory: a sparse member of 10 KB may claim 60 GB. So only plain members are
read, and none may be longer than the rest of the file.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final, cast

from metadata_log.errors import MetadataLogError, WrongUseError

_BLOCK: Final = tarfile.BLOCKSIZE
_MAGIC: Final = b"ustar"
_MAGIC_AT: Final = 257
_PLAIN: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)
LONGEST_MEMBER: Final = 8**11 - 1
"""The largest size in bytes that a plain header can state. A longer member needs an extension, which is not read."""


class BackupError(MetadataLogError):
    """A backup cannot be written, read or restored; the message says why and what to do."""


class NoBackupError(BackupError, WrongUseError):
    """The path leads to no backup."""


def write_archive(file: IO[bytes], members: Mapping[str, bytes], mtime: int) -> None:
    """Write the archive. The same members and time give the same bytes."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o600
            member.mtime = min(max(mtime, 0), 8**11 - 1)  # any other time needs an extension
            archive.addfile(member, io.BytesIO(content))


class ArchiveReader:
    """Reads the members of an archive in their order, as `write_archive` wrote them."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Begin with the first member.

        Raises:
            NoBackupError: the file is no archive.
        """
        self._path = path
        self._file = file
        self._left = path.stat().st_size
        self._header = self._block()
        if not self._header.startswith(_MAGIC, _MAGIC_AT):
            raise NoBackupError(f"{path} is no backup that `kraft snapshot save` wrote")

    def member(self, name: str, limit: int) -> bytes:
        """Return the content of the next member, which must have this name and at most `limit` bytes.

        Raises:
            BackupError: the next member has another name, is no plain file, or is incomplete.
        """
        try:
            member = tarfile.TarInfo.frombuf(self._header or self._block(), tarfile.ENCODING, "surrogateescape")
        except tarfile.TarError as error:
            raise BackupError(f"{self._path} is damaged, or no backup: {error} where {name} is due") from error
        self._header = b""
        if member.type not in _PLAIN or member.name != name:
            raise BackupError(
                f"{self._path} is no backup that `kraft snapshot save` wrote: it holds no plain file {name} where one "
                "is due"
            )
        if not 0 <= member.size <= min(limit, self._left):
            raise BackupError(
                f"{self._path} is damaged: {name} in it claims {member.size} bytes, and at most {limit} are due, of "
                f"{self._left} that the file has left"
            )
        content = self._file.read(member.size)
        self._file.seek(-member.size % _BLOCK, io.SEEK_CUR)
        self._left -= member.size + -member.size % _BLOCK
        if len(content) != member.size:
            raise BackupError(f"{self._path} is damaged: it ends within {name}")
        return content

    def _block(self) -> bytes:
        self._left -= _BLOCK
        return self._file.read(_BLOCK)


def check_every_byte(path: Path, members: Mapping[str, bytes], mtime: int) -> None:
    """Compare the file with the bytes that `write_archive` gives for these members: no checksum covers headers and
    padding.

    Raises:
        BackupError: a byte differs, is missing, or is surplus.
    """
    with path.open("rb") as file:
        compared = _Compared(path, file)
        write_archive(cast("IO[bytes]", compared), members, mtime)
        if file.read(1):
            raise _other_bytes(path, compared.tell())


class _Compared:
    """A file object that compares written bytes with those of an existing file."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        self._position = 0

    def write(self, data: bytes) -> int:
        found = self._file.read(len(data))
        if found != data:
            pairs = enumerate(zip(found, data, strict=False))
            same = next((at for at, (one, other) in pairs if one != other), min(len(found), len(data)))
            raise _other_bytes(self._path, self._position + same)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position


def _other_bytes(path: Path, position: int) -> BackupError:
    return BackupError(
        f"{path} is damaged: byte {position} is not as `kraft snapshot save` wrote it, though its manifest and its "
        "checkpoint are whole: take another copy of it"
    )
