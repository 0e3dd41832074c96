"""The port to a file system: the few calls that the log, the checkpoints, quorum-state and the lock make of one.

Decides: what those calls promise, and how a small file is replaced so that a crash leaves the old or the new one. Must
not know: which files there are. Implemented by `os_files.OsFiles` and `simulated_files.SimulatedFiles`.

Paths are `str` with `/` between their parts. Every call raises `OSError` (`FileNotFoundError`, `ENOSPC`, `EIO`, ...) as
the operating system would; the callers turn it into an error of their own where one says more.
"""

from __future__ import annotations

import os
from typing import Final, Protocol

from metadata_log.errors import CorruptFileError

READ_WHOLE_LIMIT: Final = 1 << 30
"""`read_file` refuses more: what it reads is meant to fit in memory."""
SMALL_FILE_LIMIT: Final = 16 << 20
"""`read_small_file` refuses more: lines for some 400,000 partitions of one disk."""


class FileHandle(Protocol):
    """An open file. Reads and writes name their position: there is no cursor."""

    def pread(self, count: int, position: int) -> bytes:
        """Up to `count` bytes at `position`; fewer only at the end of the file."""

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data` at `position`, or raise. After an error any part of it may have been written."""

    def truncate(self, size: int) -> None:
        """Make the file `size` bytes long; zeros fill what is added."""

    def fdatasync(self) -> None:
        """Make the file's bytes and size durable. Never retry it after an error: the second may lie."""

    def size(self) -> int:
        """Its length in bytes."""

    def close(self) -> None:
        """Close it, without making anything durable."""


class HeldLock(Protocol):
    """A lock that is held until it is released or the process ends."""

    def release(self) -> None:
        """Give it back."""


class Files(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """Open a file, for reading and writing unless `read_only`.

        `create` makes it when absent; `exclusive`, with `create`, raises `FileExistsError` when it is there.
        A file that is made is closed to others, and has the group bits of its directory.
        """

    def rename(self, source: str, target: str) -> None:
        """Give a file or directory another name, replacing a file of that name atomically."""

    def unlink(self, path: str) -> None:
        """Remove a file."""

    def listdir(self, path: str) -> list[str]:
        """The names in a directory, sorted."""

    def exists(self, path: str) -> bool:
        """Whether a file or directory has this name."""

    def is_dir(self, path: str) -> bool:
        """Whether it is a directory."""

    def is_link(self, path: str) -> bool:
        """Return True if it is a symbolic link, whatever it leads to."""

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""

    def mkdirs(self, path: str) -> None:
        """Make a directory and its parents where absent. Their entries are durable when it returns.

        Each is closed to others, and has the group bits of its parent.
        """

    def copy_access(self, source: str, target: str, *, owner_of: str | None = None) -> None:
        """Give `target` the mode of `source`, and as far as this process may its owner and group: never a wider access.

        But its owner may always read and write it, also where `source` was kept read-only. A directory's right to be
        searched goes to directories only. `owner_of`: whose owner and group it gets, if not `source`'s.
        """

    def keep_private(self, path: str) -> None:
        """Close a file or directory to all but its owner."""

    def fsync_dir(self, path: str) -> None:
        """Make a directory's entries durable: what was created, renamed and removed in it."""

    def lock(self, path: str) -> HeldLock:
        """Take the exclusive lock of a lock file, which is created when absent.

        Raises:
            BlockingIOError: somebody else holds it.
        """

    def lock_holder(self, path: str) -> int | None:
        """The id of another process that holds the lock of a lock file, 0 where its id is not told; None: nobody does.

        It takes no lock, and makes no file.
        """


def parent_of(path: str) -> str:
    """The directory that holds `path`."""
    return os.path.dirname(path) or "."


def read_file(files: Files, path: str) -> bytes:
    """A whole file."""
    handle = files.open(path, read_only=True)
    try:
        size = handle.size()
        if size > READ_WHOLE_LIMIT:
            raise OSError(f"{path} has {size} bytes, more than the {READ_WHOLE_LIMIT} that are read at once")
        return handle.pread(size, 0)
    finally:
        handle.close()


def read_small_file(files: Files, path: str) -> bytes:
    """A whole file that is small wherever it is what it is called.

    Raises:
        CorruptFileError: it is too large to be that.
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
    """Replace a small file so that a crash at any moment leaves the old one or the new one, whole.

    Written beside it, synced, renamed over it, and the directory synced: durable when it returns.
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
