"""The result of DescribeQuorum: the leader's knowledge of every replica (KIP-595, KIP-836)."""

from __future__ import annotations

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint


class ReplicaDescription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One replica. Timestamps are in ms since 1970. They and the log end offset are -1 until the replica has
    fetched."""

    replica: ReplicaKey
    log_end_offset: Offset
    last_fetch_timestamp_ms: int
    last_caught_up_timestamp_ms: int
    endpoints: tuple[Endpoint, ...] = ()


class QuorumDescription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of the quorum. Only the leader's description is complete; other replicas name the leader, with -1 as
    the voters' progress."""

    leader_id: NodeId | None
    leader_epoch: Epoch
    high_watermark: Offset
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
