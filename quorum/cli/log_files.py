"""Which files a person means who names a path of a metadata log: a file, its directory, or a node's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from quorum.cli.errors import wrong_use

_METADATA_DIRECTORY: Final = "__cluster_metadata-0"


def files_of(paths: list[Path]) -> Iterator[Path]:
    """The segments and checkpoints that are meant, in order.

    Raises:
        CliError: a path does not exist, or holds none.
    """
    for path in paths:
        if path.is_file():
            yield path
            continue
        if not path.exists():
            raise wrong_use(f"{path} does not exist")
        found = _logs_in(metadata_logs(path) or path)
        if not found:
            raise wrong_use(f"{path} holds neither segments (.log) nor checkpoints, nor a {_METADATA_DIRECTORY}")
        yield from found


def metadata_logs(path: Path) -> Path | None:
    """The directory of the metadata log that `path` is or holds; None where it is neither."""
    if not path.is_dir():
        return None
    inside = path / _METADATA_DIRECTORY
    if inside.is_dir():
        return inside
    return path if _logs_in(path) else None


def _logs_in(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.suffix in (".log", ".checkpoint") and file.is_file())
