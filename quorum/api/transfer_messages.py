"""The request to hand leadership over, as the core sees it, and its answer.

Decides: what they hold. Must not know: protobuf. There is no such RPC in Kafka, whose leaders hand over only when they
stop (KIP-595, EndQuorumEpoch); etcd's is `MoveLeader`.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error

_NO_LEADER = NodeId(-1)


class TransferLeadershipRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Asks the leader to let the voter `to` lead instead (None: whichever other voter is first to have all of the log),
    within `timeout_ms`."""

    to: NodeId | None
    timeout_ms: int


class TransferLeadershipResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """NONE: `leader_id` leads `leader_epoch`, a later one than when this was asked; or it is `to`, and led already.

    Errors, `why` in words: NOT_LEADER_OR_FOLLOWER (ask the leader), VOTER_NOT_FOUND (no such voter; an observer),
    INVALID_REQUEST (no other voter, a transfer is under way), REQUEST_TIMED_OUT (not caught up in time: this node still
    leads; or no new leader is known yet).
    """

    error: Error = Error.NONE
    why: str | None = None
    leader_id: NodeId = _NO_LEADER
    leader_epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()
