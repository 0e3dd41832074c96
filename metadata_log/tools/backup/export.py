"""An export copies a replica's log out of its directory, unchanged, with a manifest: for analysis, archives and bug
reports.

Decides: the files of an export, and that they are consistent. Must not know: how they are checked later.

A live directory is only read, and not locked. Its node may create and remove segments and checkpoints meanwhile. If a
file vanishes or shrinks, the copy starts over; records that are appended meanwhile may be missing. A torn tail of the
last segment is left out and counted in the manifest; other damage is copied as it is. If files beside the log prove
that it lost its end, nothing is left out, and the manifest states the proof.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from metadata_log.directory import COMMITTED_STATE_FILE, PARTITION_METADATA_FILE, QUORUM_STATE_FILE, MetaProperties
from metadata_log.errors import CorruptFileError, DirectoryError, RecordError, WrongUseError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.own_files import OwnFiles, require_own_directory
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.batch import batch_values
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import id_text
from metadata_log.records import UserScramCredentialRecord, decode_record
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.new_files import new_directory, require_new_directory
from metadata_log.tools.partitions.directories import exported_partitions
from metadata_log.tools.read.contents import LogContents, data_files, metadata_directory, read_contents, read_identity
from metadata_log.tools.read.exported_partitions import PARTITIONS_FILE, ExportedPartition, write_exported_partitions
from metadata_log.tools.read.fast_scan import walk
from metadata_log.tools.read.gaps import Gap
from metadata_log.tools.read.manifest import (
    MANIFEST_FILE,
    Manifest,
    ManifestFile,
    ManifestVoter,
    RedactedMark,
    is_export,
    write_manifest,
)
from metadata_log.tools.read.scan import Damage, Fault, scan
from metadata_log.tools.read.sources import LogDirectory, find_sources
from metadata_log.tools.verify.lost_end import LostEnd, lost_end, of_one_log

DECODED: Final = "decoded"
Written = TypeVar("Written")
_OF_EPOCHS: Final = (QUORUM_STATE_FILE, EPOCH_FILE)
_ATTEMPTS: Final = 5
_COPY_BYTES: Final = 4 << 20
_PATIENCE_S: Final = 5.0
"""The time until a leader's disk must have the records that its followers have already made committed."""
_PAUSE_S: Final = 0.05


class ExportError(WrongUseError):
    """The directory cannot be exported."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a log that cannot be read: damaged ranges by file, the size of a torn tail, and proofs of lost
    records."""

    damaged: tuple[tuple[str, Damage], ...]
    torn: int
    lost: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()


def export_replica(
    source_dir: Path, target_dir: Path, high_watermark: int | None = None, *, group_readable: bool = False
) -> Manifest:
    """Copy the segments, checkpoints and sidecar files of a replica into a new directory, and write its manifest there.

    The indexes are left out. Of the partition directories beside the log, only a list is copied.

    Args:
        source_dir: see `metadata_to_export`.
        target_dir: does not exist yet, or is empty. It appears whole or not at all.
        high_watermark: the live one, read *before* this call; the export waits some seconds for it. None: unknown.
        group_readable: the group of `target_dir` may read it, too.

    Raises:
        ExportError: there is no metadata log at `source_dir`, or no meta.properties with it.
        TargetError: `target_dir` is not empty, or within a log directory.
        DirectoryError: the log changed during each attempt.
        CorruptFileError: meta.properties is invalid.
        OSError: a file cannot be read or written.
    """
    directory = metadata_to_export(source_dir)
    require_new_directory(target_dir, "give the export a new directory")
    identity = _identity_of(directory)
    # The caller read the high watermark before: so the copy must reach it, or records are lost.
    _await_end(directory, high_watermark)
    with new_directory(target_dir, group_readable=group_readable) as beside:
        names = sorted([*_copy_until_stable(directory, beside), PARTITIONS_FILE])
        write_exported_partitions(beside, _partitions_beside(directory))
        lost = lost_end(directory, OwnFiles())
        cut = 0 if lost.is_certain else _cut_tail(beside, names)
        contents = read_contents(OsFiles(), str(beside))
        manifest = msgspec.structs.replace(
            _manifest(identity, contents, lost),
            voters=_voters(contents, directory),
            high_watermark=high_watermark,
            cut_tail_bytes=cut,
            files=tuple(_describe(beside / name) for name in names),
        )
        write_manifest(beside, manifest)
        _sync(beside, [*names, MANIFEST_FILE])
    return manifest


def export_redacted(
    source_dir: Path, target_dir: Path, write: Callable[[Path, Path], Written], *, group_readable: bool = False
) -> Written:
    """Let `write(log, target)` make decoded tables without credentials in a new directory, and copy no other file.

    The manifest states that the export is redacted.

    Raises:
        ExportError, TargetError: see `export_replica`.
        OSError: a file cannot be read or written; no part of the target remains.
    """
    directory = metadata_to_export(source_dir)
    require_new_directory(target_dir, "name a new directory")
    with new_directory(target_dir, group_readable=group_readable) as beside:
        (beside / DECODED).mkdir()
        done = write(directory, beside / DECODED)
        write_manifest(beside, RedactedMark())
    return done


