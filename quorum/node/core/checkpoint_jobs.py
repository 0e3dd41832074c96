"""What the disk is asked to do with checkpoints, and what an executor tells of them.

Decides: the shape of both. Must not know: why.
"""

from __future__ import annotations

import msgspec

from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint_ops import CheckpointOp, CheckpointResult


class CheckpointJob(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do with a checkpoint, beside the log's writes."""

    job_id: int
    op: CheckpointOp


class CheckpointJobDone(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a checkpoint job."""

    job_id: int
    result: CheckpointResult


class SnapshotGenerated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of this replica's image is durable; `last_contained_ms` is the time of the last record in it."""

    end: OffsetAndEpoch
    size: int
    last_contained_ms: int


class SnapshotDamaged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of this replica's has rotted on its disk: nobody is given it, and another one is taken."""

    end: OffsetAndEpoch
    why: str


class SnapshotLoaded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of the leader's has taken the place of this replica's log."""

    end: OffsetAndEpoch
    size: int
