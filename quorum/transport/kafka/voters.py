"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter and ControllerRegistration in Kafka's protocol, in both directions.

None of them names a topic: `topic_id_fencing` gets the sentinel id. Must not know: which node sends a request, and
when.

Sources: KIP-853, KIP-1186 (`ack_when_committed`: AddRaftVoter v1), KIP-919 (ControllerRegistration), KIP-584 (the
features in the response to ApiVersions).
"""

from __future__ import annotations

from typing import Any, Final

from metadata_log.ids import NodeId, Uuid
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.offsets import NO_EPOCH, Epoch
from metadata_log.voters import CONTROLLER_LISTENER, Endpoint, Voter
from quorum.api.brokers import FeatureRange, Listener
from quorum.api.calls import ClientAnswer, PeerCall, RegistrationAnswer
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.api.leader_hint import NO_LEADER
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from quorum.transport.grpc.convert.common import error_from
from quorum.transport.kafka.wire import Answers, Fields, Questions, bytes_of, key_from, uuid_to

ACK_WHEN_APPENDED_FROM: Final = 1
"""The first version of AddRaftVoter that can request a response before the commit."""


# --- incoming requests


def add_call_from(body: Any, context: RequestContext) -> PeerCall:
    """Return the call in an AddRaftVoter."""
    request = AddRaftVoterRequest(
        voter=key_from(body.voter_id, body.voter_directory_id),
        endpoints=_endpoints_from(body),
        ack_when_committed=getattr(body, "ack_when_committed", True),
    )
    return PeerCall(request=request, cluster_id=body.cluster_id, context=context)


def remove_call_from(body: Any, context: RequestContext) -> PeerCall:
    """Return the call in a RemoveRaftVoter."""
    request = RemoveRaftVoterRequest(voter=key_from(body.voter_id, body.voter_directory_id))
    return PeerCall(request=request, cluster_id=body.cluster_id, context=context)


def update_call_from(body: Any, context: RequestContext) -> PeerCall:
    """Return the call in an UpdateRaftVoter."""
    feature = body.k_raft_version_feature
    voter = Voter(
        key=key_from(body.voter_id, body.voter_directory_id),
        endpoints=_endpoints_from(body),
        min_kraft_version=feature.min_supported_version,
        max_kraft_version=feature.max_supported_version,
    )
    request = UpdateRaftVoterRequest(current_leader_epoch=Epoch(body.current_leader_epoch), voter=voter)
    return PeerCall(request=request, cluster_id=body.cluster_id, context=context)


def _endpoints_from(body: Any) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(name=at.name, host=at.host, port=at.port) for at in body.listeners)


def change_entity(answers: Answers, response: AddRaftVoterResponse | RemoveRaftVoterResponse) -> Any:
    """Return the response to AddRaftVoter or RemoveRaftVoter."""
    return answers.response(error_code=response.error, error_message=response.error_message)


def updated_entity(answers: Answers, response: UpdateRaftVoterResponse, leader: Endpoint | None) -> Any:
    """Return the response to UpdateRaftVoter, with the leader if its endpoint is known."""
    current = answers.make(
        "CurrentLeader",
        leader_id=NO_LEADER if leader is None else response.leader_id,
        leader_epoch=response.leader_epoch,
        host="" if leader is None else leader.host,
        port=0 if leader is None else leader.port,
    )
    return answers.response(error_code=response.error, current_leader=current)


def registration_from(body: Any) -> RegisterController:
    """Return the request in a ControllerRegistration."""
    return RegisterController(
        controller_id=body.controller_id,
        incarnation_id=Uuid(bytes_of(body.incarnation_id)),
        listeners=listeners_from(body),
        features=features_from(body),
    )


def listeners_from(body: Any) -> tuple[Listener, ...]:
    """Return the listeners in a broker's or controller's registration."""
    return tuple(
        Listener(name=at.name, host=at.host, port=at.port, security_protocol=at.security_protocol)
        for at in body.listeners
    )


def features_from(body: Any) -> tuple[FeatureRange, ...]:
    """Return the features in a broker's or controller's registration."""
    return tuple(
        FeatureRange(
            name=feature.name,
            min_supported_version=feature.min_supported_version,
            max_supported_version=feature.max_supported_version,
        )
        for feature in body.features
    )


def registered_entity(answers: Answers, response: RegisterControllerResponse) -> Any:
    """Return the response to ControllerRegistration."""
    return answers.response(error_code=response.error, error_message=response.error_message)


# --- outgoing requests; the sender adds cluster id and timeout


def add_fields(questions: Questions, request: AddRaftVoterRequest) -> Fields:
    """Return the fields of the request. A response before the commit needs v1; the caller checks that."""
    return {
        "voter_id": request.voter.node_id,
        "voter_directory_id": uuid_to(request.voter.directory_id),
        "listeners": questions.rows("Listener", request.endpoints),
        "ack_when_committed": request.ack_when_committed,
    }


def remove_fields(questions: Questions, request: RemoveRaftVoterRequest) -> Fields:
    """Return the fields of the request."""
    return {
        "voter_id": request.voter.node_id,
        "voter_directory_id": uuid_to(request.voter.directory_id),
    }


def update_fields(questions: Questions, request: UpdateRaftVoterRequest) -> Fields:
    """Return the fields of the request."""
    voter = request.voter
    return {
        "current_leader_epoch": request.current_leader_epoch,
        "voter_id": voter.key.node_id,
        "voter_directory_id": uuid_to(voter.key.directory_id),
        "listeners": questions.rows("Listener", voter.endpoints),
        "k_raft_version_feature": questions.make(
            "KRaftVersionFeature",
            min_supported_version=voter.min_kraft_version,
            max_supported_version=voter.max_kraft_version,
        ),
    }


def registration_fields(questions: Questions, request: RegisterController) -> Fields:
    """Return the fields of the request."""
    return {
        "controller_id": request.controller_id,
        "incarnation_id": uuid_to(request.incarnation_id),
        "zk_migration_ready": False,
        "listeners": questions.rows("Listener", request.listeners),
        "features": questions.rows("Feature", request.features),
    }


def added_from(body: Any) -> AddRaftVoterResponse:
    """Return the response to AddRaftVoter. Kafka's has neither leader nor epoch."""
    return AddRaftVoterResponse(
        error=error_from(body.error_code), error_message=body.error_message, leader_epoch=NO_EPOCH
    )


