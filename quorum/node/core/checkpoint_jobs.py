"""Checkpoint jobs of the disk, and the events about snapshots."""

from __future__ import annotations

import msgspec

from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint_ops import CheckpointOp, CheckpointResult


class CheckpointJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job on a checkpoint, apart from the log's writes."""

    job_id: int
    op: CheckpointOp


class CheckpointJobDone(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a checkpoint job."""

    job_id: int
    result: CheckpointResult


class SnapshotGenerated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of this replica's image is durable; `last_contained_ms` is the time of its last record."""

    end: OffsetAndEpoch
    size: int
    last_contained_ms: int


class SnapshotDamaged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checkpoint of this replica is corrupt on disk. It is served to no peer, and another snapshot is taken."""

    end: OffsetAndEpoch
    why: str


class SnapshotLoaded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of the leader has replaced this replica's log."""

    end: OffsetAndEpoch
    size: int
