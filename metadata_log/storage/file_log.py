"""One partition's log in memory, as its owner sees it right after staging a change.

Decides: the place of each batch, when a segment is rolled, and which reads need the disk. Must not know: when steps
become durable (`LogWriter` informs the owner), or the meaning of records.

Staging an append or a truncation changes the memory at once, and returns an operation for the writer, which executes
operations in this order. Everything here belongs to one task; only `ColdRead.run` may run in another thread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError, InvariantViolation, OffsetOutOfRange
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.batch import BatchHeader, iter_batches
from metadata_log.format.epoch_file import EPOCH_FILE, parse_epochs
from metadata_log.format.epochs import EpochHistory
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.cold_read import ColdRead
from metadata_log.storage.log_recovery import Recovered, RecoveryReport, recover_log
from metadata_log.storage.log_writer import LogWriter
from metadata_log.storage.recovered_epochs import FETCH_ANEW
from metadata_log.storage.segment import MAX_RELATIVE_OFFSET, Segment, SegmentIndex, segment_file
from metadata_log.storage.tail_cache import Place, TailCache
from metadata_log.storage.write_ops import (
    AdoptCheckpoint,
    Append,
    CreateSegment,
    RemoveFiles,
    RemoveSegments,
    Roll,
    SaveEpochs,
    SaveIndexes,
    Step,
    Truncate,
    WriteOp,
)

_REPLAY_BYTES: Final = 1 << 20
_ZERO: Final = Offset(0)

__all__ = ["ColdRead", "FileLog", "LogConfig", "LogWriter", "RecoveryReport", "WriteOp", "open_log"]


class LogConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sizes in bytes. `cache_bytes` bounds the newest batches in memory.

    A segment is rolled before a batch that would make it larger than `segment_bytes` (`metadata.log.segment.bytes`).
    The same holds if the batch is more than `segment_ms` (`metadata.log.segment.ms`) later than the first one.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096
    cache_bytes: int = 8 << 20


def open_log(
    files: Files, directory: str, *, config: LogConfig | None = None, recover: bool, absent_start: Offset = _ZERO
) -> tuple[FileLog, RecoveryReport]:
    """Open the log in `directory`, reading and checking all of it.

    With `recover`, a missing log is created with the start `absent_start`, and a torn tail is cut durably. The caller
    logs `report.warnings`. Without it, the disk is not changed, a torn tail is left out, and appends raise.

    Raises:
        CorruptFileError: all segments are missing, but the epoch history shows that there were records.
        CorruptBatchError: the log is corrupt, see `log_recovery`; nothing was changed.
        UnsupportedBatchError: a batch is compressed.
        OSError: the directory cannot be read or written.
    """
    settings = config or LogConfig()
    if recover:
        _create_when_absent(files, directory, absent_start)
    recovered = recover_log(files, directory, index_interval_bytes=settings.index_interval_bytes, repair=recover)
    return FileLog(files, directory, settings, recovered, writable=recover), recovered.report


def _create_when_absent(files: Files, directory: str, start: Offset) -> None:
    """Create the first segment of a missing log.

    A log has a segment before its first epoch, and its epoch history is emptied before the log is replaced. So a
    history with entries, but without a segment, means that segments are lost. Kafka's logs always have a segment, too.

    Raises:
        CorruptFileError: segments are lost.
    """
    files.mkdirs(directory)
    if any(name.endswith(".log") for name in files.listdir(directory)):
        return
    path = f"{directory}/{EPOCH_FILE}"
    if files.exists(path) and parse_epochs(read_small_file(files, path), path).entries:
        raise CorruptFileError(path, f"it lists epochs, but every segment of the log is missing; {FETCH_ANEW}")
    files.open(f"{directory}/{segment_file(start)}", create=True, exclusive=True).close()
    files.fsync_dir(directory)


class FileLog:
    """The log of one partition. Its end and epochs include staged batches, durable or not."""

    def __init__(
        self, files: Files, directory: str, config: LogConfig, recovered: Recovered, *, writable: bool
    ) -> None:
        self._files = files
        self._directory = directory
        self._config = config
        self._writable = writable
        self._segments = recovered.segments
        self._epochs = recovered.epochs
        self._end = recovered.report.log_end_offset
        self._start = self._segments[0].base_offset if self._segments else Offset(0)
        self._cache = TailCache(config.cache_bytes, self._end)

    @property
    def start_offset(self) -> Offset:
        """The first offset in the log: that of its first segment, or a checkpoint's end after a trim."""
        return self._start

    @property
    def log_end_offset(self) -> Offset:
        """One past the last record: the base offset of the next batch."""
        return self._end

    @property
    def last_epoch(self) -> Epoch:
        """The epoch of the last record; -1 in an empty log."""
        return self._epochs.last_epoch

    @property
    def epochs(self) -> EpochHistory:
        """The epoch history."""
        return self._epochs

    @property
    def size_in_bytes(self) -> int:
        """The size of all segments together."""
        return sum(segment.size for segment in self._segments)

    def end(self) -> OffsetAndEpoch:
        """Return the log's end and the epoch of its last record."""
        return OffsetAndEpoch(offset=self._end, epoch=self._epochs.last_epoch)

    def stage_append(self, batches: bytes, headers: Sequence[BatchHeader]) -> WriteOp:
        """Append whole, checked batches; `headers` are their headers, in order.

        Raises:
            InvariantViolation: the batches do not continue the log, or the log is read-only.
        """
        self._check_writable()
        steps: list[Step] = []
        op = WriteOp(())
        at = 0
        for header in headers:
            data = batches if len(headers) == 1 else batches[at : at + header.size_in_bytes]
            at += header.size_in_bytes
            self._append(header, data, steps, op)
        if at != len(batches):
            raise InvariantViolation(f"{len(batches)} bytes were to be appended, but their headers count {at}")
        op.steps = tuple(steps)
        return op

    def _append(self, header: BatchHeader, data: bytes, steps: list[Step], op: WriteOp) -> None:
        epoch = header.partition_leader_epoch
        if header.base_offset != self._end:
            raise InvariantViolation(f"a batch of offset {header.base_offset} cannot follow log end {self._end}")
        if epoch != self._epochs.last_epoch:
            self._epochs = self._epochs.assign(epoch, self._end)
            steps.append(SaveEpochs(epochs=self._epochs))
        segment = self._segments[-1]
        if segment.size and self._is_full(segment, header):
            segment = self._roll(segment, steps)
        place = Place(base_offset=self._end, segment_base=segment.base_offset, position=segment.size)
        steps.append(Append(segment_base=segment.base_offset, position=segment.size, data=data))
        segment.index.on_batch(header, segment.size)
        segment.size += header.size_in_bytes
        self._end = header.next_offset
        self._cache.append(place, self._end, data, op)

    def _is_full(self, segment: Segment, header: BatchHeader) -> bool:
        too_large = segment.size + header.size_in_bytes > self._config.segment_bytes
        too_old = header.max_timestamp - segment.index.first_timestamp > self._config.segment_ms
        return too_large or too_old or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET

    def _roll(self, closing: Segment, steps: list[Step]) -> Segment:
        index = closing.index
        steps.append(
            Roll(
                closing_base=closing.base_offset,
                index=index.index_bytes(),
                time_index=index.time_index_bytes(),
                new_base=self._end,
            )
        )
        self._segments.append(Segment(self._end, SegmentIndex(self._end, self._config.index_interval_bytes)))
        return self._segments[-1]

    def stage_truncate(self, offset: Offset) -> WriteOp:
        """Remove everything at and after `offset`.

        A batch with `offset` in its middle is removed whole: `log_end_offset` may then be less than `offset`.

        Raises:
            OffsetOutOfRange: `offset` is before the log's start.
            InvariantViolation: the log is read-only.
        """
        self._check_writable()
        if offset >= self._end:
            return WriteOp(())
        if offset < self.start_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self._end)
        place = self._place_of(offset)
        removed: list[Offset] = []
        while self._segments[-1].base_offset > place.segment_base:
            removed.append(self._segments.pop().base_offset)
        segment = self._segments[-1]
        segment.size = place.position
        segment.index.truncate(place.position)
        self._end = place.base_offset
        self._cache.truncate(self._end)
        before, self._epochs = self._epochs, self._epochs.truncate_to(self._end)
        goes = self._epochs != before
        cut = Truncate(
            remove_bases=tuple(removed),
            segment_base=segment.base_offset,
            size=segment.size,
            end=self._end,
            epochs=self._epochs if goes else None,
            epochs_before=before if goes else None,
        )
        return WriteOp((cut,))

    def stage_trim(self, start_offset: Offset, obsolete: Sequence[str] = ()) -> WriteOp:
        """Let the log begin at `start_offset`, the end of a durable checkpoint; remove segments wholly before it.

        `obsolete` are the names of checkpoints to remove afterwards. The active segment always stays.

        Raises:
            InvariantViolation: the offset is not in the log, or the log is read-only.
        """
        self._check_writable()
        if not self._start <= start_offset <= self._end:
            raise InvariantViolation(f"a log of {self._start} to {self._end} cannot be trimmed to {start_offset}")
        self._start = start_offset
        self._epochs = self._epochs.trim_to(start_offset).truncate_to(self._end)
        kept = max(1, bisect_right(self._segments, start_offset, key=_base_of)) - 1
        removed, self._segments = self._segments[:kept], self._segments[kept:]
        return WriteOp(
            (
                SaveEpochs(epochs=self._epochs),
                RemoveSegments(bases=tuple(map(_base_of, removed))),
                RemoveFiles(names=tuple(obsolete)),
            )
        )

    def stage_replace(
        self, end: OffsetAndEpoch, checkpoint: AdoptCheckpoint | None = None, obsolete: Sequence[str] = ()
    ) -> WriteOp:
        """Replace the whole log by a checkpoint that ends at `end`: the log is then empty and continues from there.

        `checkpoint` is the received one, or None if it has its final name already. A crash in between leaves the log
        unchanged or shorter, and after the adoption also the checkpoint: `open_replica` then completes the replacement.

        Raises:
            InvariantViolation: the log is read-only.
        """
        self._check_writable()
        removed = tuple(map(_base_of, reversed(self._segments)))
        self._segments = [Segment(end.offset, SegmentIndex(end.offset, self._config.index_interval_bytes))]
        self._start = self._end = end.offset
        self._epochs = EpochHistory()
        self._cache = TailCache(self._config.cache_bytes, self._end)
        return WriteOp(
            (
                *(() if checkpoint is None else (checkpoint,)),
                SaveEpochs(epochs=self._epochs),
                RemoveSegments(bases=removed),
                CreateSegment(base=end.offset),
                RemoveFiles(names=tuple(obsolete)),
            )
        )

    def size_after_trim(self, start_offset: Offset) -> int:
        """Return the log's size in bytes after a trim to `start_offset`."""
        kept = max(1, bisect_right(self._segments, start_offset, key=_base_of)) - 1
        return sum(segment.size for segment in self._segments[kept:])

    def size_from(self, offset: Offset) -> int:
        """Return the size in bytes from the batch with `offset` to the end."""
        if offset >= self._end:
            return 0
        place = self._place_of(offset)
        later = sum(segment.size for segment in self._segments if segment.base_offset >= place.segment_base)
        return later - place.position

    def stage_close(self) -> WriteOp:
        """Write the active segment's index files, as Kafka does. This is the last operation of a clean stop."""
        self._check_writable()
        active = self._segments[-1]
        return WriteOp(
            (
                SaveIndexes(
                    segment_base=active.base_offset,
                    index=active.index.index_bytes(),
                    time_index=active.index.time_index_bytes(),
                ),
            )
        )

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Return whole batches from the one with `offset` on: as many as fit `max_bytes`, but at least one.

        The result is empty at the log's end. Batches that are not in memory are read from the file, which blocks: see
        `needs_cold_read`.

        Raises:
            OffsetOutOfRange: `offset` is before the log's start or past its end.
            CorruptBatchError: the file has changed since the log was opened.
        """
        if offset >= self._cache.start_offset:
            if offset >= self._end:
                if offset > self._end:
                    raise OffsetOutOfRange(offset, self.start_offset, self._end)
                return b""
            return self._cache.read(offset, max_bytes)
        return self.cold_read(offset, max_bytes).run()

    def needs_cold_read(self, offset: Offset) -> bool:
        """Return True if `read` would read a file."""
        return self.start_offset <= offset < self._cache.start_offset

    def cold_read(self, offset: Offset, max_bytes: int) -> ColdRead:
        """Return a read of a file that may run in another thread: its batches were written before memory dropped them.

        If the log is truncated below the result meanwhile, the result is void: the caller compares ends when it comes.

        Raises:
            OffsetOutOfRange: `offset` is before the log's start, or needs no cold read.
        """
        if not self.needs_cold_read(offset):
            raise OffsetOutOfRange(offset, self.start_offset, self._cache.start_offset)
        segment = self._segment_of(offset)
        return ColdRead(
            files=self._files,
            path=f"{self._directory}/{segment_file(segment.base_offset)}",
            offset=offset,
            end_offset=self._cache.start_offset,
            position=segment.index.position_before(offset),
            end_position=segment.size,
            max_bytes=max_bytes,
            epochs=self._epochs,
        )

    def iter_from(self, offset: Offset) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield (header, whole batch) from the batch with `offset` to the log's end, even if it grows meanwhile.

        Raises:
            OffsetOutOfRange: as `read`.
        """
        while offset < self._end:
            data = self.read(offset, _REPLAY_BYTES)
            for position, header in iter_batches(data):
                yield header, data[position : position + header.size_in_bytes]
                offset = header.next_offset
        if offset > self._end:
            raise OffsetOutOfRange(offset, self.start_offset, self._end)

    def header_of(self, offset: Offset) -> BatchHeader:
        """Return the header of the batch that holds `offset`.

        Raises:
            OffsetOutOfRange: as `read`.
        """
        data = self.read(self._place_of(offset).base_offset, 1)
        return next(header for _, header in iter_batches(data))

    def _place_of(self, offset: Offset) -> Place:
        if offset >= self._cache.start_offset:
            return self._cache.place_of(offset)
        return self.cold_read(offset, 0).locate(self._segment_of(offset).base_offset)

    def _segment_of(self, offset: Offset) -> Segment:
        index = bisect_right(self._segments, offset, key=_base_of) - 1
        return self._segments[index]

    def _check_writable(self) -> None:
        if not self._writable:
            raise InvariantViolation(f"the log in {self._directory} was opened for reading only")


def _base_of(segment: Segment) -> Offset:
    return segment.base_offset
