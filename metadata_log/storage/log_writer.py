"""The writer of the log's files: executes staged steps in order, and makes a group of them durable with one sync.

Decides: the order of syncs. Must not know: the log's memory. Runs in one thread at a time.

The order in which changes become durable:
- a segment's bytes before the next segment exists, so that a crash leaves no gap between two;
- a new segment's directory entry and the epoch history before bytes that rely on them;
- an epoch's line only after all batches before the epoch: a log that ends before a line of the history has lost its
  end;
- the shortened epoch history before a truncation, for the same reason, and before that a copy of the former history;
- a truncation before any write in its place, and the newest segment's removal before the next older one's;
- in a trimmed log, the oldest segment's removal before the next one's;
- in a replaced log, the checkpoint's name before the first removal, and all removals before the new segment.
A closed segment's indexes are synced before the next segment exists, since no later step closes it again: torn indexes
would stay forever. Nothing relies on them: log recovery here and in Kafka rebuilds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from metadata_log.errors import StorageFailedError
from metadata_log.files.port import FileHandle, Files, replace_file
from metadata_log.format.epoch_file import BEFORE_CUT_FILE, EPOCH_FILE, format_epochs
from metadata_log.offsets import Offset
from metadata_log.storage.segment import segment_file
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

PRODUCER_STATE: Final = re.compile(r"\d{20}\.snapshot", re.ASCII)


def producer_state_end(names: Iterable[str]) -> int:
    """Return the greatest offset in the names of Kafka's producer state files, or 0."""
    return max((int(name[:20]) for name in names if PRODUCER_STATE.fullmatch(name)), default=0)


