"""The port to a file system: the calls that the log, the checkpoints, quorum-state and the lock need.

Decides: what each call promises, and how a small file is replaced so that a crash leaves the old or the new one.
Implemented by `os_files.OsFiles` and `simulated_files.SimulatedFiles`.

Paths are `str` with `/` between their parts. Every call raises `OSError` (`FileNotFoundError`, `ENOSPC`, `EIO`, ...) as
the operating system does.
"""

from __future__ import annotations

import os
from typing import Final, Protocol

from metadata_log.errors import CorruptFileError

READ_WHOLE_LIMIT: Final = 1 << 30
"""Bytes; `read_file` raises for a larger file, which might not fit in memory."""
SMALL_FILE_LIMIT: Final = 16 << 20
"""Bytes; `read_small_file` raises for a larger file. This is enough for the lines of some 400,000 partitions."""


class ReadHandle(Protocol):
    """An open file to read. Reads name their position: there is no cursor."""

    def pread(self, count: int, position: int) -> bytes:
        """Return up to `count` bytes at `position`; fewer only at the end of the file."""

    def size(self) -> int:
        """Return the file's length in bytes."""

    def close(self) -> None:
        """Close it, without making anything durable."""


class FileHandle(ReadHandle, Protocol):
    """An open file. Reads and writes name their position: there is no cursor."""

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data` at `position`, or raise. After an error any part of it may have been written."""

    def truncate(self, size: int) -> None:
        """Make the file `size` bytes long; zeros fill what is added."""

    def fdatasync(self) -> None:
        """Make the file's bytes and size durable.

        Never retry it after an error: the second call may succeed although the bytes are lost.
        """


class HeldLock(Protocol):
    """A lock that is held until it is released or the process ends."""

    def release(self) -> None:
        """Release the lock."""


class Files(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """Open a file, for reading and writing unless `read_only`.

        `create` makes it if absent; `exclusive`, with `create`, raises `FileExistsError` if it exists.
        A new file has no access for others, and the group bits of its directory.
        """

    def rename(self, source: str, target: str) -> None:
        """Give a file or directory another name, replacing a file of that name atomically."""

    def unlink(self, path: str) -> None:
        """Remove a file."""

    def listdir(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""

    def exists(self, path: str) -> bool:
        """Return True if a file or directory has this name."""

    def is_dir(self, path: str) -> bool:
        """Return True if it is a directory."""

    def is_link(self, path: str) -> bool:
        """Return True if it is a symbolic link, whatever it leads to."""

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""

    def mkdirs(self, path: str) -> None:
        """Make a directory and its missing parents. Their entries are durable when it returns.

        Each new directory has no access for others, and the group bits of its parent.
        """

    def copy_access(self, source: str, target: str, *, owner_of: str | None = None) -> None:
        """Give `target` the mode of `source`, and its owner and group as far as this process may.

        No user gets more access than to `source`, except that the owner of `target` may always read and write it. The
        execute bits of a directory are copied only to directories. `owner_of`: path to take owner and group from, if
        not `source`.
        """

    def keep_private(self, path: str) -> None:
        """Remove all access to a file or directory but its owner's."""

    def fsync_dir(self, path: str) -> None:
        """Make a directory's entries durable: creations, renames and removals in it."""

    def lock(self, path: str) -> HeldLock:
        """Take the exclusive lock of a lock file, which is created if absent.

        Raises:
            BlockingIOError: the lock is taken.
        """

    def lock_holder(self, path: str) -> int | None:
        """Return the id of another process that holds a lock file's lock, 0 if its id is unknown, or None.

        This takes no lock, and makes no file.
        """


def parent_of(path: str) -> str:
    """Return the directory of `path`."""
    return os.path.dirname(path) or "."


def read_file(files: Files, path: str) -> bytes:
    """Read a file whole.

    Raises:
        OSError: it has more than `READ_WHOLE_LIMIT` bytes, or a call failed.
    """
    handle = files.open(path, read_only=True)
    try:
        size = handle.size()
        if size > READ_WHOLE_LIMIT:
            raise OSError(f"{path} has {size} bytes, more than the {READ_WHOLE_LIMIT} that are read at once")
        return handle.pread(size, 0)
    finally:
        handle.close()


def read_small_file(files: Files, path: str) -> bytes:
    """Read a small file whole.

    Raises:
        CorruptFileError: it has more than `SMALL_FILE_LIMIT` bytes.
    """
    handle = files.open(path, read_only=True)
    try:
        size = handle.size()
        if size > SMALL_FILE_LIMIT:
            raise CorruptFileError(path, f"it has {size} bytes, and such a file never has more than {SMALL_FILE_LIMIT}")
        return handle.pread(size, 0)
    finally:
        handle.close()


def replace_file(files: Files, path: str, data: bytes, *, suffix: str = ".tmp") -> None:
    """Replace a small file durably. A crash at any moment leaves the old or the new file, complete.

    The order matters: the new content is synced before the rename, and the directory after it.
    """
    beside = path + suffix
    handle = files.open(beside, create=True)
    try:
        handle.truncate(0)
        handle.pwrite(data, 0)
        handle.fdatasync()
    finally:
        handle.close()
    files.rename(beside, path)
    files.fsync_dir(parent_of(path))
