"""A metadata directory as of one moment, while a node may go on writing to it.

Decides: in which order names, sidecar files and lengths are taken, so that nothing read later seems lost or damaged.
Must not know: the content of the files.

The files beside a segment may prove how far the log reached. So they are read before the segments' lengths are taken: a
log that grows in between is longer than was proved, never shorter. Bytes that are appended later are ignored.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import FileHandle, Files, HeldLock, read_file, read_small_file
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.storage.checkpoint import CHECKPOINT_SUFFIX
from metadata_log.storage.segment import segment_bases, segment_file

_SEGMENT_SUFFIX: Final = ".log"
_TRIES: Final = 4
_T = TypeVar("_T")


def read_at_one_moment(files: Files, directory: str, read: Callable[[OneMoment], _T]) -> _T:
    """Return the result of `read` on the directory. If a node removed or cut a file meanwhile, read again.

    Raises:
        OSError: the directory cannot be read, or changes during each of `_TRIES` attempts.
    """
    for _ in range(_TRIES):
        moment = OneMoment(files, directory)
        try:
            found = read(moment)
        except FileNotFoundError:
            if moment.is_still_there():
                raise
        else:
            if moment.is_still_there():
                return found
    raise OSError(errno.EAGAIN, "its files were removed or cut while they were read, again and again", directory)


class OneMoment:
    """A read-only `Files` port: `directory` as it was at construction, all other paths as they are.

    Raises:
        OSError: the directory cannot be listed.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self.names = tuple(files.listdir(directory)) if files.exists(directory) else ()
        # This order: a sidecar file must never prove more than the lengths taken after it show.
        self._contents = dict(self._small_files())
        self._sizes = dict(self._lengths())

    def _small_files(self) -> list[tuple[str, bytes]]:
        last = max(segment_bases(list(self.names)), default=None)
        # Only the last segment's indexes can prove how far the log reached.
        indexes = () if last is None else (segment_file(int(last), ".index"), segment_file(int(last), ".timeindex"))
        found = []
        for name in (QUORUM_STATE_FILE, EPOCH_FILE, *indexes):
            path = f"{self._directory}/{name}"
            read = read_file if name in indexes else read_small_file
            if name in self.names:
                with suppress(OSError, CorruptFileError):  # `open` raises it again
                    found.append((path, read(self._files, path)))
        return found

    def _lengths(self) -> list[tuple[str, int]]:
        found = []
        for name in self.names:
            path = f"{self._directory}/{name}"
            if name.endswith(_SEGMENT_SUFFIX):
                with suppress(OSError):  # `open` raises it again
                    found.append((path, self._length(path)))
        return found

    def _length(self, path: str) -> int:
        handle = self._files.open(path, read_only=True)
        try:
            return handle.size()
        finally:
            handle.close()

    def is_still_there(self) -> bool:
        """Return True if no segment or checkpoint was removed or cut since construction. Otherwise the caller must read
        again."""
        now = frozenset(self._files.listdir(self._directory)) if self._files.exists(self._directory) else frozenset()
        kept = (name for name in self.names if name.endswith((_SEGMENT_SUFFIX, CHECKPOINT_SUFFIX)))
        try:
            return now.issuperset(kept) and all(self._length(path) >= size for path, size in self._sizes.items())
        except FileNotFoundError:
            return False

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """See the port; a segment ends at its length at construction."""
        if create or exclusive or not read_only:
            raise _read_only(path)
        content = self._contents.get(path)
        if content is not None:
            return _Content(content, path)
        handle = self._files.open(path, read_only=True)
        size = self._sizes.get(path)
        return handle if size is None else _Beginning(handle, size, path)

    def listdir(self, path: str) -> list[str]:
        """See the port."""
        return list(self.names) if path == self._directory else self._files.listdir(path)

    def exists(self, path: str) -> bool:
        """See the port."""
        if os.path.dirname(path) == self._directory:
            return os.path.basename(path) in self.names
        return self._files.exists(path)

    def is_dir(self, path: str) -> bool:
        """See the port."""
        return self._files.is_dir(path)

    def is_link(self, path: str) -> bool:
        """See the port."""
        return self._files.is_link(path)

    def lock_holder(self, path: str) -> int | None:
        """See the port."""
        return self._files.lock_holder(path)

    def rename(self, source: str, target: str) -> None:
        """Refuse: read-only."""
        raise _read_only(source)

    def unlink(self, path: str) -> None:
        """Refuse: read-only."""
        raise _read_only(path)

    def rmdir(self, path: str) -> None:
        """Refuse: read-only."""
        raise _read_only(path)

    def mkdirs(self, path: str) -> None:
        """Refuse: read-only."""
        raise _read_only(path)

    def copy_access(self, source: str, target: str, *, owner_of: str | None = None) -> None:
        """Refuse: read-only."""
        raise _read_only(target)

    def keep_private(self, path: str) -> None:
        """Refuse: read-only."""
        raise _read_only(path)

    def fsync_dir(self, path: str) -> None:
        """Refuse: read-only."""
        raise _read_only(path)

    def lock(self, path: str) -> HeldLock:
        """Refuse: read-only."""
        raise _read_only(path)


class _ReadOnly:
    """The writing methods of a file handle, which all raise EROFS."""

    _path: str

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        raise _read_only(self._path)

    def truncate(self, size: int) -> None:
        raise _read_only(self._path)

    def fdatasync(self) -> None:
        raise _read_only(self._path)


class _Content(_ReadOnly):
    """A small file with the content it had when it was read."""

    def __init__(self, content: bytes, path: str) -> None:
        self._content = content
        self._path = path

    def pread(self, count: int, position: int) -> bytes:
        return self._content[position : position + count]

    def size(self) -> int:
        return len(self._content)

    def close(self) -> None:
        """Do nothing: no file is open."""


class _Beginning(_ReadOnly):
    """The first `size` bytes of a file that may have grown since; fewer if it was cut."""

    def __init__(self, handle: FileHandle, size: int, path: str) -> None:
        self._handle = handle
        self._size = min(size, handle.size())
        self._path = path

    def pread(self, count: int, position: int) -> bytes:
        return self._handle.pread(max(min(count, self._size - position), 0), position)

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        self._handle.close()


def _read_only(path: str) -> OSError:
    return OSError(errno.EROFS, os.strerror(errno.EROFS), path)


_NAMED: Final = re.compile(r"\d{20}[.-].*|leader-epoch-checkpoint|quorum-state", re.ASCII)


def directory_signature(directory: Path) -> tuple[tuple[str, int, int], ...]:
    """Return name, size and modification time of each file of the log. They change when a node works on the
    directory."""
    found = []
    for child in sorted(directory.iterdir()):
        if _NAMED.fullmatch(child.name):
            try:
                status = child.stat()
            except FileNotFoundError:
                continue
            found.append((child.name, status.st_size, status.st_mtime_ns))
    return tuple(found)
