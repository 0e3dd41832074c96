"""Directories of `kraft demo` and `kraft dev`, and how a command names paths and itself.

Decides: which directory a command may use. A marker file says which command made it, and is locked while one uses it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from metadata_log.tools.new_files import writing_to
from quorum.cli.errors import CliError, wrong_use


class Owner(NamedTuple):
    """A command that makes a directory."""

    command: str
    option: str
    """The option that names the directory."""
    marker: str
    """The name of the file that this command locks."""
    text: str
    """The marker's content, for a person who finds it."""


DEMO: Final = Owner(
    command="kraft demo",
    option="--directory",
    marker=".kraft-demo",
    text="Made by `kraft demo`; the next `kraft demo` with this directory replaces everything in it.\n",
)
MARKER: Final = DEMO.marker
_TRIES: Final = 100


def as_written(path: Path) -> Path:
    """Return the path as a person would write it: relative if it lies below the working directory."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def kraft_command() -> str:
    """Return the word that calls this program in any directory: a name on the PATH, else a quoted path."""
    called = Path(sys.argv[0])
    if not called.is_file() or not os.access(called, os.X_OK):
        return "kraft"
    found = shutil.which(called.name)
    return called.name if found is not None and called.samefile(found) else shlex.quote(str(called.absolute()))


@contextlib.contextmanager
def held_directory(path: Path, owner: Owner) -> Iterator[Path]:
    """Make or find a directory of `owner`, and lock it within the block.

    Raises:
        CliError: the directory holds files that the command did not make, or is another user's, or is in use.
    """
    path = path.absolute()
    with _locked_marker(path, owner) as held:
        held.truncate(0)
        held.write(owner.text)
        held.flush()
        yield path


def _locked_marker(path: Path, owner: Owner) -> TextIO:
    """Make the directory if need be, and return its marker, locked.

    A command that ends unlinks its marker, and may do so between the open and the lock here. A lock on the unlinked
    file would exclude no other command: the next one makes another marker. So try again until both are one file.

    Raises:
        CliError: see `held_directory`.
    """
    marker = path / owner.marker
    for left in reversed(range(_TRIES)):
        try:
            with writing_to(path):
                _require_own(path, owner)
                path.mkdir(parents=True, exist_ok=True)
                held = marker.open("a", encoding="utf-8")
        except FileNotFoundError:  # the ending command has removed the directory, too
            if not left:
                raise
            continue
        try:
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(held.fileno()), marker.stat()):
                return held
        except FileNotFoundError:  # the marker is gone, and with it what this lock is worth
            pass
        except OSError as error:
            held.close()
            raise _in_use(path, owner) from error
        held.close()
    raise _in_use(path, owner)


def _in_use(path: Path, owner: Owner) -> CliError:
    return CliError(f"another {owner.command} is running in {path}: wait for it, or use {owner.option}")


@contextlib.contextmanager
def own_directory(path: Path) -> Iterator[Path]:
    """Make an empty directory at `path`, locked within the block. An earlier demo's files there are removed.

    Raises:
        CliError: the directory holds files that no demo made, or another demo uses it.
    """
    with held_directory(path, DEMO) as place:
        clear(place, DEMO)
        yield place


def clear(place: Path, owner: Owner) -> None:
    """Remove everything in the directory but the marker."""
    for child in place.iterdir():
        if child.name == owner.marker:
            continue
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()


def _require_own(path: Path, owner: Owner) -> None:
    if path.exists() and not path.is_dir():
        raise wrong_use(f"{path} is a file: name a directory with {owner.option}")
    if path.is_dir() and not (path / owner.marker).is_file() and any(path.iterdir()):
        raise wrong_use(
            f"{path} was not made by {owner.command}, and it is not empty: name another one with {owner.option}"
        )
    # Another user could lead what is written there elsewhere, by symbolic links.
    if path.is_dir() and (of := path.stat().st_uid) != os.geteuid():
        raise wrong_use(f"{path} belongs to another user (uid {of}): name another directory with {owner.option}")
