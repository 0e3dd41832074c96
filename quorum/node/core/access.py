"""The cluster operation that each request to the quorum needs, on any listener.

Decides: the operation of each request, as in Kafka's controllers. `authorize` decides which principal may do it. Must
not know: listeners, or how a principal was authenticated.

Requests between replicas are ClusterAction; a reconfiguration or transfer is Alter. ApiVersions needs no right.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage
from quorum.api.calls import PeerCall, PeerRequest
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

OPERATION_OF: Final[dict[type[PeerRequest], Operation | None]] = {
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
    """Return a refusal with CLUSTER_AUTHORIZATION_FAILED, or None if the client is authorized."""
    operation = OPERATION_OF[type(call.request)]
    if operation is None or authorize(call.context, operation, CLUSTER, image) is Error.NONE:
        return None
    return Refusal(
        error=Error.CLUSTER_AUTHORIZATION_FAILED,
        why=f"{call.context.principal} has no right to {operation.word} on the cluster",
    )


def may_describe(context: RequestContext, image: MetadataImage) -> bool:
    """Return True if the client may describe the quorum (DescribeQuorum)."""
    return authorize(context, Operation.DESCRIBE, CLUSTER, image) is Error.NONE
