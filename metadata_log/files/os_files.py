"""The port of `files.port` on the operating system.

Decides: which system calls keep the port's promises.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from _thread import allocate_lock
from contextlib import suppress
from typing import Final

from metadata_log.files.port import FileHandle, HeldLock, parent_of

_SMALL_READ: Final = 1 << 20
"""A read of at most so many bytes skips the call for the file's size."""
_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length (0: to the end), process id."""
_HAS_NO_LOCKS: Final = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class OsFileHandle:
    """An open file descriptor and its path. Errors of its system calls name no path, so this class adds it."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path

    def pread(self, count: int, position: int) -> bytes:
        """See the port. One call reads at most 2 GiB on Linux, so the call repeats until the file ends.

        The count is limited by the file's size: a corrupt length in a file must not allocate memory.
        """
        try:
            if count > _SMALL_READ:
                count = min(count, max(os.fstat(self._descriptor).st_size - position, _SMALL_READ))
            data = os.pread(self._descriptor, count, position)
            if len(data) == count or not data:
                return data
            parts = [data]
            read = len(data)
            while read < count and (data := os.pread(self._descriptor, count - read, position + read)):
                parts.append(data)
                read += len(data)
            return b"".join(parts)
        except OSError as error:
            raise self._named(error) from error

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """See the port. On a nearly full disk a call may write only a part; the next one then raises the reason."""
        try:
            written = os.pwrite(self._descriptor, data, position)
            while written < len(data):
                written += os.pwrite(self._descriptor, memoryview(data)[written:], position + written)
        except OSError as error:
            raise self._named(error) from error

    def truncate(self, size: int) -> None:
        """See the port."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._named(error) from error

    def fdatasync(self) -> None:
        """See the port. fdatasync also makes a changed size durable."""
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise self._named(error) from error

    def size(self) -> int:
        """See the port."""
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        """See the port."""
        os.close(self._descriptor)

    def _named(self, error: OSError) -> OSError:
        return OSError(error.errno, error.strerror, self._path)


class _OsLock:
    """A POSIX record lock. While it is held, no descriptor of the file is closed: that would release the lock."""

    _held: Final[set[str]] = set()
    _guard: Final = allocate_lock()

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        # Two POSIX locks of one process do not exclude each other, and closing a second descriptor of the file would
        # release the first lock: a second attempt within this process must not even open the file.
        with self._guard:
            if self._path in self._held:
                raise BlockingIOError(f"{path} is locked by this process")
            descriptor = _opened(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                raise BlockingIOError(f"{path} is locked by another process") from error
            self._held.add(self._path)
        self._descriptor = descriptor

    def release(self) -> None:
        """See the port."""
        with self._guard:
            self._held.discard(self._path)
            os.close(self._descriptor)

    @classmethod
    def holder(cls, path: str) -> int | None:
        """See the port, `lock_holder`. F_GETLK reports other processes' locks; a file locked here is not opened."""
        with cls._guard:
            if os.path.realpath(path) in cls._held:
                return None
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            try:
                asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                kind, _, _, _, holder = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
            except OSError as error:
                if error.errno in _HAS_NO_LOCKS:  # a file system without locks: no process can hold one
                    return None
                raise OSError(error.errno, error.strerror, path) from error
            finally:
                os.close(descriptor)
        return None if kind == fcntl.F_UNLCK else max(int(holder), 0)


def _opened(path: str, flags: int) -> int:
    """Open a file. A new file has no access for others, and the group bits of its directory."""
    if not flags & os.O_CREAT:
        return os.open(path, flags)
    while True:
        try:
            descriptor = os.open(path, flags | os.O_EXCL, 0o600 | _group_bits(parent_of(path)) & 0o060)
            _set_group_bits(path, os.fstat(descriptor), 0o060)
            return descriptor
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
        try:
            return os.open(path, flags & ~os.O_CREAT)
        except FileNotFoundError:
            if os.path.islink(path):  # a link to a file that does not exist yet
                return os.open(path, flags, 0o600)


def _group_bits(directory: str) -> int:
    try:
        return os.stat(directory).st_mode & 0o070
    except OSError:  # the following call fails, too, and its error has the caller's path
        return 0


