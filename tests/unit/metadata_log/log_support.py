"""Shared parts of the tests of the log: a log on some files, and batches to append."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.files.port import Files
from metadata_log.format.batch import build_batch, check_batch, iter_batches
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.file_log import FileLog, LogConfig, RecoveryReport, WriteOp, open_log
from metadata_log.storage.log_writer import LogWriter

DIRECTORY = "/data/__cluster_metadata-0"
FIRST_SEGMENT = f"{DIRECTORY}/00000000000000000000.log"


class OpenLog(msgspec.Struct, kw_only=True):
    """A log, its writer, and what opening it reported."""

    log: FileLog
    writer: LogWriter
    report: RecoveryReport

    def append(self, *batches: tuple[int, Sequence[bytes]]) -> None:
        """Append a batch for each (epoch, values), durably, in one group."""
        self.writer.execute([stage(self.log, epoch, values) for epoch, values in batches])

    def truncate(self, offset: int) -> None:
        """Cut the log, durably."""
        self.writer.execute([self.log.stage_truncate(Offset(offset))])

    def stop(self) -> None:
        """Stop cleanly."""
        self.writer.execute([self.log.stage_close()])
        self.writer.close()


def stage(log: FileLog, epoch: int, values: Sequence[bytes], *, timestamp_ms: int = 1_700_000_000_000) -> WriteOp:
    """Stage one batch at the log's end."""
    data = build_batch(base_offset=log.log_end_offset, epoch=Epoch(epoch), timestamp_ms=timestamp_ms, values=values)
    return log.stage_append(data, (check_batch(data),))


def open_at(files: Files, directory: str = DIRECTORY, *, recover: bool = True, **config: int) -> OpenLog:
    """Open (or make) the log."""
    log, report = open_log(files, directory, config=LogConfig(**config), recover=recover)
    return OpenLog(log=log, writer=LogWriter(files, directory), report=report)


def contents(log: FileLog) -> bytes:
    """Every byte of the log, read through it."""
    return b"".join(data for _, data in log.iter_from(log.start_offset))


def bounds(log: FileLog) -> list[int]:
    """Return the base offset of each batch, and the log end offset."""
    return [header.base_offset for header, _ in log.iter_from(log.start_offset)] + [log.log_end_offset]


def offsets_of(data: bytes) -> list[int]:
    """The base offsets of a buffer's batches."""
    return [header.base_offset for _, header in iter_batches(data)]
