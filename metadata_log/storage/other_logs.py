"""A check that a node's metadata log is in the directory that its configuration names, and not in another one.

Decides: whether a directory is empty, has records, or was used by a running node. Must not know: how a node is
configured.

A changed order of `log.dirs`, or another `metadata.log.dir`, leaves the log in its former directory. A node that began
an empty log in another one would forget its votes, and could lead an empty quorum.
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
    """The files in a metadata log's directory that show its use.

    Attributes:
        records: a file with a whole batch (magic, length and checksum are valid), or None without records.
        trace: a file that a running node leaves and formatting does not, or None if no node ran there.
    """

    records: str | None = None
    trace: str | None = None


def check_log_in_place(files: Files, log_dirs: Iterable[str], metadata_dir: str, *, is_controller: bool) -> None:
    """Check that no other of the node's `log_dirs` has metadata records if `metadata_dir` has none.

    Raises:
        MisplacedLogError: another one has.
        OSError: a directory cannot be read.
    """
    if held_log(files, f"{metadata_dir}/{METADATA_DIRECTORY}").records is not None:
        return
    for other in log_dirs:
        found = None if other == metadata_dir else held_log(files, f"{other}/{METADATA_DIRECTORY}").records
        if found is not None:
            raise MisplacedLogError(metadata_dir, other, found, is_controller=is_controller)


def check_vote_kept(files: Files, directory: str) -> None:
    """Check that a used metadata log's directory has a quorum-state.

    Replicas, also Kafka's, write epoch and vote before the first record or checkpoint. A restored backup has the file,
    too.

    Raises:
        LostVoteError: the file is missing.
        OSError: the directory cannot be read.
    """
    if not files.exists(directory) or files.exists(f"{directory}/{QUORUM_STATE_FILE}"):
        return
    trace = held_log(files, directory).trace
    if trace is not None:
        raise LostVoteError(directory, trace)


def held_log(files: Files, directory: str) -> HeldLog:
    """Return the first file with records, and the first trace of a running node, in `directory`.

    Formatting leaves the checkpoint of offset 0, so that is no trace. Nor is a first segment that has only zeros.

    Raises:
        OSError: the directory cannot be read.
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
