"""TransferLeadership as the core uses it.

Must not know: protobuf. Kafka has no such RPC: its leaders transfer only when they shut down (KIP-595, EndQuorumEpoch).
etcd's is `MoveLeader`.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import NodeId
from quorum.api.error_codes import Error
from quorum.api.leader_hint import LeaderHint


class TransferLeadershipRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ask the leader to transfer leadership to the voter `to` within `timeout_ms`. If `to` is `None`, the first other
    voter to catch up leads."""

    to: NodeId | None
    timeout_ms: int


class TransferLeadershipResponse(LeaderHint, frozen=True, kw_only=True, gc=False):
    """The outcome of a transfer. If `error` is `NONE`, `leader_id` leads a later epoch than before, or is `to` and led
    already.

    Errors, with the reason in `why`:

    - NOT_LEADER_OR_FOLLOWER: ask the leader.
    - VOTER_NOT_FOUND: there is no such voter; it may be an observer.
    - INVALID_REQUEST: there is no other voter, or a transfer is under way.
    - REQUEST_TIMED_OUT: the voter did not catch up in time and this node still leads, or no new leader is known yet.
    """

    error: Error = Error.NONE
    why: str | None = None
