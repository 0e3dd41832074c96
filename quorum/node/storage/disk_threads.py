"""The disk port over two threads: one writes and syncs the log, one reads old batches and works on checkpoints.

Decides: the group commit. A turn's writes go to the writer only with `hand_over`. A writer that wakes up during the
turn would take the interpreter from the rest of it. All writes that are queued when a sync ends share the next one;
there is no timer. Must not know: the purpose of the jobs. Nothing is retried: after a failure the writer ends, and
reports it once.
"""

from __future__ import annotations

import queue
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from metadata_log.errors import MetadataLogError, StorageFailedError
from quorum.node.core.checkpoint_jobs import CheckpointJob, CheckpointJobDone
from quorum.node.core.ports import DiskDone, DiskFailed, DiskJob, LogRead, ReadDone
from quorum.node.core.replica_disk import ReplicaDisk

DiskEvent = DiskDone | DiskFailed | ReadDone | CheckpointJobDone

_MAX_GROUP: Final = 4096
"""The most jobs in one sync, which bounds the wait for its completion."""
BUCKETS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class SyncStats:
    """The durations of durable writes. Only the writer thread writes them; other threads read single numbers.

    Attributes:
        counts: of groups by `BUCKETS_S`, and of those above the last.
        started_at: monotonic seconds at which the current group began; None between groups.
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total_seconds = 0.0
        self.jobs = 0
        self.started_at: float | None = None

    def done(self, seconds: float, jobs: int) -> None:
        """Count one durable group."""
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_seconds += seconds
        self.jobs += jobs
        self.started_at = None

    def stalled_seconds(self) -> float:
        """Return how long the current group has taken so far."""
        started = self.started_at
        return 0.0 if started is None else time.monotonic() - started


class ThreadedDisk:
    """The port. Both threads call `post`, which must be thread-safe."""

    def __init__(self, disk: ReplicaDisk, post: Callable[[DiskEvent], None], stats: SyncStats) -> None:
        self._disk = disk
        self._post = post
        self._kept: list[Sequence[DiskJob]] = []
        self._writes: queue.SimpleQueue[Sequence[DiskJob] | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[LogRead | CheckpointJob | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="log-writer", daemon=True)
        self._reader = threading.Thread(target=self._read_all, name="log-reader", daemon=True)
        self.stats = stats

    def start(self) -> None:
        """Start the threads."""
        self._writer.start()
        self._reader.start()

    def stop(self) -> None:
        """Finish the queued jobs, then end. Blocks until both threads have ended."""
        self._writes.put(None)
        self._reads.put(None)
        for thread in (self._writer, self._reader):
            if thread.ident is not None:
                thread.join()

    def write(self, jobs: Sequence[DiskJob]) -> None:
        """See the port. The jobs are kept until `hand_over`."""
        self._kept.append(jobs)

    def hand_over(self) -> None:
        """Pass the kept jobs to the writer."""
        for jobs in self._kept:
            self._writes.put(jobs)
        self._kept.clear()

    def read(self, read: LogRead) -> None:
        """See the port."""
        self._reads.put(read)

    def work(self, job: CheckpointJob) -> None:
        """See the port."""
        self._reads.put(job)

    def _write_all(self) -> None:
        failure: Exception | None = StorageFailedError("the writer thread ended unexpectedly")
        try:
            while (jobs := self._writes.get()) is not None:
                group, is_last = self._gather(jobs)
                started = self.stats.started_at = time.monotonic()
                sequence = self._disk.execute(group)
                self.stats.done(time.monotonic() - started, len(group))
                self._post(DiskDone(sequence=sequence))
                if is_last:
                    break
            failure = None
        except MetadataLogError as error:
            failure = error
        finally:
            if failure is not None:
                self._post(DiskFailed(error=failure))

    def _gather(self, jobs: Sequence[DiskJob]) -> tuple[list[DiskJob], bool]:
        """Return all jobs that are queued by now, and True if the end follows."""
        group = list(jobs)
        while len(group) < _MAX_GROUP:
            try:
                more = self._writes.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return group, True
            group += more
        return group, False

    def _read_all(self) -> None:
        failure: Exception | None = StorageFailedError("the reader thread ended unexpectedly")
        try:
            while (read := self._reads.get()) is not None:
                if isinstance(read, LogRead):
                    self._read_one(read)
                else:
                    self._post(CheckpointJobDone(job_id=read.job_id, result=read.op.run()))
            failure = None
        except (MetadataLogError, OSError) as error:
            failure = error
        finally:
            if failure is not None:
                self._post(DiskFailed(error=failure))

    def _read_one(self, read: LogRead) -> None:
        try:
            event: DiskEvent = ReadDone(read_id=read.read_id, data=read.plan.run())
        except (MetadataLogError, OSError) as error:
            event = DiskFailed(error=error, read_id=read.read_id)
        self._post(event)
