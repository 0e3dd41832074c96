"""Checkpoints: the image at an offset as a file of record batches (KIP-630), with the voters (KIP-853).

Decides: the file's name, its header and footer records, and how it is written complete or not at all. Must not know:
the records between.

Offsets inside count from 0, whatever the name's offset is; every batch header has the name's epoch.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, CorruptFileError, RecordError, UnknownRecordError
from metadata_log.files.port import FileHandle, Files, parent_of
from metadata_log.format.batch import HEADER_SIZE, batch_records, batch_values, build_batch, build_control_batch
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    ControlRecord,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    control_or_newer,
    encode_control,
)
from metadata_log.storage.segment import Expected, LocatedBatch, read_batches

CHECKPOINT_SUFFIX: Final = ".checkpoint"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
BEGINNING: Final = OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0))
"""The end of the checkpoint that formatting writes: no record is before it."""
_UNFINISHED_SUFFIX: Final = ".part"
_RECEIVED: Final = "-received"
_LEFTOVERS: Final = (CHECKPOINT_SUFFIX + _UNFINISHED_SUFFIX, CHECKPOINT_SUFFIX + ".deleted")
_NAME = re.compile(r"(?P<offset>\d{20})-(?P<epoch>\d{10})\.checkpoint", re.ASCII)

_BATCH_RECORDS: Final = 1024
_BATCH_BYTES: Final = 1 << 20


class CheckpointTimes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In ms: the timestamp of the last covered record (in the header record), and those of the file's own batches."""

    last_contained_ms: int
    header_ms: int
    records_ms: int
    footer_ms: int

    @classmethod
    def at(cls, now_ms: int, *, last_contained_ms: int) -> CheckpointTimes:
        """Return the times of a checkpoint whose batches all have the same timestamp."""
        return cls(last_contained_ms=last_contained_ms, header_ms=now_ms, records_ms=now_ms, footer_ms=now_ms)


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A whole, checked checkpoint in memory.

    Attributes:
        header: its first record.
        kraft_version: its finalized kraft.version; 0 without such a record.
        voters: the voter set, or None.
        epoch: the epoch of its batches.
        batches: all its batches; `values` yields their metadata records.
        newer: control records of a later release, which the other attributes leave out.
    """

    header: SnapshotHeaderRecord
    kraft_version: int
    voters: VotersRecord | None
    epoch: Epoch
    batches: tuple[LocatedBatch, ...]
    newer: tuple[UnknownRecordError, ...] = ()

    def values(self) -> Iterator[bytes]:
        """Yield the values of the metadata records, in order."""
        for batch in self.batches:
            if not batch.header.is_control:
                yield from batch_values(batch.buffer, batch.header, batch.at)


def checkpoint_name(end: OffsetAndEpoch) -> str:
    """Return `00000000000000000300-0000000001.checkpoint`: exclusive end offset, epoch of the record before it."""
    return f"{end.offset:020d}-{end.epoch:010d}{CHECKPOINT_SUFFIX}"


def received_name(end: OffsetAndEpoch) -> str:
    """Return the name of the temporary file for a checkpoint that is being received."""
    return f"{end.offset:020d}-{end.epoch:010d}{_RECEIVED}{CHECKPOINT_SUFFIX}{_UNFINISHED_SUFFIX}"


def is_received_name(name: str) -> bool:
    """Return True if the file is a temporary one of a received checkpoint."""
    return name.endswith(_RECEIVED + CHECKPOINT_SUFFIX + _UNFINISHED_SUFFIX)


def parse_checkpoint_name(name: str) -> OffsetAndEpoch | None:
    """Return the end in a checkpoint's name, or None for another file, including `bootstrap.checkpoint`."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return OffsetAndEpoch(offset=Offset(int(match["offset"])), epoch=Epoch(int(match["epoch"])))


def build_checkpoint(
    values: Iterable[bytes],
    *,
    epoch: Epoch,
    times: CheckpointTimes,
    kraft_version: int = 0,
    voters: VotersRecord | None = None,
) -> Iterator[bytes]:
    """Return an iterator of the checkpoint's batches.

    With kraft.version 0 it has neither a KRaftVersionRecord nor voters, as in Kafka.
    """
    slices = _one_by_one(values)
    pieces = build_with_pauses(slices, epoch=epoch, times=times, kraft_version=kraft_version, voters=voters)
    return (batch for batch in pieces if batch is not None)


