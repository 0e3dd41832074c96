"""A check that a node's metadata log is in the directory that its configuration names, and not in another one.

Decides: which directory counts as empty, and which as one with records. Must not know: how a node is configured.

A changed order of `log.dirs`, or another `metadata.log.dir`, leaves the log where it was. A node that began an empty
log beside it would forget its votes, and could lead an empty quorum.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import MisplacedLogError
from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import checkpoint_ends, checkpoint_name
from metadata_log.storage.segment import segment_bases, segment_file


def check_log_in_place(files: Files, log_dirs: Iterable[str], metadata_dir: str) -> None:
    """Raise where `metadata_dir` holds no metadata record, and another of the node's `log_dirs` does.

    Raises:
        MisplacedLogError: naming both directories, and what to do.
        OSError: one of them cannot be read.
    """
    if _records_in(files, metadata_dir) is not None:
        return
    for other in log_dirs:
        found = None if other == metadata_dir else _records_in(files, other)
        if found is not None:
            raise MisplacedLogError(metadata_dir, other, found)


def _records_in(files: Files, log_dir: str) -> str | None:
    """Return the name of a file with metadata records in `log_dir`; None: there is no record."""
    directory = f"{log_dir}/{METADATA_DIRECTORY}"
    if not files.exists(directory):
        return None
    for base in segment_bases(files.listdir(directory)):
        with closing(files.open(f"{directory}/{segment_file(base)}", read_only=True)) as segment:
            if segment.size() > 0:
                return segment_file(base)
    return next((checkpoint_name(end) for end in checkpoint_ends(files, directory) if end.offset > 0), None)
