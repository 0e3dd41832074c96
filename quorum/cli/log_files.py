"""Which files a person means who names a path of a metadata log: a file, its directory, a node's, or several nodes'."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from metadata_log.directory import METADATA_DIRECTORY
from quorum.cli.errors import wrong_use

_LOG_FILE: Final = re.compile(r"\d{20}\.log|\d{20}-\d{10}\.checkpoint|bootstrap\.checkpoint", re.ASCII)


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
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
        if not path.is_dir():
            raise wrong_use(f"{path} is neither a file nor a directory: a pipe cannot be read twice, so save it first")
        found = [file for directory in metadata_logs(path) for file in _logs_in(directory)]
        if not found:
            raise wrong_use(f"{path} holds neither segments (.log) nor checkpoints, nor a {METADATA_DIRECTORY}")
        yield from found


def metadata_logs(path: Path) -> list[Path]:
    """The directories of metadata logs that `path` is or holds; none where it is no directory of the kind.

    Raises:
        CliError: it does not exist, or holds logs of several clusters.
    """
    if not path.exists():
        raise wrong_use(f"{path} does not exist")
    if not path.is_dir():
        return []
    if (path / METADATA_DIRECTORY).is_dir():
        return [path / METADATA_DIRECTORY]
    if _logs_in(path):
        return [path]
    from metadata_log.tools.sources import (  # noqa: PLC0415  (not needed for a plain path)
        SourceError,
        find_sources,
        require_one_cluster,
    )

    try:
        nodes = find_sources([path]).nodes
    except SourceError:
        return []
    try:
        require_one_cluster(nodes, str(path))
    except SourceError as error:
        raise wrong_use(str(error)) from error
    return [node.metadata for node in nodes if node.metadata is not None]


def _logs_in(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if _LOG_FILE.fullmatch(file.name) and file.is_file())