def credentials_in(export_dir: Path) -> int:
    """Return the number of users whose SCRAM credentials the files of an export hold, current or former."""
    users = set[str]()
    for name in data_files(os.listdir(export_dir)):
        with closing(OsFiles().open(str(export_dir / name), read_only=True)) as handle:
            for found in walk(handle):
                if isinstance(found, LocatedBatch) and not found.header.is_control:
                    users.update(_users_of(found))
    return len(users)


def _users_of(batch: LocatedBatch) -> Iterator[str]:
    for value in batch_values(batch.buffer, batch.header, batch.at):
        if value[1:2] == bytes((UserScramCredentialRecord.API_KEY,)):
            with suppress(RecordError):
                record = decode_record(value)
                if isinstance(record, UserScramCredentialRecord):
                    yield record.name


def _manifest(identity: MetaProperties, contents: LogContents, lost: LostEnd) -> Manifest:
    """Return the manifest without its list of files, by the identity, the records and the files beside the log."""
    return Manifest(
        cluster_id=identity.cluster_id,
        node_id=identity.node_id,
        directory_id=None if identity.directory_id is None else id_text(identity.directory_id),
        start_offset=contents.start_offset,
        end_offset=contents.end_offset,
        epoch=contents.last_epoch,
        voters=(),
        high_watermark=None,
        cut_tail_bytes=0,
        proved_end=lost.proved_end if lost.findings else None,
        lost=tuple(found.meaning for found in lost.findings),
        files=(),
    )


def _partitions_beside(directory: Path) -> list[ExportedPartition]:
    """Return the partition directories of the disk that holds the log."""
    return list(exported_partitions(LogDirectory(path=directory.parent, identity=None)))


def _identity_of(directory: Path) -> MetaProperties:
    identity = read_identity(directory, OwnFiles())
    if identity is None:
        raise ExportError(
            f"there is no meta.properties beside {directory}, so the owner of the log is unknown: give a node's log "
            "directory with both in it"
        )
    return identity


def damage_in(directory: Path, files: Files | None = None) -> Iterator[tuple[str, Damage]]:
    """Yield the damaged ranges in the segments and checkpoints of an export or a log, by file name, in order."""
    for name in data_files(os.listdir(directory)):
        try:
            handle = (files or OsFiles()).open(str(directory / name), read_only=True)
        except FileNotFoundError:
            continue  # removed since it was listed: retention at work
        with closing(handle):
            yield from ((name, found) for found in walk(handle) if isinstance(found, Damage))


def left_out_of(source_dir: Path) -> LeftOut:
    """Return the parts of a log that the tables of `export_redacted` lack; `source_dir` as in `export_replica`.

    Raises:
        ExportError, OSError: see `export_replica`.
    """
    directory = metadata_to_export(source_dir)
    lost = lost_end(directory, OwnFiles())
    found = list(damage_in(directory, OwnFiles()))
    last = segment_bases(os.listdir(directory))[-1:]
    sentences = tuple(map(of_one_log, lost.findings))
    is_torn = bool(found and last) and found[-1][0] == segment_file(last[0]) and found[-1][1].fault is Fault.TORN
    if not is_torn or lost.is_certain:
        return LeftOut(damaged=tuple(found), torn=0, lost=sentences, gaps=lost.gaps)
    return LeftOut(damaged=tuple(found[:-1]), torn=found[-1][1].size, lost=sentences, gaps=lost.gaps)


def metadata_to_export(source_dir: Path) -> Path:
    """Return the metadata log at `source_dir`: the directory itself, or the one in a log directory or a node's
    directory.

    Raises:
        SourceError, ExportError: there is no log, or there are several, or the directory is an export.
    """
    directory = metadata_directory(source_dir)
    if directory is not None:
        require_own_directory(str(directory))
        return directory
    if is_export(source_dir):
        raise ExportError(f"{source_dir} is an export already: copy it as it is, all that there was is in it")
    found = [node.metadata for node in find_sources([source_dir]).nodes if node.metadata is not None]
    if len(found) > 1:
        raise ExportError(f"{source_dir} holds {len(found)} metadata logs, and an export is of one: name one node's")
    if source_dir.is_file():
        raise ExportError(
            f"{source_dir} is one file of a log, and an export is of all: name its directory, {source_dir.parent}"
        )
    if not found:
        raise ExportError(f"{source_dir} holds no metadata log, only other disks of a node")
    return found[0]


