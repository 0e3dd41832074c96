"""IncrementalAlterConfigs (KIP-339) and AlterConfigs (KIP-133) with their answers."""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class ConfigOperation(enum.IntEnum):
    """What is to be done to one config, with Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterableConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One config; `operation` is a plain number, since anybody may send any; `value` is None to delete."""

    name: str
    operation: int
    value: str | None = None


class AlterableResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the configs are of: 2 a topic, 4 a broker (without a name: all brokers), 16 a subscription to client
    metrics, 32 a group."""

    resource_type: int
    name: str
    configs: tuple[AlterableConfig, ...]


class IncrementalAlterConfigs(Request["IncrementalAlterConfigsResponse"], frozen=True, kw_only=True, gc=False):
    """Change configs. One refused resource leaves the others be; one refused config leaves its resource as it is."""

    resources: tuple[AlterableResource, ...]
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> IncrementalAlterConfigsResponse:
        """Return the response that rejects each resource for the same reason."""
        resources = _rejected_each(self.resources, error, message)
        return IncrementalAlterConfigsResponse(resources=resources, error=error, error_message=message)


class AlteredResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one resource."""

    resource_type: int
    name: str
    error: Error = Error.NONE
    error_message: str | None = None


class IncrementalAlterConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request; a resource that was named twice is answered once."""

    resources: tuple[AlteredResource, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class ReplacedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All configs that a resource is to have, by name and value; a null value stands for none."""

    resource_type: int
    name: str
    configs: tuple[tuple[str, str | None], ...]


class AlterConfigs(Request["AlterConfigsResponse"], frozen=True, kw_only=True, gc=False):
    """Replace configs: what is not named is removed. One refused resource leaves the others be."""

    resources: tuple[ReplacedResource, ...]
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> AlterConfigsResponse:
        """Return the response that rejects each resource for the same reason."""
        resources = _rejected_each(self.resources, error, message)
        return AlterConfigsResponse(resources=resources, error=error, error_message=message)


class AlterConfigsResponse(IncrementalAlterConfigsResponse, frozen=True, kw_only=True, gc=False):
    """As the answer to IncrementalAlterConfigs."""


def _rejected_each(
    resources: Iterable[AlterableResource | ReplacedResource], error: Error, message: str | None
) -> tuple[AlteredResource, ...]:
    return tuple(
        AlteredResource(resource_type=each.resource_type, name=each.name, error=error, error_message=message)
        for each in resources
    )
