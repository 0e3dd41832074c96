"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, UpgradeKRaftVersion and ApiVersions on the wire (KIP-853).

These requests name no topic: `topic_id_fencing` gets the sentinel id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kraft.v1 import common_pb2, quorum_pb2
from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Voter
from quorum.api.calls import PeerCall
from quorum.api.error_codes import Error
from quorum.api.voter_messages import (
    CHANGE_RESPONSE_OF,
    AddRaftVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
    VoterChange,
    VoterChangeResponse,
    VoterRequest,
)
from quorum.transport.grpc.convert.common import BadMessage, endpoints_from, endpoints_to, error_from
from quorum.transport.grpc.convert.partitions import cluster_id_of, replica_key


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """One of the RPCs: its name in the Quorum service, and the conversions of its request."""

    name: str
    to: Callable[[Any, str | None], Any]
    from_: Callable[[Any], VoterRequest]


def _key_to(key: ReplicaKey) -> common_pb2.ReplicaKey:
    return common_pb2.ReplicaKey(node_id=key.node_id, directory_id=key.directory_id)


def _key_in(message: Any) -> ReplicaKey:
    if not message.HasField("voter"):
        raise BadMessage(Error.INVALID_REQUEST, "no voter is named")
    return replica_key(message.voter.node_id, message.voter.directory_id)


def _add_to(request: AddRaftVoterRequest, cluster_id: str | None) -> quorum_pb2.AddRaftVoterRequest:
    return quorum_pb2.AddRaftVoterRequest(
        cluster_id=cluster_id,
        voter=_key_to(request.voter),
        listeners=endpoints_to(request.endpoints),
        ack_when_appended=not request.ack_when_committed,
        validate_only=request.validate_only,
    )


def _add_from(message: quorum_pb2.AddRaftVoterRequest) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(
        voter=_key_in(message),
        endpoints=endpoints_from(message.listeners),
        ack_when_committed=not message.ack_when_appended,
        validate_only=message.validate_only,
    )


def _remove_to(request: RemoveRaftVoterRequest, cluster_id: str | None) -> quorum_pb2.RemoveRaftVoterRequest:
    return quorum_pb2.RemoveRaftVoterRequest(
        cluster_id=cluster_id,
        voter=_key_to(request.voter),
        validate_only=request.validate_only,
        unsafe=not request.keeps_majority,
        only_if_silent=request.only_if_unreachable,
    )


def _remove_from(message: quorum_pb2.RemoveRaftVoterRequest) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(
        voter=_key_in(message),
        validate_only=message.validate_only,
        keeps_majority=not message.unsafe,
        only_if_unreachable=message.only_if_silent,
    )


def _update_to(request: UpdateRaftVoterRequest, cluster_id: str | None) -> quorum_pb2.UpdateRaftVoterRequest:
    voter = request.voter
    return quorum_pb2.UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=request.current_leader_epoch,
        voter=_key_to(voter.key),
        listeners=endpoints_to(voter.endpoints),
        min_kraft_version=voter.min_kraft_version,
        max_kraft_version=voter.max_kraft_version,
    )


def _update_from(message: quorum_pb2.UpdateRaftVoterRequest) -> UpdateRaftVoterRequest:
    voter = Voter(
        key=_key_in(message),
        endpoints=endpoints_from(message.listeners),
        min_kraft_version=message.min_kraft_version,
        max_kraft_version=message.max_kraft_version,
    )
    return UpdateRaftVoterRequest(current_leader_epoch=Epoch(message.current_leader_epoch), voter=voter)


def _upgrade_to(request: UpgradeKRaftVersionRequest, cluster_id: str | None) -> quorum_pb2.UpgradeKRaftVersionRequest:
    return quorum_pb2.UpgradeKRaftVersionRequest(
        cluster_id=cluster_id, kraft_version=request.kraft_version, validate_only=request.validate_only
    )


def _upgrade_from(message: quorum_pb2.UpgradeKRaftVersionRequest) -> UpgradeKRaftVersionRequest:
    return UpgradeKRaftVersionRequest(kraft_version=message.kraft_version, validate_only=message.validate_only)


def _versions_to(request: ApiVersionsRequest, cluster_id: str | None) -> quorum_pb2.ApiVersionsRequest:
    return quorum_pb2.ApiVersionsRequest(cluster_id=cluster_id)


def _versions_from(message: quorum_pb2.ApiVersionsRequest) -> ApiVersionsRequest:
    return ApiVersionsRequest()


METHODS: Final[dict[type[Any], Method]] = {
    AddRaftVoterRequest: Method(name="AddRaftVoter", to=_add_to, from_=_add_from),
    RemoveRaftVoterRequest: Method(name="RemoveRaftVoter", to=_remove_to, from_=_remove_from),
    UpdateRaftVoterRequest: Method(name="UpdateRaftVoter", to=_update_to, from_=_update_from),
    UpgradeKRaftVersionRequest: Method(name="UpgradeKRaftVersion", to=_upgrade_to, from_=_upgrade_from),
    ApiVersionsRequest: Method(name="ApiVersions", to=_versions_to, from_=_versions_from),
}


def request_from(kind: type[VoterRequest], message: Any) -> PeerCall:
    """Return the call in `message`.

    Raises:
        BadMessage: a required voter is missing, or an id is not 16 bytes long.
    """
    return PeerCall(request=METHODS[kind].from_(message), cluster_id=cluster_id_of(message))


def change_response_to(response: VoterChangeResponse) -> quorum_pb2.VoterChangeResponse:
    """Return the response's message, the same for each reconfiguration."""
    return quorum_pb2.VoterChangeResponse(
        error_code=response.error,
        error_message=response.error_message,
        leader_id=response.leader_id,
        leader_epoch=response.leader_epoch,
        leader_endpoints=endpoints_to(response.leader_endpoints),
        voters_offset=response.voters_offset,
    )


def versions_response_to(response: ApiVersionsResponse) -> quorum_pb2.ApiVersionsResponse:
    """Return the message of an ApiVersions response."""
    return quorum_pb2.ApiVersionsResponse(
        error_code=response.error,
        replica=None if response.replica is None else _key_to(response.replica),
        can_vote=response.can_vote,
        min_kraft_version=response.min_kraft_version,
        max_kraft_version=response.max_kraft_version,
        leader_id=response.leader_id,
        leader_epoch=response.leader_epoch,
        leader_endpoints=endpoints_to(response.leader_endpoints),
    )


def change_response_from(kind: type[VoterChange], message: quorum_pb2.VoterChangeResponse) -> VoterChangeResponse:
    """Return the response in `message` to a change of that kind."""
    return CHANGE_RESPONSE_OF[kind](
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
        leader_id=NodeId(message.leader_id),
        leader_epoch=Epoch(message.leader_epoch),
        leader_endpoints=endpoints_from(message.leader_endpoints),
        voters_offset=Offset(message.voters_offset),
    )


def versions_response_from(message: quorum_pb2.ApiVersionsResponse) -> ApiVersionsResponse:
    """Return the response in `message`.

    Raises:
        BadMessage: the directory id is not 16 bytes long.
    """
    key = message.replica
    return ApiVersionsResponse(
        error=error_from(message.error_code),
        replica=replica_key(key.node_id, key.directory_id) if message.HasField("replica") else None,
        can_vote=message.can_vote,
        min_kraft_version=message.min_kraft_version,
        max_kraft_version=message.max_kraft_version,
        leader_id=NodeId(message.leader_id),
        leader_epoch=Epoch(message.leader_epoch),
        leader_endpoints=endpoints_from(message.leader_endpoints),
    )