def _one_by_one(values: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    return ((value,) for value in values)


def build_with_pauses(
    slices: Iterable[Sequence[bytes]],
    *,
    epoch: Epoch,
    times: CheckpointTimes,
    kraft_version: int = 0,
    voters: VotersRecord | None = None,
) -> Iterator[bytes | None]:
    """Yield the batches of a checkpoint from slices of values, and None after each slice.

    The None is a pause: the caller can spread a large checkpoint over many turns of its loop.
    """
    head: list[ControlRecord] = [SnapshotHeaderRecord(last_contained_log_timestamp=times.last_contained_ms)]
    if kraft_version > 0:
        head.append(KRaftVersionRecord(kraft_version=kraft_version))
        if voters is not None:
            head.append(voters)
    yield _control_batch(0, epoch, times.header_ms, head)
    offset = len(head)
    for group in _grouped(slices):
        if group is None:
            yield None
            continue
        yield build_batch(base_offset=Offset(offset), epoch=epoch, timestamp_ms=times.records_ms, values=group)
        offset += len(group)
    yield _control_batch(offset, epoch, times.footer_ms, [SnapshotFooterRecord()])


def _control_batch(offset: int, epoch: Epoch, timestamp_ms: int, records: Sequence[ControlRecord]) -> bytes:
    pairs = [encode_control(record) for record in records]
    return build_control_batch(base_offset=Offset(offset), epoch=epoch, timestamp_ms=timestamp_ms, records=pairs)


def _grouped(slices: Iterable[Sequence[bytes]]) -> Iterator[list[bytes] | None]:
    """Yield the values of each batch, and None after each slice."""
    group: list[bytes] = []
    size = 0
    for values in slices:
        adds = sum(map(len, values))
        if len(group) + len(values) <= _BATCH_RECORDS and size + adds <= _BATCH_BYTES:
            group += values
            size += adds
            yield None
            continue
        for value in values:
            if group and (len(group) >= _BATCH_RECORDS or size + len(value) > _BATCH_BYTES):
                yield group
                group, size = [], 0
            group.append(value)
            size += len(value)
        yield None
    if group:
        yield group


def write_checkpoint(files: Files, path: str, batches: Iterable[bytes]) -> int:
    """Write a checkpoint durably and return its size in bytes. After a crash it is complete or missing.

    An older checkpoint of the same name is replaced.

    Raises:
        OSError: a call failed. The temporary file is removed if the disk allows it.
    """
    writer = CheckpointWriter(files, path)
    try:
        for batch in batches:
            writer.append(batch)
        return writer.finish()
    except OSError:
        writer.close()
        with contextlib.suppress(OSError):
            files.unlink(writer.paths[0])
        raise
    finally:
        writer.close()


class CheckpointWriter:
    """Writes a checkpoint batch by batch. It is complete and durable after `finish`.

    Every method raises OSError if a call fails. A `.part` file may then be left, which `remove_unfinished` removes.
    """

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path
        self._handle: FileHandle | None = None
        self.size = 0

    @property
    def paths(self) -> tuple[str, str]:
        """The paths of the temporary and of the finished file."""
        return self._path + _UNFINISHED_SUFFIX, self._path

    def append(self, batch: bytes) -> None:
        """Write the next batch to the temporary file."""
        self._open().pwrite(batch, self.size)
        self.size += len(batch)

    def finish(self) -> int:
        """Sync the file, rename it, sync the directory, and return the size in bytes."""
        self._open().fdatasync()
        self.close()
        self._files.rename(self._path + _UNFINISHED_SUFFIX, self._path)
        self._files.fsync_dir(parent_of(self._path))
        return self.size

    def close(self) -> None:
        """Close the file, finished or not."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def _open(self) -> FileHandle:
        if self._handle is None:
            self._handle = self._files.open(self._path + _UNFINISHED_SUFFIX, create=True)
            self._handle.truncate(0)
        return self._handle


def read_checkpoint(files: Files, path: str) -> Checkpoint:
    """Read and check a whole checkpoint. Metadata records are not decoded.

    Raises:
        CorruptBatchError: a batch is not sound.
        CorruptFileError: the file does not begin with a header record, or not end with a footer record.
        FileNotFoundError: the file does not exist.
    """
    handle = files.open(path, read_only=True)
    try:
        if handle.size() < HEADER_SIZE:
            raise CorruptFileError(path, f"a checkpoint cannot have {handle.size()} bytes")
        batches = tuple(read_batches(handle, path, expected=Expected(offset=Offset(0))))
    finally:
        handle.close()
    controls = [record for batch in batches if batch.header.is_control for record in _controls(batch, path)]
    header = snapshot_header(batches[0], path)
    _check_footer(batches[-1], path)
    version = next((record for record in controls if isinstance(record, KRaftVersionRecord)), None)
    return Checkpoint(
        header=header,
        kraft_version=0 if version is None else version.kraft_version,
        voters=next((record for record in controls if isinstance(record, VotersRecord)), None),
        epoch=batches[0].header.partition_leader_epoch,
        batches=batches,
        newer=tuple(record for record in controls if isinstance(record, UnknownRecordError)),
    )


def check_checkpoint(files: Files, path: str, end: OffsetAndEpoch) -> None:
    """Verify the checksums and the frame of the checkpoint of `end`, without decoding its metadata records.

    Raises:
        CorruptBatchError, CorruptFileError: it is corrupt, incomplete, or of another epoch.
        OSError: it cannot be read; FileNotFoundError if it does not exist.
    """
    handle = files.open(path, read_only=True)
    first = last = None
    try:
        for batch in read_batches(handle, path, expected=Expected(offset=Offset(0))):
            check_epoch(batch, path, end)
            first, last = first or batch, batch
    finally:
        handle.close()
    snapshot_header(first, path)
    _check_footer(last, path)


def check_epoch(batch: LocatedBatch, path: str, end: OffsetAndEpoch) -> None:
    """Check that a batch has the epoch of the checkpoint's name: no checksum covers a batch's epoch.

    Raises:
        CorruptFileError: the epoch differs.
    """
    epoch = batch.header.partition_leader_epoch
    if epoch != end.epoch:
        raise CorruptFileError(path, f"its batch at byte {batch.position} is of epoch {epoch}, not {end.epoch}")


def _check_footer(last: LocatedBatch | None, path: str) -> None:
    controls = _controls(last, path) if last is not None and last.header.is_control else []
    if not controls or _type_of(controls[-1]) != SnapshotFooterRecord.CONTROL_TYPE:
        raise CorruptFileError(path, "it does not end with a snapshot footer: it is not whole")


def snapshot_header(first: LocatedBatch | None, path: str) -> SnapshotHeaderRecord:
    """Return the header record of a checkpoint's first batch. For a later version of it, the timestamp is -1.

    Raises:
        CorruptBatchError, CorruptFileError: the first record is another one, or cannot be read.
    """
    controls = _controls(first, path) if first is not None and first.header.is_control else []
    if not controls or _type_of(controls[0]) != SnapshotHeaderRecord.CONTROL_TYPE:
        raise CorruptFileError(path, "it does not begin with a snapshot header")
    header = controls[0]
    return header if isinstance(header, SnapshotHeaderRecord) else SnapshotHeaderRecord(last_contained_log_timestamp=-1)


def _type_of(record: ControlRecord | UnknownRecordError) -> int:
    return record.api_key if isinstance(record, UnknownRecordError) else record.CONTROL_TYPE


def _controls(batch: LocatedBatch, path: str) -> list[ControlRecord | UnknownRecordError]:
    """Return the control records of a batch; an UnknownRecordError in place of each record of a later release."""
    try:
        records = batch_records(batch.buffer, batch.header, batch.at)
        return [control_or_newer(record.key or b"", record.value or b"") for record in records]
    except CorruptBatchError as error:
        raise error.in_file(path, shift=batch.position - batch.at) from error
    except RecordError as error:
        raise CorruptFileError(path, f"position {batch.position}: {error}") from error


def newest_checkpoint(files: Files, directory: str) -> OffsetAndEpoch | None:
    """Return the end of the newest checkpoint in a metadata log's directory, or None."""
    return max(checkpoint_ends(files, directory), key=lambda end: (end.offset, end.epoch), default=None)


def checkpoint_ends(files: Files, directory: str) -> list[OffsetAndEpoch]:
    """Return the ends of all checkpoints in a metadata log's directory, the oldest first."""
    ends = [end for name in files.listdir(directory) if (end := parse_checkpoint_name(name)) is not None]
    return sorted(ends, key=lambda end: (end.offset, end.epoch))


def is_all_in_checkpoint(files: Files, directory: str, end: int) -> bool:
    """Return True if a checkpoint, by its name, covers a whole log that ends at `end`.

    An empty epoch history is then valid beside remaining segments: a trim to their end leaves it so. In Kafka, a later
    start does (`LogLoader` drops the line that begins at the log's end).
    """
    return any(found.offset >= end for found in checkpoint_ends(files, directory))


def remove_unfinished(files: Files, directory: str) -> list[str]:
    """Remove checkpoint files that a crash left half written, received or (by Kafka) removed; return their names."""
    names = [name for name in files.listdir(directory) if name.endswith(_LEFTOVERS)]
    for name in names:
        files.unlink(f"{directory}/{name}")
    return names
