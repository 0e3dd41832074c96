"""Changes of a resource's configs, for all requests: checks of resource and values, and the ELRs to clear.

Decides: which changes are valid. IncrementalAlterConfigs and AlterConfigs determine the wanted values. Topics, groups
and client metrics subscriptions are validated by name and value. A broker's configs are not: the broker that forwards
them has done that, and knows configs that controllers do not.

If partitions keep eligible leader replicas, `min.insync.replicas` can be set on the cluster and on topics. Its change
clears the ELRs that were made with the old value (KIP-966).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol, TypeVar

from metadata_log.ids import METADATA_TOPIC_NAME, NodeId
from metadata_log.image import ResourceType
from metadata_log.java_text import java_int
from metadata_log.records import ClearElrRecord, ConfigRecord, MetadataRecord
from metadata_log.records.levels import CORDONED_DIRECTORIES_LEVEL
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlteredResource,
    IncrementalAlterConfigsResponse,
    ReplacedResource,
)
from quorum.api.context import CLUSTER, Operation, Resource, authorize
from quorum.api.context import ResourceType as AclResourceType
from quorum.api.error_codes import Error
from quorum.api.request import Request
from quorum.controller.configs.effective import MIN_INSYNC_REPLICAS
from quorum.controller.configs.resources import why_invalid_client_metrics, why_invalid_group
from quorum.controller.configs.topics import why_invalid_values, why_too_long
from quorum.controller.configs.value_types import parts_of
from quorum.controller.handlers.new_topic import RejectedError
from quorum.controller.handlers.too_large import TOO_LARGE, refusal_of_too_many
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.topic_names import why_illegal
from quorum.controller.turn import Turn

_PATTERNED: Final = ResourceType.CLIENT_METRICS
_MOST_JUDGED_CHARS: Final = 1 << 18
"""The most characters of patterns in one request: checking so many takes a quarter of a second."""
_CORDONED: Final = "cordoned.log.dirs"
_TYPES: Final = frozenset(ResourceType)
_ACL_TYPES: Final = {ResourceType.TOPIC: AclResourceType.TOPIC, ResourceType.GROUP: AclResourceType.GROUP}


C = TypeVar("C", AlterableResource, ReplacedResource)
R = TypeVar("R", bound=IncrementalAlterConfigsResponse)


class NamedResource(Protocol):
    """A resource in a request."""

    @property
    def resource_type(self) -> int: ...

    @property
    def name(self) -> str: ...


def change_each(
    request: Request[R],
    resources: tuple[C, ...],
    changes: Callable[[C], Iterable[MetadataRecord]],
    respond: type[R],
    turn: Turn,
    *,
    validate_only: bool,
) -> ControllerResult[R]:
    """Return the records of all resources that `changes` accepts, and a result for each resource.

    A repeated resource is rejected once, an unknown type each time.
    """
    if (too_many := refusal_of_too_many(request, len(resources), turn)) is not None:
        return too_many
    if sum(map(_judged_chars, resources)) > _MOST_JUDGED_CHARS:
        return ControllerResult(response=request.rejected(Error.POLICY_VIOLATION, TOO_LARGE))
    times_named = Counter((each.resource_type, each.name) for each in resources)
    records: list[MetadataRecord] = []
    results: list[AlteredResource] = []
    for resource in resources:
        if resource.resource_type not in _TYPES:
            results.append(_unknown_type(resource))
    told = (each for each in resources if each.resource_type in _TYPES)
    for resource in {(each.resource_type, each.name): each for each in told}.values():
        error, why = Error.NONE, None
        try:
            if times_named[resource.resource_type, resource.name] > 1:
                raise RejectedError(Error.INVALID_REQUEST, "Each resource must appear at most once.")
            records += changes(resource)
        except RejectedError as refusal:
            error, why = refusal.error, refusal.message
        results.append(
            AlteredResource(resource_type=resource.resource_type, name=resource.name, error=error, error_message=why)
        )
    records += _cleared_elrs(records, turn)
    if (too_many := refusal_of_too_many(request, len(records), turn)) is not None:
        return too_many
    return ControllerResult(records=() if validate_only else tuple(records), response=respond(resources=tuple(results)))


def _judged_chars(resource: AlterableResource | ReplacedResource) -> int:
    if resource.resource_type != _PATTERNED:
        return 0
    values = (each.value if isinstance(each, AlterableConfig) else each[1] for each in resource.configs)
    return sum(len(value or "") for value in values)


def _unknown_type(resource: NamedResource) -> AlteredResource:
    return AlteredResource(
        resource_type=resource.resource_type,
        name=resource.name,
        error=Error.UNSUPPORTED_VERSION,
        error_message=f"Unknown resource type {resource.resource_type}.",
    )


def check_allowed(resource: NamedResource, turn: Turn) -> None:
    """Check that controllers change configs of this type, and that the client may.

    Raises:
        RejectedError: they do not, or the client may not.
    """
    kind, name = resource.resource_type, resource.name
    if kind == ResourceType.BROKER_LOGGER:
        raise RejectedError(Error.INVALID_REQUEST, f"Configs of resources of type {kind} cannot be altered here.")
    check_right(kind, name, Operation.ALTER_CONFIGS, turn)


def check_right(kind: int, name: str, operation: Operation, turn: Turn) -> None:
    """Check the client's right to configs: on the topic or group itself, for other resources on the cluster.

    Raises:
        RejectedError: the client lacks the right.
    """
    asked = _ACL_TYPES.get(ResourceType(kind))
    named = CLUSTER if asked is None else Resource(resource_type=asked, name=name)
    error = authorize(turn.context, operation, named, turn.image)
    if error is not Error.NONE:
        raise RejectedError(error, "Authorization failed.")


def _check_name(kind: int, name: str) -> None:
    """Check that the resource's name is valid."""
    if kind == ResourceType.TOPIC:
        if not name:
            raise RejectedError(Error.INVALID_REQUEST, "Default topic resources are not allowed.")
        why = why_illegal(name)
        if why is not None:
            raise RejectedError(Error.INVALID_TOPIC_EXCEPTION, why)
        if name == METADATA_TOPIC_NAME:
            raise RejectedError(
                Error.INVALID_REQUEST, f"Alteration of internal topic {METADATA_TOPIC_NAME} is prohibited."
            )
    elif kind == ResourceType.BROKER:
        node_id = _node_id(name) if name else 0
        if node_id is None:
            raise RejectedError(Error.INVALID_REQUEST, f"Unable to parse broker name as a base 10 number: {name}")
        if node_id < 0:
            raise RejectedError(Error.INVALID_REQUEST, f"Invalid negative broker ID: {name}")
    elif not name:
        raise RejectedError(Error.INVALID_REQUEST, "A group, or a subscription to client metrics, must have a name.")


