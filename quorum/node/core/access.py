"""Which right to the cluster a request to the quorum needs, whichever door it came by.

Decides: the operation that each request is, as Kafka's controllers name it. Who may do it is `authorize`'s to say. Must
not know: doors, or how a principal was found out.

What replicas ask of each other is ClusterAction, a change of who votes or leads is Alter. ApiVersions needs no right.
"""

from __future__ import annotations

from typing import Any, Final

from metadata_log.image import MetadataImage
from quorum.api.calls import PeerCall
from quorum.api.context import CLUSTER, Operation, RequestContext, authorize
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    VoteRequest,
)
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.node.core.topic_id_fencing import Refusal

OPERATION_OF: Final[dict[type[Any], Operation | None]] = {
    VoteRequest: Operation.CLUSTER_ACTION,
    BeginQuorumEpochRequest: Operation.CLUSTER_ACTION,
    EndQuorumEpochRequest: Operation.CLUSTER_ACTION,
    FetchRequest: Operation.CLUSTER_ACTION,
    FetchSnapshotRequest: Operation.CLUSTER_ACTION,
    UpdateRaftVoterRequest: Operation.CLUSTER_ACTION,
    AddRaftVoterRequest: Operation.ALTER,
    RemoveRaftVoterRequest: Operation.ALTER,
    UpgradeKRaftVersionRequest: Operation.ALTER,
    TransferLeadershipRequest: Operation.ALTER,
    ApiVersionsRequest: None,
}


def validate_right(call: PeerCall, image: MetadataImage) -> Refusal | None:
    """A refusal with CLUSTER_AUTHORIZATION_FAILED, or None where the caller may ask this."""
    operation = OPERATION_OF[type(call.request)]
    if operation is None or authorize(call.context, operation, CLUSTER, image) is Error.NONE:
        return None
    return Refusal(
        error=Error.CLUSTER_AUTHORIZATION_FAILED,
        why=f"{call.context.principal} has no right to {operation.word} on the cluster",
    )


def may_describe(context: RequestContext, image: MetadataImage) -> bool:
    """Whether the caller may be told of the quorum (DescribeQuorum)."""
    return authorize(context, Operation.DESCRIBE, CLUSTER, image) is Error.NONE
