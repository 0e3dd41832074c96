"""RegisterBroker: a process becomes the broker of its id, fenced until it has caught up (KIP-631, KIP-858, KIP-966).

Decides: which processes may register, and the broker epoch: the offset of its RegisterBrokerRecord, or the present
epoch of a process that registers again. A former process is removed from ISRs first: by records of the same result, or
over earlier turns if there are many partitions.
"""

from __future__ import annotations

from typing import Final

from metadata_log.errors import MalformedRecordError
from metadata_log.ids import DirectoryId, NodeId, id_text, is_reserved_directory_id
from metadata_log.image import BrokerRegistration, FeaturesImage, listener_fault
from metadata_log.image.features import KRAFT_VERSION, METADATA_VERSION
from metadata_log.records import (
    BrokerEndpoint,
    BrokerFeature,
    MetadataRecord,
    RegisterBrokerRecord,
    encode_record,
    write_version,
)
from metadata_log.records.levels import DIRECTORIES_LEVEL, level_text
from metadata_log.voters import LARGEST_PORT
from quorum.api.brokers import RegisterBroker, RegisterBrokerResponse
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.controller.leader_changes import clean_up_after, forget_departure
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_NO_STORED_EPOCH = -2
_MOST_BYTES: Final = 1 << 20
"""The most bytes of a registration's record; a large broker's has some kilobytes."""
MOST_DIRECTORIES: Final = 1_000
"""The most directories of a broker; the largest have some dozens. Every registration checks each of them."""


def handle_register_broker(request: RegisterBroker, turn: Turn) -> ControllerResult[RegisterBrokerResponse]:
    """Return the registration after the partition changes for a new incarnation; not atomic."""
    refusal = _validate(request, turn)
    if refusal is not None:
        return ControllerResult(response=refusal)
    broker_id = NodeId(request.broker_id)
    existing = turn.image.cluster.brokers.get(broker_id)
    records: list[MetadataRecord] = []
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        record = _record(request, turn, existing.epoch, existing)
    else:
        stored_epoch = _NO_STORED_EPOCH if existing is None else existing.epoch
        changes, is_complete = clean_up_after(turn, broker_id, was_clean=stored_epoch == request.previous_broker_epoch)
        records += changes
        if not is_complete:
            return ControllerResult(records=tuple(records), response=_not_yet(request), is_atomic=False)
        record = _record(request, turn, turn.next_offset + len(records), None)
        forget_departure(turn, broker_id)
    turn.state.sessions.register(broker_id, record.broker_epoch, turn.next_offset + len(records))
    records.append(record)
    return ControllerResult(
        records=tuple(records), response=RegisterBrokerResponse(broker_epoch=record.broker_epoch), is_atomic=False
    )


def _not_yet(request: RegisterBroker) -> RegisterBrokerResponse:
    """Return a retryable error: the broker retries in a second, and the clean-up continues meanwhile."""
    why = f"The former process of broker {request.broker_id} is still being taken out of ISRs. Ask again."
    return _refusal(Error.DUPLICATE_BROKER_REGISTRATION, why)


def _record(
    request: RegisterBroker, turn: Turn, broker_epoch: int, existing: BrokerRegistration | None
) -> RegisterBrokerRecord:
    has_directories = level_of(turn.image) >= DIRECTORIES_LEVEL
    return RegisterBrokerRecord(
        broker_id=NodeId(request.broker_id),
        incarnation_id=request.incarnation_id,
        broker_epoch=broker_epoch,
        end_points=tuple(
            BrokerEndpoint(
                name=listener.name,
                host=listener.host,
                port=listener.port,
                security_protocol=listener.security_protocol,
            )
            for listener in request.listeners
        ),
        features=tuple(
            BrokerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ),
        rack=request.rack,
        fenced=True if existing is None else existing.fenced,
        in_controlled_shutdown=False if existing is None else existing.in_controlled_shutdown,
        log_dirs=request.log_dirs if has_directories else (),
    )


def _validate(request: RegisterBroker, turn: Turn) -> RegisterBrokerResponse | None:
    error = authorize(turn.context, Operation.CLUSTER_ACTION, CLUSTER, turn.image)
    if error is not Error.NONE:
        return _refusal(error, "Authorization failed.")
    if request.broker_id < 0:
        why = f"No broker has the id {request.broker_id}: ids below 0 mean no broker, or no change."
        return _refusal(Error.INVALID_REQUEST, why)
    if request.cluster_id != turn.config.cluster_id:
        return _refusal(
            Error.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {turn.config.cluster_id}, but got cluster ID {request.cluster_id}",
        )
    existing = turn.image.cluster.brokers.get(NodeId(request.broker_id))
    if (
        existing is not None
        and existing.incarnation_id != request.incarnation_id
        and turn.state.sessions.is_live(existing, turn.now_ms)
    ):
        return _refusal(
            Error.DUPLICATE_BROKER_REGISTRATION,
            _taken_id(existing, turn.config.session_timeout_ms),
        )
    return (
        _validate_log_dirs(request, turn)
        or _validate_listeners(request)
        or _validate_features(request, turn)
        or _validate_size(request, turn)
    )


