"""A replica's opened directory, with which the executor starts.

`open_replica.open_replica` makes it from files; tests and the simulator make it from simulated ones.
"""

from __future__ import annotations

import msgspec

from metadata_log.directory import CommittedState, MetaProperties
from metadata_log.files.port import Files, HeldLock
from metadata_log.ids import ReplicaKey
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Offset
from metadata_log.records import MetadataRecord
from metadata_log.storage.file_log import FileLog
from metadata_log.storage.loaded_checkpoint import HeldCheckpoint
from metadata_log.storage.log_recovery import RecoveryReport
from metadata_log.storage.log_writer import LogWriter
from quorum.node.core.named_batch import NamedBatch
from quorum.node.core.replica_disk import ReplicaDisk
from quorum.raft.config import StorageState


class OpenedReplica(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a replica's disk, checked and in memory, and the locks that exclude other processes.

    `replayer` is at the newest checkpoint, or at the empty image: no record of the log is replayed before it is known
    to be committed. `bootstrap_records` are for a controller without a log.
    """

    meta: MetaProperties
    replica: ReplicaKey
    directory: str
    """`.../__cluster_metadata-0`."""
    storage: StorageState
    log: FileLog
    writer: LogWriter
    disk: ReplicaDisk
    replayer: Replayer
    bootstrap_records: tuple[MetadataRecord, ...]
    recovery: RecoveryReport
    files: Files
    checkpoints: tuple[HeldCheckpoint, ...]
    """The checkpoints with which the log may begin, the oldest first. `replayer` and `storage` are at the last."""
    locks: tuple[HeldLock, ...]
    committed: CommittedState | None = None
    """The committed state that an agent's earlier run stored, or None."""
    no_ops: int = 0
    """The number of batches after the newest checkpoint that hold a single NoOp."""
    named: NamedBatch
    """The batch by which its Fetches name its log."""

    @property
    def received_end(self) -> Offset | None:
        """End offset of the received snapshot that replaced an agent's log last, or None."""
        return None if self.committed is None else self.committed.received_end

    @property
    def committed_end(self) -> Offset:
        """The offset before which everything is known to be committed."""
        return max(self.storage.high_watermark, self.replayer.end.offset)

    def close(self) -> None:
        """Close after a clean stop: leave the log as Kafka does, and release the locks.

        Raises:
            StorageFailedError: the index files could not be written.
        """
        self.writer.execute([self.log.stage_close()])
        self.abandon()

    def abandon(self) -> None:
        """Close after a failure, without a write, and release the locks."""
        self.writer.close()
        for lock in reversed(self.locks):
            lock.release()
