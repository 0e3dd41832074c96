"""The operating system's files, for tools that read a directory in which another user may write.

Decides: which files belong to that directory. Such a tool often runs as root. A link among the files would make it
copy, or overwrite, a file of another user.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle, HeldLock, parent_of

_A_LINK: Final = (
    "it is a link, which may lead to a file of another user: put the file itself in its place, or remove the link"
)


class OwnFiles(OsFiles):
    """The port, but a path's last part may not be a link, and each opened file must be its directory's own.

    Such a file belongs to the owner of its directory, or to the group that may write there. With `strict=False` another
    owner's file passes if it has a single hard link: an unprivileged user can plant only a second name of a file.
    """

    flags = os.O_NOFOLLOW

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        """See the port."""
        try:
            return super().open(path, create=create, exclusive=exclusive, read_only=read_only)
        except OSError as error:
            if error.errno == errno.ELOOP and os.path.islink(path):
                raise OSError(errno.ELOOP, _A_LINK, path) from error
            raise

    def lock(self, path: str) -> HeldLock:
        """See the port."""
        if os.path.islink(path):
            raise OSError(errno.ELOOP, _A_LINK, path)
        return super().lock(path)

    def check(self, found: os.stat_result, path: str) -> None:
        """Check that an opened file is its directory's own.

        Raises:
            PermissionError: the file is another user's.
        """
        directory = os.stat(parent_of(path))
        is_own = found.st_uid == directory.st_uid
        is_shared = found.st_gid == directory.st_gid and directory.st_mode & stat.S_IWGRP
        if is_own or is_shared or (not self._strict and found.st_nlink == 1):
            return
        raise PermissionError(
            errno.EACCES,
            f"it belongs to user {found.st_uid}, and its directory to user {directory.st_uid}: it may be another's "
            "file with a second name here",
            path,
        )


def require_own_directory(path: str) -> None:
    """Check that a directory is not a link, or one made by root or the owner of its target.

    Raises:
        PermissionError: another user made the link.
    """
    maker = os.lstat(path)
    if stat.S_ISLNK(maker.st_mode) and maker.st_uid not in (0, os.stat(path).st_uid):
        raise PermissionError(
            errno.EACCES, f"user {maker.st_uid} has linked it to {os.path.realpath(path)}, another user's", path
        )
