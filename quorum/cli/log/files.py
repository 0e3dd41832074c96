"""The files that a path of a metadata log means. It may be a file, its directory, a node's, or several nodes'."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.links import exists
from quorum.cli.errors import FAILED, say, wrong_use

if TYPE_CHECKING:
    from metadata_log.tools.read.sources import NodeSource

_LOG_FILE: Final = re.compile(r"\d{20}\.log|\d{20}-\d{10}\.checkpoint|bootstrap\.checkpoint", re.ASCII)


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the segments and checkpoints that the paths mean, in order.

    Raises:
        CliError: a path does not exist, or holds no log file.
    """
    for path in paths:
        if path.is_file():
            yield path
            continue
        if not exists(path):
            raise wrong_use(f"{path} does not exist")
        if not path.is_dir():
            _regular(path)
        found = [file for directory in metadata_logs(path) for file in _logs_in(directory)]
        if not found:
            inside = path / METADATA_DIRECTORY
            if path.name == METADATA_DIRECTORY or inside.is_dir():
                log = inside if inside.is_dir() else path
                raise wrong_use(f"{log} holds neither segments (.log) nor checkpoints")
            raise wrong_use(f"{path} holds neither segments (.log) nor checkpoints, nor a {METADATA_DIRECTORY}")
        yield from map(_regular, found)


def _regular(path: Path) -> Path:
    if path.exists() and not path.is_file():  # a file that was removed since is reported when it is read
        raise wrong_use(f"{path} is neither a file nor a directory: a pipe cannot be read twice, so save it first")
    return path


def check_one_cluster_of(paths: Sequence[Path]) -> None:
    """Accept directories that may be of one cluster. A file has no cluster id.

    Raises:
        CliError: they are of several clusters.
    """
    from metadata_log.tools.read.sources import SourceError, find_sources, require_one_cluster  # noqa: PLC0415

    nodes: list[NodeSource] = []
    for path in paths:
        with contextlib.suppress(SourceError):  # files_of reports a directory without a log
            nodes += find_sources([path]).nodes if path.is_dir() else ()
    require_one_cluster(nodes, "what was named")


def metadata_logs(path: Path) -> list[Path]:
    """Return the metadata logs that `path` is or holds, none if it is not such a directory.

    Raises:
        CliError: it does not exist, or holds logs of several clusters.
    """
    if not exists(path):
        raise wrong_use(f"{path} does not exist")
    if not path.is_dir():
        return []
    if (path / METADATA_DIRECTORY).is_dir():
        return [path / METADATA_DIRECTORY]
    if _logs_in(path):
        return [path]
    from metadata_log.tools.read.sources import SourceError, find_sources, require_one_cluster  # noqa: PLC0415  (not needed for a plain path)

    try:
        nodes = find_sources([path]).nodes
    except SourceError:
        return []
    require_one_cluster(nodes, str(path))
    return [node.metadata for node in nodes if node.metadata is not None]


def _logs_in(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if _LOG_FILE.fullmatch(file.name) and not file.is_dir())


def say_missing_segments(paths: Iterable[Path]) -> int:
    """Report the directories of which only checkpoints are left. Return the exit status."""
    from metadata_log.tools.verify.lost_end import missing_segments  # noqa: PLC0415  (of such directories alone)

    status = 0
    for directory in (directory for path in paths for directory in metadata_logs(path)):
        if any(file.suffix == ".log" for file in _logs_in(directory)):
            continue
        said = missing_segments(directory)
        if said is not None:
            say(f"kraft: {directory}: {said}")
            status = FAILED
    return status
