"""A view of a running node for health, metrics and services. Ages are in ms, offsets exclusive."""

from __future__ import annotations

import msgspec

from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset
from quorum.node.core.log_fence import Hold
from quorum.node.core.peer_failures import UnreachedPeer


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """One node at one moment."""

    node_id: int
    cluster_id: str
    role: str
    """The Raft role: `unattached`, `prospective`, `candidate`, `follower`, `leader` or `resigned`."""
    epoch: Epoch
    leader_id: int | None
    log_start_offset: Offset
    log_end_offset: Offset
    flushed_offset: Offset
    high_watermark: Offset
    """The highest that is known to this process; the checkpoint's end until a leader reports one."""
    image: MetadataImage
    is_voter: bool
    voter_count: int
    active_epoch: Epoch | None
    """The epoch in which this node is the active controller, or None."""
    heard_age_ms: int | None
    """The time since this node heard of a majority (as leader) or of its leader (otherwise); None if it never did."""
    fetch_timeout_ms: int
    disk_stalled_ms: int
    queued: int
    waiting_answers: int
    failure: str | None
    snapshot_end_offset: Offset
    """The end of the newest snapshot that is whole and durable here; -1 without a snapshot."""
    snapshot_bytes: int
    snapshot_time_ms: int
    """The time of its last record, in ms since 1970; -1 without a snapshot."""
    held: Hold | None
    """The reason why it takes nothing from its leader, or None."""
    unreached: tuple[UnreachedPeer, ...]
    """The peers whose last request failed, and why."""
    recovery_warnings: tuple[str, ...]
    turns: int
    turn_seconds: float
    longest_turn_seconds: float
    events: int
