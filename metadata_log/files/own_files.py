"""The operating system's files, for tools that copy out of a directory that another user may write in.

Decides: which files are that directory's own. Must not know: which files there are.

Such a tool often runs as root. A link among the files would make it copy, or write over, a file of another user.
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
    """The port without links as last part of a path.

    A file that is read must belong to the owner of its directory, or to the group that may write there.
    With `strict=False` a file of another owner passes if it has one name: a user without rights cannot plant it.
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
        """Let a file pass that is its directory's own.

        Raises:
            PermissionError: it is another user's.
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
    """Let a directory pass that is no link, or a link that root or the owner of the directory has made.

    Raises:
        PermissionError: another user has made the link.
    """
    maker = os.lstat(path)
    if stat.S_ISLNK(maker.st_mode) and maker.st_uid not in (0, os.stat(path).st_uid):
        raise PermissionError(
            errno.EACCES, f"user {maker.st_uid} has linked it to {os.path.realpath(path)}, another user's", path
        )
