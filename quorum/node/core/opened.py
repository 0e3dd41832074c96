"""A replica's directory, opened: what the executor starts from.

Decides: nothing. Made by `open_replica.open_replica`; a test or the simulator makes it over simulated files likewise.
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
    """Everything that stands on a replica's disk, checked and in memory, and the locks that keep others away.

    `replayer` stands at the newest checkpoint, or at the empty image: nothing of the log is replayed before it is known
    to be committed. `bootstrap_records` are for the controller that finds no log.
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
    """Those that the log may begin with, the oldest first; `replayer` and `storage` stand at the last."""
    locks: tuple[HeldLock, ...]
    committed: CommittedState | None = None
    """What an agent's earlier run knew to be committed; None where it has not said."""
    no_ops: int = 0
    """How many batches after the newest checkpoint hold one NoOp and nothing else."""
    named: NamedBatch
    """The batch by which its Fetches name its log."""

    @property
    def received_end(self) -> Offset | None:
        """End offset of the received snapshot that took an agent's log's place last, or None."""
        return None if self.committed is None else self.committed.received_end

    @property
    def committed_end(self) -> Offset:
        """Everything before it is known to be committed."""
        return max(self.storage.high_watermark, self.replayer.end.offset)

    def close(self) -> None:
        """After a clean stop: leave the log as Kafka leaves it, and give the locks back.

        Raises:
            StorageFailedError: the index files could not be written.
        """
        self.writer.execute([self.log.stage_close()])
        self.abandon()

    def abandon(self) -> None:
        """After a failure: close and give the locks back, writing nothing."""
        self.writer.close()
        for lock in reversed(self.locks):
            lock.release()
