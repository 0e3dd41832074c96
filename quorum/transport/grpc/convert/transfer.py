"""TransferLeadership on the wire."""

from __future__ import annotations

from typing import Final

from kraft.v1 import quorum_pb2 as pb
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch
from quorum.api.calls import PeerCall
from quorum.api.transfer_messages import TransferLeadershipRequest, TransferLeadershipResponse
from quorum.transport.grpc.convert.common import endpoints_from, endpoints_to, error_from

DEFAULT_TIMEOUT_MS: Final = 10_000


def transfer_request_to(to: int | None, timeout_ms: int) -> pb.TransferLeadershipRequest:
    """Return the request's message. With `to` None, the leader chooses its successor."""
    return pb.TransferLeadershipRequest(to_id=to, timeout_ms=timeout_ms)


def transfer_request_from(message: pb.TransferLeadershipRequest) -> PeerCall:
    """Return the call in `message`."""
    request = TransferLeadershipRequest(
        to=NodeId(message.to_id) if message.HasField("to_id") else None,
        timeout_ms=message.timeout_ms or DEFAULT_TIMEOUT_MS,
    )
    return PeerCall(request=request, cluster_id=message.cluster_id if message.HasField("cluster_id") else None)


def transfer_response_to(response: TransferLeadershipResponse) -> pb.TransferLeadershipResponse:
    """Return the response's message."""
    return pb.TransferLeadershipResponse(
        error_code=response.error,
        error_message=response.why,
        leader_id=response.leader_id,
        leader_epoch=response.leader_epoch,
        leader_endpoints=endpoints_to(response.leader_endpoints),
    )


def transfer_response_from(message: pb.TransferLeadershipResponse) -> TransferLeadershipResponse:
    """Return the response in `message`."""
    return TransferLeadershipResponse(
        error=error_from(message.error_code),
        why=message.error_message if message.HasField("error_message") else None,
        leader_id=NodeId(message.leader_id),
        leader_epoch=Epoch(message.leader_epoch),
        leader_endpoints=endpoints_from(message.leader_endpoints),
    )