def removed_from(body: Any) -> RemoveRaftVoterResponse:
    """Return the response to RemoveRaftVoter. Kafka's has neither leader nor epoch."""
    return RemoveRaftVoterResponse(
        error=error_from(body.error_code), error_message=body.error_message, leader_epoch=NO_EPOCH
    )


def updated_from(body: Any) -> UpdateRaftVoterResponse:
    """Return the response to UpdateRaftVoter."""
    leader, error = body.current_leader, error_from(body.error_code)
    if leader is None:
        return UpdateRaftVoterResponse(error=error, leader_epoch=NO_EPOCH)
    at = (Endpoint(name=CONTROLLER_LISTENER, host=leader.host, port=leader.port),) if leader.host else ()
    return UpdateRaftVoterResponse(
        error=error,
        leader_id=NodeId(leader.leader_id),
        leader_epoch=Epoch(leader.leader_epoch),
        leader_endpoints=at,
    )


def registered_from(body: Any) -> RegistrationAnswer:
    """Return the answer to ControllerRegistration."""
    error = error_from(body.error_code)
    if error is not Error.NONE:
        return ClientAnswer(error=error, message=body.error_message)
    return ClientAnswer(response=RegisterControllerResponse())


def versions_from(body: Any) -> ApiVersionsResponse:
    """Return the response of a replica that may become a voter to ApiVersions (v3 or later).

    It listens at a controller's listener, so it can vote. Kafka's protocol does not carry its id. A node without
    kraft.version supports only 0.
    """
    found = next((each for each in body.supported_features if each.name == KRAFT_VERSION), None)
    return ApiVersionsResponse(
        error=error_from(body.error_code),
        leader_epoch=NO_EPOCH,
        min_kraft_version=0 if found is None else found.min_version,
        max_kraft_version=0 if found is None else found.max_version,
    )
