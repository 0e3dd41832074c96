"""IncrementalAlterConfigs: each resource changes as a whole or not at all (KIP-339).

The last value of a repeated config counts, and null removes one. Brokers reject both before they forward a request, but
Kafka's controllers accept both from their direct clients. Decides: the value that results from each operation;
`config_changes` validates it.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from metadata_log.image import ResourceType
from metadata_log.records import MetadataRecord
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    ConfigOperation,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
)
from quorum.api.error_codes import Error
from quorum.controller.configs.resources import BROKER_LISTS
from quorum.controller.configs.topics import LISTS
from quorum.controller.handlers.config_changes import change_each, check_allowed, checked_records
from quorum.controller.handlers.new_topic import RejectedError
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_OPERATIONS: Final = frozenset(ConfigOperation)
_LISTS: Final = {ResourceType.TOPIC: LISTS, ResourceType.BROKER: BROKER_LISTS}


def handle_incremental_alter_configs(
    request: IncrementalAlterConfigs, turn: Turn
) -> ControllerResult[IncrementalAlterConfigsResponse]:
    """Return ConfigRecords for the valid resources, and a result for each resource."""
    return change_each(
        request,
        request.resources,
        lambda resource: _changes(resource, turn),
        IncrementalAlterConfigsResponse,
        turn,
        validate_only=request.validate_only,
    )


def _changes(resource: AlterableResource, turn: Turn) -> list[MetadataRecord]:
    check_allowed(resource, turn)
    current = turn.image.configs.of(resource.resource_type, resource.name)
    lists = _LISTS.get(ResourceType(resource.resource_type), {})
    last = {config.name: config for config in resource.configs}
    wanted = {name: _new_value(config, current.get(name), lists) for name, config in last.items()}
    return [*checked_records(resource, wanted, turn)]


def _new_value(config: AlterableConfig, current: str | None, lists: dict[str, str]) -> str | None:
    if config.operation not in _OPERATIONS:
        raise RejectedError(Error.INVALID_REQUEST, f"Unknown operation {config.operation} for config {config.name}")
    if config.operation == ConfigOperation.SET:
        return config.value
    if config.operation == ConfigOperation.DELETE:
        return None
    if config.name not in lists:
        word = ConfigOperation(config.operation).name
        why = f"Can't {word} to key {config.name} because its type is not LIST."
        raise RejectedError(Error.INVALID_CONFIG, why)
    if config.value is None:
        raise RejectedError(Error.INVALID_REQUEST, f"Null value not supported for : {config.name}")
    held = [part.strip() for part in (lists[config.name] if current is None else current).split(",") if part.strip()]
    parts = config.value.split(",")
    return ",".join(_with(held, parts) if config.operation == ConfigOperation.APPEND else _without(held, parts))


def _with(held: list[str], parts: list[str]) -> list[str]:
    """Return the list with each missing entry of `parts` appended."""
    there = set(held)
    return [*held, *(part for part in dict.fromkeys(parts) if part not in there)]


def _without(held: list[str], parts: list[str]) -> list[str]:
    """Return the list without the first occurrence of each entry of `parts`."""
    taken = Counter(parts)
    left = []
    for part in held:
        if taken[part] > 0:
            taken[part] -= 1
        else:
            left.append(part)
    return left