def _node_id(name: str) -> NodeId | None:
    """Return the id in a broker's name. As in Kafka, `+21` and `021` are 21, but separate resources."""
    number = java_int(name, 32)
    return None if number is None else NodeId(number)


def _check_exists(kind: int, name: str, turn: Turn) -> None:
    image = turn.image
    if kind == ResourceType.TOPIC and name not in image.topics.by_name:
        raise RejectedError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceType.BROKER and name:
        node_id = _node_id(name)
        if node_id not in image.cluster.brokers and node_id not in image.cluster.controllers:
            raise RejectedError(Error.BROKER_ID_NOT_REGISTERED, f"No broker with id {name} found.")


def checked_records(
    resource: NamedResource, wanted: Mapping[str, str | None], turn: Turn, *, is_all: bool = False
) -> list[ConfigRecord]:
    """Return records that set the `wanted` values (None: removed), in that order; `is_all` removes all other configs.

    The order of the checks is Kafka's: the name, the values, the existence of the resource.

    Raises:
        RejectedError: the name, a value or the resulting configs are invalid, or the resource does not exist.
    """
    kind, name = resource.resource_type, resource.name
    _check_name(kind, name)
    current = turn.image.configs.of(kind, name)
    removed = sorted(key for key in current if key not in wanted) if is_all else []
    # A broker's config is written even without a change: so a broker reloads a file.
    records = [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
        for key, value in (*wanted.items(), *((key, None) for key in removed))
        if kind == ResourceType.BROKER or value != current.get(key)
    ]
    values = dict(current.items())
    for record in records:
        _check_change(record, values.get(record.name), turn)
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
    why = _why_invalid(kind, values, dict(current.items()), turn)
    if why is not None:
        raise RejectedError(*why)
    _check_exists(kind, name, turn)
    return records


def _check_change(record: ConfigRecord, before: str | None, turn: Turn) -> None:
    why = why_too_long(record.name, record.value or "")
    if why is not None:
        raise RejectedError(Error.INVALID_CONFIG, why)
    if record.resource_type != ResourceType.BROKER:
        return
    if record.name == MIN_INSYNC_REPLICAS and turn.image.features.elr_enabled:
        if record.resource_name:
            why = f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled."
            raise RejectedError(Error.INVALID_CONFIG, why)
        if record.value is None:
            why = f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled."
            raise RejectedError(Error.INVALID_CONFIG, why)
    if record.name == _CORDONED:
        _check_cordoned(parts_of(record.value or ""), parts_of(before or ""), turn)


def _check_cordoned(wanted: list[str], before: list[str], turn: Turn) -> None:
    """Reject new entries of `cordoned.log.dirs` unless a broker forwarded them: only the broker knows its paths."""
    if level_of(turn.image) < CORDONED_DIRECTORIES_LEVEL:
        raise RejectedError(Error.INVALID_CONFIG, f"{_CORDONED} cannot be set below metadata.version 4.3-IV0.")
    if turn.context.forwarded_by is None and not set(wanted) <= set(before):
        why = f"{_CORDONED} can be extended through a broker only: a controller does not know its directories."
        raise RejectedError(Error.INVALID_CONFIG, why)


def _why_invalid(
    kind: int, values: Mapping[str, str], before: Mapping[str, str], turn: Turn
) -> tuple[Error, str] | None:
    if kind == ResourceType.TOPIC:
        why = why_invalid_values(values, may_be_remote=turn.config.remote_log_storage_system_enable, before=before)
        return None if why is None else (Error.INVALID_CONFIG, why)
    if kind == ResourceType.GROUP:
        return why_invalid_group(values)
    if kind == ResourceType.CLIENT_METRICS:
        return why_invalid_client_metrics(values, before)
    return None


def _cleared_elrs(records: Iterable[MetadataRecord], turn: Turn) -> list[MetadataRecord]:
    """Return a ClearElrRecord for each change of `min.insync.replicas` among the records."""
    if not turn.image.features.elr_enabled:
        return []
    return [
        ClearElrRecord(topic_name=record.resource_name if record.resource_type == ResourceType.TOPIC else "")
        for record in records
        if isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS
    ]
