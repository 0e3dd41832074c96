"""One partition's log: what is in it, as its owner sees it, the moment that it is staged.

Decides: where each batch goes, when a segment is rolled, what is read from memory. Must not know: when its steps become
durable (`LogWriter` says so to the owner), and what the records mean.

The owner stages appends and truncations, which change memory at once and return an operation for the writer, to be
executed in the order of staging. Everything here belongs to one task; only `ColdRead.run` may run in another thread.
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
    """Sizes in bytes. `cache_bytes` bounds the newest batches kept.

    A segment is rolled before the batch that would make it larger than `segment_bytes` (`metadata.log.segment.bytes`),
    or whose timestamp is more than `segment_ms` (`metadata.log.segment.ms`) past that of its first batch.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096
    cache_bytes: int = 8 << 20


def open_log(
    files: Files, directory: str, *, config: LogConfig | None = None, recover: bool, absent_start: Offset = _ZERO
) -> tuple[FileLog, RecoveryReport]:
    """Open the log in `directory`, reading and checking all of it.

    With `recover` a missing log is created, beginning at `absent_start`, and a torn tail is cut, durably; the caller
    logs `report.warnings`. Without, nothing on disk is changed, a torn tail is left out, and the log takes no appends.

    Raises:
        CorruptFileError: all segments are missing, though the epoch history says that there were records.
        CorruptBatchError: it is damaged, see `log_recovery`; nothing was changed.
        UnsupportedBatchError: a batch is compressed.
        OSError: the directory cannot be read or written.
    """
    settings = config or LogConfig()
    if recover:
        _create_when_absent(files, directory, absent_start)
    recovered = recover_log(files, directory, index_interval_bytes=settings.index_interval_bytes, repair=recover)
    return FileLog(files, directory, settings, recovered, writable=recover), recovered.report


def _create_when_absent(files: Files, directory: str, start: Offset) -> None:
    """The first segment is there before the first epoch, and before a log is replaced its epoch history is emptied:
    where that is full, segments have been lost. Kafka's logs always have a segment, too."""
    files.mkdirs(directory)
    if any(name.endswith(".log") for name in files.listdir(directory)):
        return
    path = f"{directory}/{EPOCH_FILE}"
    if files.exists(path) and parse_epochs(read_small_file(files, path), path).entries:
        raise CorruptFileError(path, f"it tells of records, but every segment of the log is missing; {FETCH_ANEW}")
    files.open(f"{directory}/{segment_file(start)}", create=True, exclusive=True).close()
    files.fsync_dir(directory)


class FileLog:
    """The log of one partition. Offsets of its end and epochs count what is staged, whether it is durable or not."""

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
        """The first offset in the log: that of its first segment, until it is trimmed to a checkpoint's end."""
        return self._start

    @property
    def log_end_offset(self) -> Offset:
        """One past the last record: where the next batch goes."""
        return self._end

    @property
    def last_epoch(self) -> Epoch:
        """Of the last record; -1 in an empty log."""
        return self._epochs.last_epoch

    @property
    def epochs(self) -> EpochHistory:
        """Which epoch began where."""
        return self._epochs

    @property
    def size_in_bytes(self) -> int:
        """Of all segments together."""
        return sum(segment.size for segment in self._segments)

    def end(self) -> OffsetAndEpoch:
        """The log's end and the epoch of its last record."""
        return OffsetAndEpoch(offset=self._end, epoch=self._epochs.last_epoch)

    def stage_append(self, batches: bytes, headers: Sequence[BatchHeader]) -> WriteOp:
        """Append whole, checked batches, of which `headers` are the headers in order.

        Raises:
            InvariantViolation: they do not continue the log, or the log is open for reading only.
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
        """Cut the log so that nothing at or after `offset` is left.

        A batch that holds `offset` in its middle goes as a whole: `log_end_offset` may then be less than `offset`.

        Raises:
            OffsetOutOfRange: `offset` is before the log's start.
            InvariantViolation: the log is open for reading only.
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
        """Let the log begin at `start_offset`, the end of a durable checkpoint: segments wholly before it go.

        `obsolete` are the names of the checkpoints that go with them. The active segment always stays.

        Raises:
            InvariantViolation: the offset is not in the log, or the log is open for reading only.
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
        """Put a checkpoint that ends at `end` in place of all of the log: it is empty then, and goes on from there.

        `checkpoint` is the received one, None where it has its name already. A crash in between leaves the log as it
        was or cut shorter, and from the adoption on the checkpoint: `open_replica` then does the rest.

        Raises:
            InvariantViolation: the log is open for reading only.
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
        """How large the log would be if it began there."""
        kept = max(1, bisect_right(self._segments, start_offset, key=_base_of)) - 1
        return sum(segment.size for segment in self._segments[kept:])

    def size_from(self, offset: Offset) -> int:
        """How many bytes of batches stand from the one that holds `offset` to the end."""
        if offset >= self._end:
            return 0
        place = self._place_of(offset)
        later = sum(segment.size for segment in self._segments if segment.base_offset >= place.segment_base)
        return later - place.position

    def stage_close(self) -> WriteOp:
        """Write the active segment's index files, as Kafka leaves them. The last operation of a clean stop."""
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
        """Whole batches from the one that holds `offset` on: as many as fit `max_bytes`, but at least one.

        Empty at the log's end. What is not in memory is read from the files here and now: see `needs_cold_read`.

        Raises:
            OffsetOutOfRange: before the log's start or past its end.
            CorruptBatchError: the file has changed since it was opened.
        """
        if offset >= self._cache.start_offset:
            if offset >= self._end:
                if offset > self._end:
                    raise OffsetOutOfRange(offset, self.start_offset, self._end)
                return b""
            return self._cache.read(offset, max_bytes)
        return self.cold_read(offset, max_bytes).run()

    def needs_cold_read(self, offset: Offset) -> bool:
        """Whether `read` would go to the files."""
        return self.start_offset <= offset < self._cache.start_offset

    def cold_read(self, offset: Offset, max_bytes: int) -> ColdRead:
        """A read of the files that may run in another thread: what lies there was written before it was forgotten here.

        If the log is truncated below its answer meanwhile, the answer is void: compare ends when it comes.

        Raises:
            OffsetOutOfRange: before the log's start, or not in need of a cold read.
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
        """(header, whole batch) from the batch that holds `offset` to the end that the log has when it gets there.

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