def _voters(contents: LogContents, directory: Path) -> tuple[ManifestVoter, ...]:
    """Return the voters in the copied records, otherwise the static ones of quorum-state."""
    voters = contents.voters or read_contents(OwnFiles(), str(directory)).voters or ()
    return tuple(ManifestVoter.of(voter) for voter in voters)


def _await_end(directory: Path, high_watermark: int | None) -> None:
    """Wait until the log reaches the high watermark, or `_PATIENCE_S` has passed.

    A leader sends a record to its followers before its own disk has it. Records that are still missing then are lost,
    and the log is copied without them.
    """
    if high_watermark is None:
        return
    deadline = time.monotonic() + _PATIENCE_S
    while _end_of(directory) < high_watermark and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def _end_of(directory: Path) -> int:
    """Return the end offset of the last segment's intact beginning, or 0 without a segment."""
    bases = segment_bases(os.listdir(directory))
    if not bases:
        return 0
    try:
        handle = OwnFiles().open(str(directory / segment_file(bases[-1])), read_only=True)
    except FileNotFoundError:
        return 0  # a snapshot replaced the log since it was listed; the caller looks again
    end = int(bases[-1])
    try:
        for found in scan(handle):
            if isinstance(found, Damage):
                break
            end = int(found.header.next_offset)
    finally:
        handle.close()
    return end


def _copy_until_stable(source: Path, target: Path) -> list[str]:
    for _ in range(_ATTEMPTS):
        for left in target.iterdir():
            left.unlink()
        # Sidecar files first, and again after the copy: an election in between would make them of a later log.
        small = _small_files(source)
        before = _sizes(source)
        if not before:
            raise ExportError(f"{source} holds no segment and no checkpoint")
        if not all(_copy(source / name, target / name, size) for name, size in before.items()):
            continue
        after = _sizes(source)
        if _of_one_moment(small, _small_files(source)) and all(
            after.get(name, -1) >= size for name, size in before.items()
        ):
            for name, content in small.items():
                (target / name).write_bytes(content)
            return sorted((*before, *small))
    raise DirectoryError(
        f"{source} changed during each of {_ATTEMPTS} attempts to copy it: try again when it is calmer"
    )


def _small_files(directory: Path) -> dict[str, bytes]:
    """Return the sidecar files of a log by name. A file that is too large for its name is left out."""
    found: dict[str, bytes] = {}
    for name in (*_OF_EPOCHS, PARTITION_METADATA_FILE, COMMITTED_STATE_FILE):
        with suppress(FileNotFoundError, CorruptFileError):
            found[name] = read_small_file(OwnFiles(), str(directory / name))
    return found


def _of_one_moment(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bool:
    """Return True unless an election changed the sidecar files: they must belong to the copied log."""
    return all(before.get(name) == after.get(name) for name in _OF_EPOCHS)


def _sizes(directory: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name in data_files(os.listdir(directory)):
        try:
            found = (directory / name).lstat()
        except FileNotFoundError:
            # Retention removed it since it was listed. The caller compares the sizes before and after.
            continue
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
            raise ExportError(f"{directory / name} is a pipe, a device or a socket, not a regular file")
        sizes[name] = found.st_size
    return sizes


def _copy(source: Path, target: Path, size: int) -> bool:
    """Copy the first `size` bytes, and return False if the file is gone or has become shorter.

    Raises:
        OSError: the file is a link or another user's, or cannot be read.
    """
    try:
        reading = OwnFiles().open(str(source), read_only=True)
    except FileNotFoundError:
        return False
    position = 0
    with closing(reading), target.open("wb") as writing:
        while position < size and (chunk := reading.pread(min(size - position, _COPY_BYTES), position)):
            writing.write(chunk)
            position += len(chunk)
    return position == size


def _cut_tail(directory: Path, names: list[str]) -> int:
    """Cut a torn tail, or preallocated zeros, off the last segment, and return the size of the torn tail in bytes."""
    bases = segment_bases(names)
    if not bases:
        return 0
    path = directory / segment_file(bases[-1])
    handle = OsFiles().open(str(path))
    try:
        sound_end = 0
        last: Damage | None = None
        for found in scan(handle):
            last = found if isinstance(found, Damage) else None
            sound_end = found.end if isinstance(found, Damage) else found.position + found.header.size_in_bytes
        torn = last.size if last is not None and last.fault is Fault.TORN else 0
        handle.truncate(sound_end - torn)
        return torn
    finally:
        handle.close()


def _describe(path: Path) -> ManifestFile:
    digest = hashlib.sha256()
    with path.open("rb") as reading:
        while chunk := reading.read(_COPY_BYTES):
            digest.update(chunk)
    return ManifestFile(name=path.name, size=path.stat().st_size, sha256=digest.hexdigest())


def _sync(directory: Path, names: list[str]) -> None:
    files = OsFiles()
    for name in names:
        handle = files.open(str(directory / name))
        try:
            handle.fdatasync()
        finally:
            handle.close()
    files.fsync_dir(str(directory))
