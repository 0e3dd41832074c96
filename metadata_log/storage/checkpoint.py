"""Checkpoints: the image at an offset as a file of record batches (KIP-630), and voters with it (KIP-853).

Decides: the file's name, its frame of header and footer records, and how it comes to be whole or not at all. Must not
know: what the records between say.

Offsets inside count from 0, whatever the name says; the name's epoch stands in every batch header.
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
"""The end of the checkpoint that formatting leaves: nothing is before it."""
_UNFINISHED_SUFFIX: Final = ".part"
_RECEIVED: Final = "-received"
_LEFTOVERS: Final = (CHECKPOINT_SUFFIX + _UNFINISHED_SUFFIX, CHECKPOINT_SUFFIX + ".deleted")
_NAME = re.compile(r"(?P<offset>\d{20})-(?P<epoch>\d{10})\.checkpoint", re.ASCII)

_BATCH_RECORDS: Final = 1024
_BATCH_BYTES: Final = 1 << 20


class CheckpointTimes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In ms: the timestamp of the last record that the checkpoint covers (in its header), and those of its batches."""

    last_contained_ms: int
    header_ms: int
    records_ms: int
    footer_ms: int

    @classmethod
    def at(cls, now_ms: int, *, last_contained_ms: int) -> CheckpointTimes:
        """All batches written at one moment."""
        return cls(last_contained_ms=last_contained_ms, header_ms=now_ms, records_ms=now_ms, footer_ms=now_ms)


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A whole, checked checkpoint in memory.

    Attributes:
        header: its first record.
        kraft_version: what it finalises; 0 when it says nothing.
        voters: the voter set, or None.
        epoch: of its batches.
        batches: all its bytes, of which `values` gives the metadata records.
        newer: control records of a later release, which are not among the rest.
    """

    header: SnapshotHeaderRecord
    kraft_version: int
    voters: VotersRecord | None
    epoch: Epoch
    batches: tuple[LocatedBatch, ...]
    newer: tuple[UnknownRecordError, ...] = ()

    def values(self) -> Iterator[bytes]:
        """The values of the metadata records, in order."""
        for batch in self.batches:
            if not batch.header.is_control:
                yield from batch_values(batch.buffer, batch.header, batch.at)


def checkpoint_name(end: OffsetAndEpoch) -> str:
    """`00000000000000000300-0000000001.checkpoint`: the exclusive end offset, and the epoch of the record before it."""
    return f"{end.offset:020d}-{end.epoch:010d}{CHECKPOINT_SUFFIX}"


def received_name(end: OffsetAndEpoch) -> str:
    """The file that a checkpoint is received into, beside its name."""
    return f"{end.offset:020d}-{end.epoch:010d}{_RECEIVED}{CHECKPOINT_SUFFIX}{_UNFINISHED_SUFFIX}"


def is_received_name(name: str) -> bool:
    """Whether a file is one that some checkpoint was received into."""
    return name.endswith(_RECEIVED + CHECKPOINT_SUFFIX + _UNFINISHED_SUFFIX)


def parse_checkpoint_name(name: str) -> OffsetAndEpoch | None:
    """The end that a file's name says; None when it is no checkpoint of a log (`bootstrap.checkpoint` is none)."""
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
    """The checkpoint's batches one by one.

    With kraft.version 0 neither its record nor voters are written, as in Kafka.
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
    """`build_checkpoint` of values in slices, so that writing a large one may be spread over many turns: None stands
    among the batches after each slice."""
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
    """The values of a batch each, with None after each slice."""
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
    """Write a checkpoint of these batches, and return its size in bytes. A crash leaves it whole or not there.

    Written beside, synced, renamed, and the directory synced. An older one of the same name is replaced.

    Raises:
        OSError: a call failed; nothing is left beside, where the disk lets it be removed.
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
    """A checkpoint that is written piece by piece. It is there, whole and durable, once `finish` returns.

    Every method raises OSError when a call fails; there may then be a `.part` file, which `remove_unfinished` removes.
    """

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path
        self._handle: FileHandle | None = None
        self.size = 0

    @property
    def paths(self) -> tuple[str, str]:
        """Of the file beside, and of the finished one."""
        return self._path + _UNFINISHED_SUFFIX, self._path

    def append(self, batch: bytes) -> None:
        """Write the next batch beside."""
        self._open().pwrite(batch, self.size)
        self.size += len(batch)

    def finish(self) -> int:
        """Sync it, give it its name, sync the directory; its size in bytes."""
        self._open().fdatasync()
        self.close()
        self._files.rename(self._path + _UNFINISHED_SUFFIX, self._path)
        self._files.fsync_dir(parent_of(self._path))
        return self.size

    def close(self) -> None:
        """Let go of the file, finished or not."""
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
        CorruptFileError: it does not begin with a header record or end with a footer record.
        FileNotFoundError: there is none.
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
    """Hold every byte of the checkpoint of `end` against its checksums, without keeping or understanding it.

    Raises:
        CorruptBatchError, CorruptFileError: it is damaged, not whole, or another one.
        OSError: it cannot be read, FileNotFoundError: there is none.
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
    """All batches of a checkpoint are of the epoch that it ends in, which no checksum covers.

    Raises:
        CorruptFileError: this one is of another.
    """
    epoch = batch.header.partition_leader_epoch
    if epoch != end.epoch:
        raise CorruptFileError(path, f"its batch at byte {batch.position} is of epoch {epoch}, not {end.epoch}")


def _check_footer(last: LocatedBatch | None, path: str) -> None:
    controls = _controls(last, path) if last is not None and last.header.is_control else []
    if not controls or _type_of(controls[-1]) != SnapshotFooterRecord.CONTROL_TYPE:
        raise CorruptFileError(path, "it does not end with a snapshot footer: it is not whole")


def snapshot_header(first: LocatedBatch | None, path: str) -> SnapshotHeaderRecord:
    """Return the record with which a checkpoint's first batch begins; its timestamp is -1 in a later version's.

    Raises:
        CorruptBatchError, CorruptFileError: it is another one, or none can be read.
    """
    controls = _controls(first, path) if first is not None and first.header.is_control else []
    if not controls or _type_of(controls[0]) != SnapshotHeaderRecord.CONTROL_TYPE:
        raise CorruptFileError(path, "it does not begin with a snapshot header")
    header = controls[0]
    return header if isinstance(header, SnapshotHeaderRecord) else SnapshotHeaderRecord(last_contained_log_timestamp=-1)


def _type_of(record: ControlRecord | UnknownRecordError) -> int:
    return record.api_key if isinstance(record, UnknownRecordError) else record.CONTROL_TYPE


def _controls(batch: LocatedBatch, path: str) -> list[ControlRecord | UnknownRecordError]:
    """Return the control records of a batch; the error in place of each that a later release has written."""
    try:
        records = batch_records(batch.buffer, batch.header, batch.at)
        return [control_or_newer(record.key or b"", record.value or b"") for record in records]
    except CorruptBatchError as error:
        raise error.in_file(path, shift=batch.position - batch.at) from error
    except RecordError as error:
        raise CorruptFileError(path, f"position {batch.position}: {error}") from error


def newest_checkpoint(files: Files, directory: str) -> OffsetAndEpoch | None:
    """The end of the newest checkpoint in a metadata log's directory, or None."""
    return max(checkpoint_ends(files, directory), key=lambda end: (end.offset, end.epoch), default=None)


def checkpoint_ends(files: Files, directory: str) -> list[OffsetAndEpoch]:
    """The ends of all checkpoints in a metadata log's directory, the oldest first."""
    ends = [end for name in files.listdir(directory) if (end := parse_checkpoint_name(name)) is not None]
    return sorted(ends, key=lambda end: (end.offset, end.epoch))


def is_all_in_checkpoint(files: Files, directory: str, end: int) -> bool:
    """Whether a checkpoint holds all of a log that reaches up to `end`, by its name.

    Then an empty epoch history is in order beside segments that stay: a trim to their end leaves it in ours, and a
    start after that in Kafka's (`LogLoader` drops the line that begins at the log's end).
    """
    return any(found.offset >= end for found in checkpoint_ends(files, directory))


def remove_unfinished(files: Files, directory: str) -> list[str]:
    """Remove what writing, receiving or (Kafka's) removing a checkpoint left at a crash, and return the names."""
    names = [name for name in files.listdir(directory) if name.endswith(_LEFTOVERS)]
    for name in names:
        files.unlink(f"{directory}/{name}")
    return names