def _set_group_bits(path: str, made: os.stat_result, bits: int) -> None:
    """Give a new file or directory the group bits of its parent if the group may write there, whatever the umask.

    Such a parent is shared: each pod of a cluster may run as another user of the same group. If the new entry has
    another group than its parent, that group gets no access.
    """
    directory = os.stat(parent_of(path))
    mode = stat.S_IMODE(made.st_mode)
    if made.st_gid != directory.st_gid:
        wanted = mode & ~0o070
    elif directory.st_mode & stat.S_IWGRP:
        wanted = mode | directory.st_mode & bits
    else:
        wanted = mode
    if wanted != mode:
        os.chmod(path, wanted)


class OsFiles:
    """The port on the operating system."""

    flags = 0
    """Flags added to each `open`, for subclasses."""

    def check(self, found: os.stat_result, path: str) -> None:
        """Raise an OSError to reject a file that was just opened. This class accepts every file."""

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """See the port."""
        flags = os.O_CLOEXEC | (os.O_RDONLY if read_only else os.O_RDWR)
        flags |= (os.O_CREAT if create else 0) | (os.O_EXCL if exclusive else 0)
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        descriptor = _opened(path, flags | os.O_NONBLOCK | self.flags)
        found = os.fstat(descriptor)
        mode = found.st_mode
        if not stat.S_ISREG(mode) and (read_only or not stat.S_ISCHR(mode)):  # /dev/full is written to as a full disk
            os.close(descriptor)
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, not a regular file", path)
        try:
            self.check(found, path)
        except OSError:
            os.close(descriptor)
            raise
        return OsFileHandle(descriptor, path)

    def rename(self, source: str, target: str) -> None:
        """See the port."""
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """See the port."""
        os.unlink(path)

    def listdir(self, path: str) -> list[str]:
        """See the port."""
        return sorted(os.listdir(path))

    def exists(self, path: str) -> bool:
        """See the port. A link that leads to itself is an error: something else was to be there."""
        try:
            os.stat(path)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ELOOP:
                raise
            return False
        return True

    def is_dir(self, path: str) -> bool:
        """See the port."""
        return os.path.isdir(path)

    def is_link(self, path: str) -> bool:
        """See the port."""
        return os.path.islink(path)

    def rmdir(self, path: str) -> None:
        """See the port."""
        os.rmdir(path)

    def mkdirs(self, path: str) -> None:
        """See the port."""
        missing: list[str] = []
        at = os.path.abspath(path)
        while not os.path.isdir(at):
            missing.append(at)
            at = parent_of(at)
        for made in reversed(missing):
            os.mkdir(made, 0o700 | _group_bits(parent_of(made)))
            _set_group_bits(made, os.stat(made), 0o070)
            self.fsync_dir(parent_of(made))

    def copy_access(self, source: str, target: str, *, owner_of: str | None = None) -> None:
        """See the port."""
        model, own = os.stat(source), os.stat(target)
        owner = model if owner_of is None else os.stat(owner_of)
        mode = stat.S_IMODE(model.st_mode) & 0o777
        gid = own.st_gid
        if (own.st_uid, own.st_gid) != (owner.st_uid, owner.st_gid):
            with suppress(PermissionError):
                os.chown(target, owner.st_uid if os.geteuid() == 0 else -1, owner.st_gid)
                gid = owner.st_gid
        if gid != model.st_gid:  # the target has another group, which gets the access of others
            mode &= 0o707 | (mode & 0o007) << 3
        is_dir = stat.S_ISDIR(own.st_mode)
        if stat.S_ISDIR(model.st_mode) and not is_dir:
            mode &= 0o666
        os.chmod(target, mode | (0o700 if is_dir else 0o600))

    def keep_private(self, path: str) -> None:
        """See the port."""
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)

    def fsync_dir(self, path: str) -> None:
        """See the port."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> HeldLock:
        """See the port. A POSIX lock, as Java's `FileChannel.lock`: each process sees the other's (flock does not)."""
        return _OsLock(path)

    def lock_holder(self, path: str) -> int | None:
        """See the port. The id is 0 for a process of another container or host."""
        return _OsLock.holder(path)
