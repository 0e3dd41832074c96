"""A check that a node's metadata log is in the directory that its configuration names, and not in another one.

Decides: which directory counts as empty, which as one with records, and which as one that a node ran in. Must not
know: how a node is configured.

A changed order of `log.dirs`, or another `metadata.log.dir`, leaves the log where it was. A node that began an empty
log beside it would forget its votes, and could lead an empty quorum.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

import msgspec

from metadata_log.directory import METADATA_DIRECTORY, QUORUM_STATE_FILE
from metadata_log.errors import LostVoteError, MisplacedLogError
from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import checkpoint_ends, checkpoint_name
from metadata_log.storage.segment import next_sealed_batch, only_zeros, segment_bases, segment_file


class HeldLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The files of a metadata log's directory that show what became of it.

    Attributes:
        records: one with a whole batch: right magic, length and checksum. None: no record of the log is there.
        trace: one that a fresh format does not leave, and a node that ran does. None: none ran there.
    """

    records: str | None = None
    trace: str | None = None


def check_log_in_place(files: Files, log_dirs: Iterable[str], metadata_dir: str, *, is_controller: bool) -> None:
    """Raise where `metadata_dir` holds no metadata record, and another of the node's `log_dirs` does.

    Raises:
        MisplacedLogError: naming both directories, and what to do.
        OSError: one of them cannot be read.
    """
    if held_log(files, f"{metadata_dir}/{METADATA_DIRECTORY}").records is not None:
        return
    for other in log_dirs:
        found = None if other == metadata_dir else held_log(files, f"{other}/{METADATA_DIRECTORY}").records
        if found is not None:
            raise MisplacedLogError(metadata_dir, other, found, is_controller=is_controller)


def check_vote_kept(files: Files, directory: str) -> None:
    """Raise where a metadata log's directory holds more than a fresh format does, and no quorum-state.

    A replica writes its epoch and its vote before the first record or checkpoint comes, ours and Kafka's. A restored
    backup has the file, too.

    Raises:
        LostVoteError: naming what is there.
        OSError: it cannot be read.
    """
    if not files.exists(directory) or files.exists(f"{directory}/{QUORUM_STATE_FILE}"):
        return
    trace = held_log(files, directory).trace
    if trace is not None:
        raise LostVoteError(directory, trace)


def held_log(files: Files, directory: str) -> HeldLog:
    """Return what `directory` holds of a log, the first name of each.

    The checkpoint of offset 0 is what formatting leaves. A segment of zeros is one that was made long beforehand.

    Raises:
        OSError: it cannot be read.
    """
    if not files.exists(directory):
        return HeldLog()
    records = trace = None
    for end in checkpoint_ends(files, directory):
        if end.offset > 0:
            name = checkpoint_name(end)
            trace = trace or name
            records = records or (name if _has_batch(files, f"{directory}/{name}") else None)
    for base in segment_bases(files.listdir(directory)):
        name = segment_file(base)
        if records is None and _has_batch(files, f"{directory}/{name}"):
            records = name
        if trace is None and (base > 0 or records == name or not _is_blank(files, f"{directory}/{name}")):
            trace = name
        if records is not None and trace is not None:
            break
    return HeldLog(records=records, trace=trace)


def _has_batch(files: Files, path: str) -> bool:
    with closing(files.open(path, read_only=True)) as handle:
        return next_sealed_batch(handle, 0, handle.size()) is not None


def _is_blank(files: Files, path: str) -> bool:
    with closing(files.open(path, read_only=True)) as handle:
        return only_zeros(handle, 0, handle.size())