class LogWriter:
    """Writes one partition's directory. After a failure every call raises: the content on disk is unknown.

    Attributes:
        syncs: the number of syncs of segments.
        bytes_written: the number of bytes written to segments.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._base: Offset | None = None
        self._handle: FileHandle | None = None
        self._dirty = False
        self._gathered: list[bytes] = []
        self._gathered_at = 0
        self._gathered_size = 0
        self._failure: str | None = None
        self.syncs = 0
        self.bytes_written = 0

    def execute(self, ops: Sequence[WriteOp]) -> None:
        """Execute operations in the order of their staging. All of them are durable when this returns.

        Raises:
            StorageFailedError: a call failed, now or earlier. Nothing is retried.
        """
        if self._failure is not None:
            raise StorageFailedError(f"{self._directory} failed before and is not written again: {self._failure}")
        try:
            for op in ops:
                for step in op.steps:
                    self._execute(step)
            self._sync()
        except OSError as error:
            self._failure = error.strerror or str(error)
            raise StorageFailedError(f"writing to {self._directory} failed: {self._failure}") from error
        for op in ops:
            op.finish()

    def close(self) -> None:
        """Close the active segment's file. For a clean stop, execute `FileLog.stage_close` first."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None
            self._base = None

    def _execute(self, step: Step) -> None:
        match step:
            case Append():
                self._gather(step)
            case Roll():
                self._roll(step)
            case Truncate():
                self._truncate(step)
            case SaveEpochs():
                self._sync()
                replace_file(self._files, self._path(EPOCH_FILE), format_epochs(step.epochs))
            case SaveIndexes():
                self._sync()
                self._save_indexes(step.segment_base, step.index, step.time_index)
            case _:
                self._sync()
                self._replace(step)

    def _replace(self, step: RemoveSegments | CreateSegment | AdoptCheckpoint | RemoveFiles) -> None:
        """Execute a step that trims or replaces the log."""
        match step:
            case RemoveSegments():
                if self._base in step.bases:
                    self.close()
                for base in step.bases:
                    remove_segment(self._files, self._directory, base)
            case CreateSegment():
                self._create(step.base)
            case AdoptCheckpoint():
                self._adopt(step)
            case RemoveFiles():
                for name in step.names:
                    if self._files.exists(self._path(name)):
                        self._files.unlink(self._path(name))

    def _adopt(self, step: AdoptCheckpoint) -> None:
        handle = self._files.open(self._path(step.part))
        try:
            handle.fdatasync()
        finally:
            handle.close()
        self._files.rename(self._path(step.part), self._path(step.name))
        self._files.fsync_dir(self._directory)

    def _gather(self, step: Append) -> None:
        """Collect consecutive appends for one write."""
        if self._gathered and (
            self._base != step.segment_base or self._gathered_at + self._gathered_size != step.position
        ):
            self._write()
        if not self._gathered:
            self._switch_to(step.segment_base)
            self._gathered_at = step.position
        self._gathered.append(step.data)
        self._gathered_size += len(step.data)

    def _switch_to(self, base: Offset) -> FileHandle:
        if self._handle is not None and self._base == base:
            return self._handle
        self._sync()
        self.close()
        self._handle = self._files.open(self._path(segment_file(base)))
        self._base = base
        return self._handle

    def _write(self) -> None:
        if not self._gathered or self._handle is None:
            return
        data = self._gathered[0] if len(self._gathered) == 1 else b"".join(self._gathered)
        self._gathered.clear()
        self._gathered_size = 0
        self._handle.pwrite(data, self._gathered_at)
        self.bytes_written += len(data)
        self._dirty = True

    def _sync(self) -> None:
        self._write()
        if self._dirty and self._handle is not None:
            self._handle.fdatasync()
            self.syncs += 1
            self._dirty = False

    def _roll(self, step: Roll) -> None:
        self._sync()
        self._save_indexes(step.closing_base, step.index, step.time_index)
        self._create(step.new_base)

    def _create(self, base: Offset) -> None:
        self.close()
        self._handle = self._files.open(self._path(segment_file(base)), create=True, exclusive=True)
        self._base = base
        self._files.fsync_dir(self._directory)

    def _truncate(self, step: Truncate) -> None:
        self._sync()
        self.close()
        if step.epochs is not None and step.epochs_before is not None:
            replace_file(self._files, self._path(BEFORE_CUT_FILE), format_epochs(step.epochs_before))
            replace_file(self._files, self._path(EPOCH_FILE), format_epochs(step.epochs))
        self._forget_end(step)
        for base in step.remove_bases:
            remove_segment(self._files, self._directory, base)
        handle = self._switch_to(step.segment_base)
        handle.truncate(step.size)
        handle.fdatasync()
        self.syncs += 1
        if step.epochs is not None:
            self._files.unlink(self._path(BEFORE_CUT_FILE))

    def _forget_end(self, step: Truncate) -> None:
        """Remove the files that show the former end: the segment's closed indexes, and Kafka's producer state.

        After the truncation, they would prove that the log has lost its end.
        """
        names = self._files.listdir(self._directory)
        beyond = [name for name in names if PRODUCER_STATE.fullmatch(name) and int(name[:20]) > step.end]
        indexes = [segment_file(step.segment_base, suffix) for suffix in (".index", ".timeindex")]
        stale = [*beyond, *(name for name in indexes if name in names)]
        for name in stale:
            self._files.unlink(self._path(name))
        if stale:
            self._files.fsync_dir(self._directory)

    def _save_indexes(self, base: Offset, index: bytes, time_index: bytes) -> None:
        for suffix, data in ((".index", index), (".timeindex", time_index)):
            handle = self._files.open(self._path(segment_file(base, suffix)), create=True)
            try:
                handle.truncate(0)
                handle.pwrite(data, 0)
                handle.fdatasync()
            finally:
                handle.close()

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"


def remove_segment(files: Files, directory: str, base: Offset) -> None:
    """Remove a segment and its index files durably, the indexes first: left alone, they would show a lost segment."""
    remove_indexes(files, directory, base)
    path = f"{directory}/{segment_file(base)}"
    if files.exists(path):
        files.unlink(path)
    files.fsync_dir(directory)


def remove_indexes(files: Files, directory: str, base: Offset) -> None:
    """Remove a segment's index files; durable once the directory is synced."""
    for suffix in (".timeindex", ".index"):
        path = f"{directory}/{segment_file(base, suffix)}"
        if files.exists(path):
            files.unlink(path)