def _taken_id(other: BrokerRegistration, timeout_ms: int) -> str:
    where = next((f" at {at.name}://{at.host}:{at.port}" for at in other.listeners), "")
    return (
        f"Two processes have node.id {other.broker_id}, unless this broker was just restarted: stop the wrong one, or "
        f"give it another node.id. The other is incarnation {id_text(other.incarnation_id)}{where}, and counts "
        f"until {timeout_ms} ms after its last heartbeat."
    )


def _validate_size(request: RegisterBroker, turn: Turn) -> RegisterBrokerResponse | None:
    """Return an error if no record can hold the registration, before any change for it."""
    try:
        value = encode_record(
            _record(request, turn, 0, None), write_version(RegisterBrokerRecord, level_of(turn.image))
        )
    except MalformedRecordError as error:
        return _refusal(Error.INVALID_REGISTRATION, str(error))
    if len(value) > _MOST_BYTES:
        return _refusal(
            Error.INVALID_REGISTRATION, f"It has {len(value)} bytes, more than the {_MOST_BYTES} that are kept"
        )
    return None


def _validate_log_dirs(request: RegisterBroker, turn: Turn) -> RegisterBrokerResponse | None:
    if level_of(turn.image) < DIRECTORIES_LEVEL:
        return None
    if not request.log_dirs:
        return _refusal(Error.INVALID_REGISTRATION, "No directories specified in request")
    if any(is_reserved_directory_id(directory) for directory in request.log_dirs):
        return _refusal(Error.INVALID_REGISTRATION, "Reserved directory ID in request")
    named = set(request.log_dirs)
    if len(named) != len(request.log_dirs):
        return _refusal(Error.INVALID_REGISTRATION, "Duplicate directory ID in request")
    if len(named) > MOST_DIRECTORIES:
        return _refusal(Error.INVALID_REGISTRATION, f"More than {MOST_DIRECTORIES} directories in request")
    taken = _taken_directory(request, named, turn)
    return None if taken is None else _refusal(Error.INVALID_REGISTRATION, taken)


def _taken_directory(request: RegisterBroker, named: set[DirectoryId], turn: Turn) -> str | None:
    for other in turn.image.cluster.brokers.values():
        if other.broker_id != request.broker_id and not named.isdisjoint(other.directories):
            directory = next(each for each in request.log_dirs if each in other.directories)
            return f"Broker {other.broker_id} is already registered with directory {id_text(directory)}"
    return None


def _validate_listeners(request: RegisterBroker) -> RegisterBrokerResponse | None:
    names = [listener.name for listener in request.listeners]
    if len(set(names)) != len(names):
        return _refusal(Error.INVALID_REGISTRATION, "Duplicate listener name in request")
    if any(not 0 <= listener.port <= LARGEST_PORT for listener in request.listeners):
        return _refusal(Error.INVALID_REGISTRATION, f"A listener's port is not between 0 and {LARGEST_PORT}")
    fault = next(filter(None, map(listener_fault, request.listeners)), None)
    return None if fault is None else _refusal(Error.INVALID_REGISTRATION, fault)


def _validate_features(request: RegisterBroker, turn: Turn) -> RegisterBrokerResponse | None:
    """Return an error unless the broker supports every finalized level, or None.

    A broker supports only level 0 of a feature that it does not name. Levels begin at 0. Kafka's controllers also
    accept a lower one, but no broker sends it.
    """
    below = next((each for each in request.features if each.min_supported_version < 0), None)
    if below is not None:
        why = f"The levels of {below.name} begin at {below.min_supported_version}, below 0"
        return _refusal(Error.INVALID_REGISTRATION, why)
    finalised = _finalised(turn.image.features, turn.config.kraft_version)
    supported = {feature.name: feature for feature in request.features}
    for name, feature in supported.items():
        level = finalised.get(name, 0)
        if not feature.min_supported_version <= level <= feature.max_supported_version:
            return _refusal(
                Error.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level_text(name, level)} of"
                f" {name}. It supports {level_text(name, feature.min_supported_version)} to"
                f" {level_text(name, feature.max_supported_version)}.",
            )
    if METADATA_VERSION not in supported:
        return _refusal(Error.INVALID_REGISTRATION, f"Request features do not contain '{METADATA_VERSION}'")
    for name, level in sorted(finalised.items()):
        if level != 0 and name not in supported:
            return _refusal(
                Error.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level_text(name, level)} of"
                f" {name}: it does not name that feature.",
            )
    return None


def _finalised(features: FeaturesImage, kraft_version: int) -> dict[str, int]:
    return {
        **dict(features.levels.items()),
        METADATA_VERSION: features.metadata_version or 0,
        KRAFT_VERSION: kraft_version,
    }


def _refusal(error: Error, message: str) -> RegisterBrokerResponse:
    return RegisterBrokerResponse(error=error, error_message=message)
