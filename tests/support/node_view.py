"""A `NodeView` of one follower of three voters at rest, made without a node; tests change the fields that they need.

Decides: a follower of three voters at rest, from which a test changes what it is about. Must not know: what reads it.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset
from quorum.node.core.view import NodeView

FOLLOWER: Final = NodeView(
    node_id=1,
    cluster_id="c",
    role="follower",
    epoch=Epoch(3),
    leader_id=2,
    log_start_offset=Offset(0),
    log_end_offset=Offset(9),
    flushed_offset=Offset(9),
    high_watermark=Offset(0),
    image=MetadataImage.empty(),
    is_voter=True,
    voter_count=3,
    active_epoch=None,
    heard_age_ms=None,
    fetch_timeout_ms=2000,
    disk_stalled_ms=0,
    queued=0,
    waiting_answers=0,
    failure=None,
    snapshot_end_offset=Offset(-1),
    snapshot_bytes=0,
    snapshot_time_ms=-1,
    held=None,
    unreached=(),
    recovery_warnings=(),
    turns=0,
    turn_seconds=0.0,
    longest_turn_seconds=0.0,
    events=0,
)
