"""A file system in memory for tests and the simulator, with crashes, torn writes, flipped bits and full disks.

Decides: what a crash may leave. Deterministic: all randomness comes from the 64-bit draw that `crash` takes.

After a crash a file has its synced bytes and a prefix of the later writes and truncations. The last of them may be torn
at any byte. A directory has the entries that `fsync_dir` made durable and a prefix of the later creations, renames and
removals. Each file and each directory keeps its own prefix. A failed sync drops the changes that it should have made
durable, as Linux does; reads show them until the crash. A second sync then succeeds without making them durable.
"""

from __future__ import annotations

import errno
from collections import Counter
from posixpath import basename, normpath

from metadata_log.files.port import FileHandle, HeldLock, parent_of
from metadata_log.files.simulated_media import Change, Directory, Inode, draws_from


class SimulatedCrash(Exception):
    """The process died in the middle of a call. The test calls `SimulatedFiles.crash` and opens everything again."""


class SimulatedFiles:
    """The port, in memory; its attributes may be set at any time.

    Attributes:
        free_bytes: how much files may still grow; None is without limit. A write that exceeds it writes what fits.
        read_only: every changing call raises EROFS.
        crash_at: raises `SimulatedCrash` in the changing call of this number, counted from 1 as `changes` does.
        changes: changing calls so far (writes, truncations, syncs, creations, renames, removals).
        calls: calls so far by their name.
    """

    def __init__(self) -> None:
        self.free_bytes: int | None = None
        self.read_only = False
        self.crash_at: int | None = None
        self.changes = 0
        self.calls: Counter[str] = Counter()
        self._failures: list[tuple[str, str, int]] = []
        self._directories: dict[str, Directory] = {"/": Directory()}
        self._locks: set[str] = set()
        self._boot = 0

    def crash(self, draw: int) -> None:
        """Crash process and machine: changes that are not durable may be lost. Open files and locks are void."""
        draws = draws_from(draw)
        for _, directory in sorted(self._directories.items()):
            directory.crash(draws)
            for _, inode in sorted(directory.now.items(), key=lambda entry: entry[0]):
                inode.crash(draws)
        self._locks.clear()
        self._failures.clear()
        self.crash_at = None
        self._boot += 1

    def fail_next(self, call: str, *, path: str = "", error: int = errno.EIO) -> None:
        """Let the next call of this name (`fdatasync`, `pwrite`, `rename` ...) on a path that contains `path` fail."""
        self._failures.append((call, path, error))

    def calm(self) -> None:
        """Cancel all pending faults: injected failures, the crash, the size limit and read-only mode."""
        self._failures.clear()
        self.crash_at = None
        self.free_bytes = None
        self.read_only = False

    def fail_next_fsync(self, path: str = "") -> None:
        """Let the next `fdatasync` of a file whose path contains `path` fail with EIO."""
        self.fail_next("fdatasync", path=path)

    def rot(self, path: str, position: int, mask: int) -> None:
        """Flip the bits of `mask` in the byte at `position`, also in the durable content."""
        inode = self._inode(normpath(path))
        inode.now[position] ^= mask
        if position < len(inode.durable):
            inode.durable[position] ^= mask
            inode.changed_from = 0

    def content(self, path: str) -> bytes:
        """Return a file's bytes as a read now shows them."""
        return bytes(self._inode(normpath(path)).now)

    def media(self, path: str) -> Directory:
        """Return a directory's names and files, current and durable, for checks of durability."""
        return self._directories[normpath(path)]

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """See the port."""
        path = normpath(path)
        directory = self._directory_of(path)
        inode = directory.now.get(basename(path))
        if inode is not None and create and exclusive:
            raise FileExistsError(errno.EEXIST, "it exists", path)
        if inode is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._begin("open", path)
            inode = Inode()
            directory.change({basename(path): inode})
            self._end()
        elif self.read_only and not read_only:
            raise OSError(errno.EROFS, "read-only file system", path)
        return _SimulatedHandle(self, path, inode, self._boot)

    def rename(self, source: str, target: str) -> None:
        """See the port. Between two directories, each has its own change. A renamed directory is durable at once."""
        source, target = normpath(source), normpath(target)
        if source in self._directories:
            self._rename_directory(source, target)
            return
        inode = self._inode(source)
        origin, goal = self._directory_of(source), self._directory_of(target)
        self._begin("rename", source)
        if origin is goal:
            origin.change({basename(source): None, basename(target): inode})
        else:
            goal.change({basename(target): inode})
            origin.change({basename(source): None})
        self._end()

    def unlink(self, path: str) -> None:
        """See the port."""
        path = normpath(path)
        self._inode(path)
        self._begin("unlink", path)
        self._directory_of(path).change({basename(path): None})
        self._end()

    def listdir(self, path: str) -> list[str]:
        """See the port."""
        path = normpath(path)
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        below = [basename(name) for name in self._directories if name != "/" and parent_of(name) == path]
        return sorted([*below, *self._directories[path].now])

    def exists(self, path: str) -> bool:
        """See the port."""
        path = normpath(path)
        parent = self._directories.get(parent_of(path))
        return path in self._directories or (parent is not None and basename(path) in parent.now)

    def is_dir(self, path: str) -> bool:
        """See the port."""
        return normpath(path) in self._directories

    def is_link(self, path: str) -> bool:
        """See the port. This file system has no links."""
        return False

    def rmdir(self, path: str) -> None:
        """See the port. The removal is durable at once."""
        path = normpath(path)
        if self.listdir(path):
            raise OSError(errno.ENOTEMPTY, "the directory is not empty", path)
        self._begin("rmdir", path)
        del self._directories[path]
        self._end()

    def mkdirs(self, path: str) -> None:
        """See the port."""
        path = normpath(path)
        missing = []
        while path not in self._directories:
            missing.append(path)
            path = parent_of(path)
        for made in reversed(missing):
            self._begin("mkdirs", made)
            self._directories[made] = Directory()
            self._end()

    def copy_access(self, source: str, target: str, *, owner_of: str | None = None) -> None:
        """See the port. This file system has no modes."""

    def keep_private(self, path: str) -> None:
        """See the port. This file system has no modes."""

    def fsync_dir(self, path: str) -> None:
        """See the port."""
        path = normpath(path)
        self._begin("fsync_dir", path)
        self._directories[path].sync()
        self._end()

    def lock(self, path: str) -> HeldLock:
        """See the port."""
        path = normpath(path)
        if path in self._locks:
            raise BlockingIOError(f"{path} is locked")
        self.open(path, create=True).close()
        self._locks.add(path)
        return _SimulatedLock(self._locks, path)

    def lock_holder(self, path: str) -> int | None:
        """See the port. There is only one process here, so no other holds a lock."""
        return None

    def _rename_directory(self, source: str, target: str) -> None:
        if self.exists(target):
            raise OSError(errno.ENOTEMPTY, "the target exists", target)
        self._begin("rename", source)
        for name in [name for name in self._directories if name == source or name.startswith(source + "/")]:
            self._directories[target + name[len(source) :]] = self._directories.pop(name)
        self._end()

    def _directory_of(self, path: str) -> Directory:
        directory = self._directories.get(parent_of(path))
        if directory is None:
            raise FileNotFoundError(errno.ENOENT, "no such directory", parent_of(path))
        return directory

    def _inode(self, path: str) -> Inode:
        inode = self._directory_of(path).now.get(basename(path))
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return inode

    def _begin(self, call: str, path: str) -> None:
        """Count a changing call, and raise an injected failure or the crash of a sync.

        A sync that the crash interrupts has made nothing durable.
        """
        self.calls[call] += 1
        self.changes += 1
        for failure in self._failures:
            if failure[0] == call and failure[1] in path:
                self._failures.remove(failure)
                raise OSError(failure[2], "injected", path)
        if self.read_only:
            raise OSError(errno.EROFS, "read-only file system", path)
        if self.changes == self.crash_at and call in ("fdatasync", "fsync_dir"):
            raise SimulatedCrash(f"in {call} of {path}")

    def _end(self) -> None:
        """Raise the crash during a call that is not a sync: the call is done, and not durable."""
        if self.changes == self.crash_at:
            raise SimulatedCrash(f"at change {self.changes}")


