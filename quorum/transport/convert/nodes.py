"""RegisterBroker, BrokerHeartbeat and RegisterController on the wire (KIP-631, KIP-858, KIP-919)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraft.v1 import controller_pb2 as pb
from metadata_log.ids import DirectoryId
from quorum.controller.requests import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
    RegisterController,
    RegisterControllerResponse,
)
from quorum.transport.convert.common import directory_id_from, error_from, uuid_from

NO_BROKER_EPOCH: Final = -1


def _listeners_to(listeners: Iterable[Listener]) -> list[pb.Listener]:
    return [
        pb.Listener(name=entry.name, host=entry.host, port=entry.port, security_protocol=entry.security_protocol)
        for entry in listeners
    ]


def _listeners_from(messages: Iterable[pb.Listener]) -> tuple[Listener, ...]:
    return tuple(
        Listener(name=entry.name, host=entry.host, port=entry.port, security_protocol=entry.security_protocol)
        for entry in messages
    )


def _features_to(features: Iterable[FeatureRange]) -> list[pb.FeatureRange]:
    return [
        pb.FeatureRange(
            name=feature.name,
            min_supported_version=feature.min_supported_version,
            max_supported_version=feature.max_supported_version,
        )
        for feature in features
    ]


def _features_from(messages: Iterable[pb.FeatureRange]) -> tuple[FeatureRange, ...]:
    return tuple(
        FeatureRange(
            name=feature.name,
            min_supported_version=feature.min_supported_version,
            max_supported_version=feature.max_supported_version,
        )
        for feature in messages
    )


def _directory_ids_from(values: Iterable[bytes]) -> tuple[DirectoryId, ...]:
    return tuple(directory_id_from(value) for value in values)


def register_broker_to(request: RegisterBroker) -> pb.RegisterBrokerRequest:
    """The request on the wire."""
    return pb.RegisterBrokerRequest(
        broker_id=request.broker_id,
        cluster_id=request.cluster_id,
        incarnation_id=request.incarnation_id,
        listeners=_listeners_to(request.listeners),
        features=_features_to(request.features),
        rack=request.rack,
        log_dirs=request.log_dirs,
        previous_broker_epoch=request.previous_broker_epoch,
    )


def register_broker_from(message: pb.RegisterBrokerRequest) -> RegisterBroker:
    """What `message` asks."""
    has_previous = message.HasField("previous_broker_epoch")
    return RegisterBroker(
        broker_id=message.broker_id,
        cluster_id=message.cluster_id,
        incarnation_id=uuid_from(message.incarnation_id),
        listeners=_listeners_from(message.listeners),
        features=_features_from(message.features),
        rack=message.rack if message.HasField("rack") else None,
        log_dirs=_directory_ids_from(message.log_dirs),
        previous_broker_epoch=message.previous_broker_epoch if has_previous else NO_BROKER_EPOCH,
    )


def register_broker_response_to(response: RegisterBrokerResponse) -> pb.RegisterBrokerResponse:
    """The answer on the wire."""
    return pb.RegisterBrokerResponse(
        error_code=response.error, error_message=response.error_message, broker_epoch=response.broker_epoch
    )


def register_broker_response_from(message: pb.RegisterBrokerResponse) -> RegisterBrokerResponse:
    """What `message` answers."""
    return RegisterBrokerResponse(
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
        broker_epoch=message.broker_epoch,
    )


def heartbeat_to(request: BrokerHeartbeat) -> pb.BrokerHeartbeatRequest:
    """The request on the wire."""
    cordoned = request.cordoned_log_dirs
    return pb.BrokerHeartbeatRequest(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        current_metadata_offset=request.current_metadata_offset,
        want_fence=request.want_fence,
        want_shut_down=request.want_shut_down,
        offline_log_dirs=request.offline_log_dirs,
        cordoned_log_dirs=None if cordoned is None else pb.DirectoryIds(directory_ids=cordoned),
    )


def heartbeat_from(message: pb.BrokerHeartbeatRequest) -> BrokerHeartbeat:
    """What `message` asks."""
    is_cordoned_known = message.HasField("cordoned_log_dirs")
    return BrokerHeartbeat(
        broker_id=message.broker_id,
        broker_epoch=message.broker_epoch,
        current_metadata_offset=message.current_metadata_offset,
        want_fence=message.want_fence,
        want_shut_down=message.want_shut_down,
        offline_log_dirs=_directory_ids_from(message.offline_log_dirs),
        cordoned_log_dirs=_directory_ids_from(message.cordoned_log_dirs.directory_ids) if is_cordoned_known else None,
    )


def heartbeat_response_to(response: BrokerHeartbeatResponse) -> pb.BrokerHeartbeatResponse:
    """The answer on the wire."""
    return pb.BrokerHeartbeatResponse(
        error_code=response.error,
        error_message=response.error_message,
        is_caught_up=response.is_caught_up,
        is_fenced=response.is_fenced,
        should_shut_down=response.should_shut_down,
    )


def heartbeat_response_from(message: pb.BrokerHeartbeatResponse) -> BrokerHeartbeatResponse:
    """What `message` answers."""
    return BrokerHeartbeatResponse(
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
        is_caught_up=message.is_caught_up,
        is_fenced=message.is_fenced,
        should_shut_down=message.should_shut_down,
    )


def register_controller_to(request: RegisterController) -> pb.RegisterControllerRequest:
    """The request on the wire."""
    return pb.RegisterControllerRequest(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        listeners=_listeners_to(request.listeners),
        features=_features_to(request.features),
    )


def register_controller_from(message: pb.RegisterControllerRequest) -> RegisterController:
    """What `message` asks."""
    return RegisterController(
        controller_id=message.controller_id,
        incarnation_id=uuid_from(message.incarnation_id),
        listeners=_listeners_from(message.listeners),
        features=_features_from(message.features),
    )


def register_controller_response_to(response: RegisterControllerResponse) -> pb.RegisterControllerResponse:
    """The answer on the wire."""
    return pb.RegisterControllerResponse(error_code=response.error, error_message=response.error_message)


def register_controller_response_from(message: pb.RegisterControllerResponse) -> RegisterControllerResponse:
    """What `message` answers."""
    return RegisterControllerResponse(
        error=error_from(message.error_code),
        error_message=message.error_message if message.HasField("error_message") else None,
    )
