"""What DescribeQuorum tells: the leader's view of every replica (KIP-595, KIP-836).

Decides: nothing. Must not know: where the numbers come from.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint


class ReplicaDescription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One replica. Timestamps are in ms since 1970; they and the end are -1 until it has fetched."""

    replica: ReplicaKey
    log_end_offset: Offset
    last_fetch_timestamp_ms: int
    last_caught_up_timestamp_ms: int
    endpoints: tuple[Endpoint, ...] = ()


class QuorumDescription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asked of the leader it is complete; other replicas name the leader and leave `voters`' progress unknown (-1)."""

    leader_id: NodeId | None
    leader_epoch: Epoch
    high_watermark: Offset
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