class _SimulatedLock:
    def __init__(self, locks: set[str], path: str) -> None:
        self._locks = locks
        self._path = path

    def release(self) -> None:
        self._locks.discard(self._path)


class _SimulatedHandle:
    """An open file. Every call raises after a crash."""

    def __init__(self, files: SimulatedFiles, path: str, inode: Inode, boot: int) -> None:
        self._files = files
        self._path = path
        self._inode = inode
        self._boot = boot

    def _check(self) -> None:
        if self._boot != self._files._boot:
            raise OSError(errno.EBADF, "opened before the crash", self._path)

    def pread(self, count: int, position: int) -> bytes:
        self._check()
        return bytes(self._inode.now[position : position + count])

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        self._check()
        files = self._files
        files._begin("pwrite", self._path)
        growth = max(0, position + len(data) - len(self._inode.now))
        fits = len(data)
        if files.free_bytes is not None:
            fits -= max(0, growth - files.free_bytes)
            files.free_bytes -= min(growth, files.free_bytes)
        self._change(Change(position, bytes(data[: max(0, fits)])))
        if fits < len(data):
            raise OSError(errno.ENOSPC, "no space left on device", self._path)
        files._end()

    def truncate(self, size: int) -> None:
        self._check()
        self._files._begin("truncate", self._path)
        if self._files.free_bytes is not None:
            self._files.free_bytes += max(0, len(self._inode.now) - size)
        self._change(Change(size, None))
        self._files._end()

    def fdatasync(self) -> None:
        self._check()
        try:
            self._files._begin("fdatasync", self._path)
        except OSError:
            self._inode.pending.clear()
            raise
        self._inode.sync()

    def size(self) -> int:
        self._check()
        return len(self._inode.now)

    def close(self) -> None:
        self._files.calls["close"] += 1

    def _change(self, change: Change) -> None:
        change.apply(self._inode.now)
        self._inode.pending.append(change)
