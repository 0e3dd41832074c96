"""Execution of a replica's disk jobs, in order: the log's writes, and replaced small files.

Decides: the grouping of log writes into one sync. Must not know: threads, or the purpose of a job. The driver calls it
in its writer thread, the simulator in virtual time: both run the same code.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.directory import (
    COMMITTED_STATE_FILE,
    QUORUM_STATE_FILE,
    write_committed_state,
    write_quorum_state,
)
from metadata_log.errors import StorageFailedError
from metadata_log.files.port import Files
from metadata_log.storage.log_writer import LogWriter
from metadata_log.storage.write_ops import WriteOp
from quorum.node.core.ports import CommittedWrite, DiskJob, StateWrite


class ReplicaDisk:
    """One replica's log directory. Used by one thread at a time; after a failure it must not be used again."""

    def __init__(self, files: Files, directory: str, writer: LogWriter) -> None:
        self._files = files
        self._directory = directory
        self._writer = writer

    def execute(self, jobs: Sequence[DiskJob]) -> int:
        """Execute the jobs; all are durable when this returns the last one's sequence.

        Raises:
            StorageFailedError: a call failed; how many of the jobs are done is unknown.
        """
        ops: list[WriteOp] = []
        for job in jobs:
            if isinstance(job, StateWrite | CommittedWrite):
                # The log's writes before this job become durable first: a vote must not overtake the records it was
                # granted on.
                self._write_log(ops)
                self._write_state(job)
            else:
                ops.append(job.op)
        self._write_log(ops)
        return jobs[-1].sequence

    def _write_log(self, ops: list[WriteOp]) -> None:
        if ops:
            self._writer.execute(ops)
            ops.clear()

    def _write_state(self, job: StateWrite | CommittedWrite) -> None:
        name = QUORUM_STATE_FILE if isinstance(job, StateWrite) else COMMITTED_STATE_FILE
        try:
            if isinstance(job, StateWrite):
                write_quorum_state(self._files, self._directory, job.state)
            else:
                write_committed_state(self._files, self._directory, job.state)
        except OSError as error:
            what = error.strerror or str(error)
            raise StorageFailedError(f"writing {name} to {self._directory} failed: {what}") from error
