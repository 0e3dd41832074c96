"""New files of the tools: they appear whole or not at all. Errors name the path that the operator gave.

Decides: what remains if a write fails, and which path the error names. Must not know: the content.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.errors import WrongUseError
from metadata_log.files.os_files import OsFiles


class TargetError(WrongUseError):
    """The target of a command cannot be written."""


@contextmanager
def naming(path: Path, hidden: Path | None = None, *, is_target: bool = False) -> Iterator[None]:
    """Make an OSError name `path` if it names no file, or a file in the directory `hidden`, which no user will see.

    A failed write or sync names no file.

    Raises:
        TargetError: `is_target`, and this user may not write there.
    """
    try:
        yield
    except OSError as error:
        names_one = error.filename is not None and (hidden is None or not _is_within(error.filename, hidden))
        if error.errno is None or names_one:
            raise
        if is_target and isinstance(error, PermissionError):
            raise _not_permitted(path, error) from error
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


@contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Make a missing permission, for the target or for a directory above it, name the target.

    Raises:
        TargetError: this user may not write there. The user of a node may not be allowed to, either.
    """
    try:
        yield
    except PermissionError as error:
        raise _not_permitted(target, error) from error


def _not_permitted(target: Path, error: PermissionError) -> TargetError:
    return TargetError(f"{target} cannot be written: {error.strerror}: name a place where this user may write")


def _is_within(name: object, directory: Path) -> bool:
    return Path(os.fsdecode(name) if isinstance(name, str | bytes) else str(name)).is_relative_to(directory)


@contextmanager
def new_file(path: Path, mode: int | None = None, *, named: Path | None = None) -> Iterator[BinaryIO]:
    """Yield a new file to write to. It is durable after the block; if the block or the write fails, it is removed.

    `mode`: set whatever the umask. `named`: the path in errors, if another.

    Raises:
        FileExistsError: the path exists; it stays as it is.
        TargetError: this user may not write there.
        OSError: the file cannot be written; the error names it.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with writing_to(named or path):
        descriptor = os.open(path, flags, 0o666 if mode is None else 0o600)
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        with naming(named or path, is_target=True), os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def private_mode(*, group_readable: bool) -> int:
    """Return the mode of a file that may hold credentials; with `group_readable` its group may read it, too."""
    return 0o640 if group_readable else 0o600


def close_tree(directory: Path, *, group_readable: bool) -> None:
    """Close a directory and all below it to other users, whatever the umask; see `private_mode`."""
    mode = private_mode(group_readable=group_readable)
    for path in (directory, *directory.rglob("*")):
        path.chmod(mode | (mode & 0o444) >> 2 if path.is_dir() else mode)


@contextmanager
def new_directory(target: Path, *, group_readable: bool = False) -> Iterator[Path]:
    """Yield a hidden directory beside `target`, which is renamed to `target` after the block. If the block fails, it is
    removed.

    The directory is closed to other users, and its parents are created. `target` must not exist, or be empty.

    Raises:
        TargetError: the hidden name exists, and stays as it is; or this user may not write there.
        OSError: the directory cannot be written; the error names `target`.
    """
    beside = target.with_name(f".{target.name}.unfinished")
    with writing_to(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with naming(target, hidden=beside, is_target=True):
        try:
            beside.mkdir(mode=0o700)
        except FileExistsError:
            raise TargetError(
                f"{beside} is there: another command writes {target}, or was killed as it did. Remove it if it is left "
                "of that, or name another target"
            ) from None
    try:
        with naming(target, hidden=beside, is_target=True):
            yield beside
            close_tree(beside, group_readable=group_readable)
            os.rename(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    OsFiles().fsync_dir(str(target.parent))


def require_outside_of_logs(target: Path) -> None:
    """Raise if a target is within a log directory: a broker does not start with an unknown file in it.

    Raises:
        TargetError: it is within one, or this user may not search a directory above it.
    """
    for parent in target.resolve().parents:
        with writing_to(target):
            is_of_a_log = (parent / META_PROPERTIES_FILE).exists() or (parent / METADATA_DIRECTORY).is_dir()
        if is_of_a_log:
            raise TargetError(f"{target} is within the log directory {parent}: name a place outside of it")


def require_new_directory(target: Path, why: str) -> None:
    """Raise unless a directory does not exist or is empty, outside of any log directory.

    Raises:
        TargetError: the target is another; `why` says what to do.
    """
    require_outside_of_logs(target)
    if target.exists() and not target.is_dir():
        raise TargetError(f"{target} is there and no directory: {why}")
    above = next(parent for parent in target.absolute().parents if parent.exists())
    if not above.is_dir():
        raise TargetError(f"{target} cannot be made, {above} is no directory: {why}")
    with writing_to(target):
        is_full = target.exists() and any(target.iterdir())
    if is_full:
        raise TargetError(f"{target} is there and not empty: {why}")
