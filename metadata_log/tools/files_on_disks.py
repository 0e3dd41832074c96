"""Small files that a broker keeps on each of its disks, whether or not the metadata log is there.

Decides: on which disks they are looked for, and what is said of one that cannot be read. Must not know: what is in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.tools.findings import Finding, finding, why_unreadable
from metadata_log.tools.manifest import is_export
from metadata_log.tools.sources import NodeSource


def check_on_disks(
    nodes: Sequence[NodeSource],
    name: str,
    parse: Callable[[bytes, str, NodeSource], object],
    advice: str,
    *,
    with_links: bool = False,
) -> Iterator[Finding]:
    """A finding for each file of that name that cannot be right, or cannot be read.

    Args:
        parse: raises CorruptFileError; takes the bytes, the path and whose disk it is.
        advice: what to do about one that cannot be right.
        with_links: a link to nothing is told of, too (`check_link`).
    """
    for node in nodes:
        for disk in node.log_directories:
            path = disk.path / name
            if is_export(disk.path):
                continue
            try:
                parse(read_small_file(OsFiles(), str(path)), str(path), node)
            except FileNotFoundError:
                yield from check_link(path, node.node_id) if with_links else ()
            except CorruptFileError as error:
                yield finding("corrupt_file", error.what, node_id=node.node_id, file=str(path), advice=advice)
            except OSError as error:
                yield finding("unreadable_file", why_unreadable(error), node_id=node.node_id, file=str(path))


def check_link(path: Path, node_id: int | None) -> Iterator[Finding]:
    """A finding where a file is not there, and a link to nothing is in its place: Kafka makes the file where there is
    none, and fails at the link, which is there and cannot be read (`CheckpointFile`)."""
    if path.is_symlink() and not path.exists():
        what = f"it is a link to {path.readlink()}, where nothing is: a missing file is made anew, and this is none"
        yield finding("unreadable_file", what, node_id=node_id, file=str(path))
