"""The demo's directory: one of its own, replaced by the next run, never anybody else's.

Decides: what may be replaced. A marker file says that a demo made the directory, and is locked while one uses it.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metadata_log.tools.new_files import writing_to
from quorum.cli.errors import CliError, wrong_use

MARKER: Final = ".kraft-demo"
_TEXT: Final = "Made by `kraft demo`; the next `kraft demo` with this directory replaces everything in it.\n"


def as_written(path: Path) -> Path:
    """As a person would write it: from where they are, if it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@contextlib.contextmanager
def own_directory(path: Path) -> Iterator[Path]:
    """An empty directory at `path` for as long as the block lasts; what a demo left there before is removed.

    Raises:
        CliError: something is there that no demo made, or another demo is running there.
    """
    path = path.absolute()
    marker = path / MARKER
    with writing_to(path):
        _require_own(path, marker)
        path.mkdir(parents=True, exist_ok=True)
        opened = marker.open("a", encoding="utf-8")
    with opened as held:
        try:
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CliError(f"another kraft demo is running in {path}: wait for it, or use --directory") from error
        for child in path.iterdir():
            if child == marker:
                continue
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            else:
                child.unlink()
        held.truncate(0)
        held.write(_TEXT)
        held.flush()
        yield path


def _require_own(path: Path, marker: Path) -> None:
    if path.exists() and not path.is_dir():
        raise wrong_use(f"{path} is a file: name a directory with --directory")
    if path.is_dir() and not marker.is_file() and any(path.iterdir()):
        raise wrong_use(f"{path} was not made by kraft demo, and it is not empty: name another one with --directory")
