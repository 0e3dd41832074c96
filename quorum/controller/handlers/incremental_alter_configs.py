"""IncrementalAlterConfigs of topics and brokers: each resource changes as a whole or not at all (KIP-339).

A topic's configs are validated by name and value. A broker's are not: the broker that passes them on has done that, and
knows configs that no controller does. Where partitions keep eligible leader replicas, `min.insync.replicas` belongs to
the cluster and to topics, and a change of it empties the ELRs that were made under the old one (KIP-966).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from metadata_log.ids import METADATA_TOPIC_NAME, NodeId
from metadata_log.image import ResourceType
from metadata_log.records import ClearElrRecord, ConfigRecord, MetadataRecord
from quorum.controller.context import CLUSTER, Operation, Resource, authorize
from quorum.controller.context import ResourceType as AclResourceType
from quorum.controller.effective_configs import MIN_INSYNC_REPLICAS
from quorum.controller.handlers.new_topic import Refused
from quorum.controller.requests import (
    AlterableConfig,
    AlterableResource,
    AlteredResource,
    ConfigOperation,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from quorum.controller.result import ControllerResult
from quorum.controller.topic_configs import LISTS, why_invalid_values
from quorum.controller.turn import Turn
from quorum.errors import Error

_LONGEST_VALUE: Final = 32_767
_OPERATIONS: Final = frozenset(ConfigOperation)


def handle_incremental_alter_configs(request: IncrementalAlterConfigs, turn: Turn) -> ControllerResult:
    """ConfigRecords for the resources that can change, and what became of each."""
    times_named = Counter((each.resource_type, each.name) for each in request.resources)
    records: list[MetadataRecord] = []
    results: list[AlteredResource] = []
    for resource in {(each.resource_type, each.name): each for each in request.resources}.values():
        error, why = Error.NONE, None
        try:
            if times_named[resource.resource_type, resource.name] > 1:
                raise Refused(Error.INVALID_REQUEST, "Each resource must appear at most once.")
            records += _changes(resource, turn)
        except Refused as refusal:
            error, why = refusal.error, refusal.message
        results.append(
            AlteredResource(resource_type=resource.resource_type, name=resource.name, error=error, error_message=why)
        )
    records += _cleared_elrs(records, turn)
    if len(records) > turn.config.max_records_per_batch:
        why = "Unable to perform excessively large batch operation."
        return ControllerResult(response=request.refused(Error.POLICY_VIOLATION, why))
    return ControllerResult(
        records=() if request.validate_only else tuple(records),
        response=IncrementalAlterConfigsResponse(resources=tuple(results)),
    )


def _changes(resource: AlterableResource, turn: Turn) -> list[MetadataRecord]:
    _check_form(resource)
    _check_resource(resource, turn)
    is_broker = resource.resource_type == ResourceType.BROKER
    current = turn.image.configs.of(resource.resource_type, resource.name)
    values = dict(current.items())
    records: list[MetadataRecord] = []
    for config in resource.configs:
        new = _new_value(config, current.get(config.name))
        if new is not None and len(new) > _LONGEST_VALUE:
            raise Refused(
                Error.INVALID_CONFIG, f"The value of {config.name} has more than {_LONGEST_VALUE} characters."
            )
        if new == current.get(config.name) and not is_broker:
            continue
        # A broker's is written also where nothing changes: it is how a broker is told to load a file again.
        if new is None:
            values.pop(config.name, None)
        else:
            values[config.name] = new
        records.append(
            ConfigRecord(resource_type=resource.resource_type, resource_name=resource.name, name=config.name, value=new)
        )
    why = _why_minimum_is_fixed(resource, records, turn) if is_broker else why_invalid_values(values)
    if why is not None:
        raise Refused(Error.INVALID_CONFIG, why)
    return records


def _check_form(resource: AlterableResource) -> None:
    names = [config.name for config in resource.configs]
    if len(set(names)) != len(names):
        raise Refused(Error.INVALID_REQUEST, "Error due to duplicate config keys")
    for config in resource.configs:
        if config.operation not in _OPERATIONS:
            raise Refused(Error.INVALID_REQUEST, f"Unknown operation {config.operation} for config {config.name}")
        if config.value is None and config.operation != ConfigOperation.DELETE:
            raise Refused(Error.INVALID_REQUEST, f"Null value not supported for : {config.name}")


def _check_resource(resource: AlterableResource, turn: Turn) -> None:
    """Whether there is such a thing, and it may be changed."""
    image, context = turn.image, turn.context
    if resource.resource_type == ResourceType.TOPIC:
        topic = Resource(resource_type=AclResourceType.TOPIC, name=resource.name)
        if authorize(context, Operation.ALTER_CONFIGS, topic, image) is not Error.NONE:
            raise Refused(Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        if resource.name == METADATA_TOPIC_NAME:
            raise Refused(Error.INVALID_REQUEST, f"Alteration of internal topic {METADATA_TOPIC_NAME} is prohibited.")
        if resource.name not in image.topics.by_name:
            raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
    elif resource.resource_type == ResourceType.BROKER:
        error = authorize(context, Operation.ALTER_CONFIGS, CLUSTER, image)
        if error is not Error.NONE:
            raise Refused(error, "Authorization failed.")
        if resource.name and not _is_known_broker(resource.name, turn):
            raise Refused(Error.BROKER_ID_NOT_REGISTERED, f"No broker with id {resource.name} found.")
    else:
        why = f"Configs of resources of type {resource.resource_type} cannot be altered here."
        raise Refused(Error.INVALID_REQUEST, why)


def _is_known_broker(name: str, turn: Turn) -> bool:
    if not (name.isascii() and name.isdecimal() and str(int(name)) == name):
        raise Refused(Error.INVALID_REQUEST, f"Unable to parse broker name as a base 10 number: {name}")
    cluster = turn.image.cluster
    return NodeId(int(name)) in cluster.brokers or NodeId(int(name)) in cluster.controllers


def _new_value(config: AlterableConfig, current: str | None) -> str | None:
    if config.operation == ConfigOperation.SET:
        return config.value
    if config.operation == ConfigOperation.DELETE:
        return None
    if config.name not in LISTS:
        word = ConfigOperation(config.operation).name
        why = f"Can't {word} to key {config.name} because its type is not LIST."
        raise Refused(Error.INVALID_CONFIG, why)
    held = [part.strip() for part in (LISTS[config.name] if current is None else current).split(",") if part.strip()]
    for part in (config.value or "").split(","):
        if config.operation == ConfigOperation.APPEND and part not in held:
            held.append(part)
        elif config.operation == ConfigOperation.SUBTRACT and part in held:
            held.remove(part)
    return ",".join(held)


def _why_minimum_is_fixed(resource: AlterableResource, records: list[MetadataRecord], turn: Turn) -> str | None:
    if not turn.image.features.elr_enabled:
        return None
    for record in records:
        if isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS:
            if resource.name:
                return f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled."
            if record.value is None:
                return f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled."
    return None


def _cleared_elrs(records: list[MetadataRecord], turn: Turn) -> list[MetadataRecord]:
    if not turn.image.features.elr_enabled:
        return []
    return [
        ClearElrRecord(topic_name=record.resource_name if record.resource_type == ResourceType.TOPIC else "")
        for record in records
        if isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS
    ]
