"""IncrementalAlterConfigs (KIP-339) and AlterConfigs (KIP-133) with their responses."""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Request


class ConfigOperation(enum.IntEnum):
    """The operation on one config, with Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterableConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One config. `operation` is a plain int, because a client may send an unknown one; `value` is `None` to delete."""

    name: str
    operation: int
    value: str | None = None


class AlterableResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A resource with configs. Types: 2 topic, 4 broker (empty name: all brokers), 16 client metrics subscription,
    32 group."""

    resource_type: int
    name: str
    configs: tuple[AlterableConfig, ...]


class IncrementalAlterConfigs(Request["IncrementalAlterConfigsResponse"], frozen=True, kw_only=True, gc=False):
    """Change configs. A rejected resource does not affect the others; a rejected config rejects its whole resource."""

    resources: tuple[AlterableResource, ...]
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> IncrementalAlterConfigsResponse:
        """Return the response that rejects each resource for the same reason."""
        resources = _rejected_each(self.resources, error, message)
        return IncrementalAlterConfigsResponse(resources=resources, error=error, error_message=message)


class AlteredResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one resource."""

    resource_type: int
    name: str
    error: Error = Error.NONE
    error_message: str | None = None


class IncrementalAlterConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request; a resource that was named twice has one result."""

    resources: tuple[AlteredResource, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class ReplacedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The complete configs of a resource, by name and value. A null value removes the config."""

    resource_type: int
    name: str
    configs: tuple[tuple[str, str | None], ...]


class AlterConfigs(Request["AlterConfigsResponse"], frozen=True, kw_only=True, gc=False):
    """Replace configs: a config that is not named is removed. A rejected resource does not affect the others."""

    resources: tuple[ReplacedResource, ...]
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> AlterConfigsResponse:
        """Return the response that rejects each resource for the same reason."""
        resources = _rejected_each(self.resources, error, message)
        return AlterConfigsResponse(resources=resources, error=error, error_message=message)


class AlterConfigsResponse(IncrementalAlterConfigsResponse, frozen=True, kw_only=True, gc=False):
    """Same shape as the response to IncrementalAlterConfigs."""


def _rejected_each(
    resources: Iterable[AlterableResource | ReplacedResource], error: Error, message: str | None
) -> tuple[AlteredResource, ...]:
    return tuple(
        AlteredResource(resource_type=each.resource_type, name=each.name, error=error, error_message=message)
        for each in resources
    )
