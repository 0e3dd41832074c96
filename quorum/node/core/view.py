"""What health, metrics and doors may see of a running node: one snapshot of it.

Decides: nothing. Ages are in ms, offsets exclusive.
"""

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
    """Of Raft: `unattached`, `prospective`, `candidate`, `follower`, `leader` or `resigned`."""
    epoch: Epoch
    leader_id: int | None
    log_start_offset: Offset
    log_end_offset: Offset
    flushed_offset: Offset
    high_watermark: Offset
    """The highest known to this process; the checkpoint's end as long as no leader has told one."""
    image: MetadataImage
    is_voter: bool
    voter_count: int
    active_epoch: Epoch | None
    """Where this node is the active controller."""
    heard_age_ms: int | None
    """Since this node last heard of a majority (as leader) or its leader (else); None when it never did."""
    fetch_timeout_ms: int
    disk_stalled_ms: int
    queued: int
    waiting_answers: int
    failure: str | None
    snapshot_end_offset: Offset
    """Of the newest snapshot that is whole and durable here; -1 when there is none."""
    snapshot_bytes: int
    snapshot_time_ms: int
    """Of the last record in it, since 1970; -1 when there is none."""
    held: Hold | None
    """Why it takes nothing from its leader; None while it does."""
    unreached: tuple[UnreachedPeer, ...]
    """The peers whose last request failed, and why."""
    recovery_warnings: tuple[str, ...]
    turns: int
    turn_seconds: float
    longest_turn_seconds: float
    events: int
