"""Configs of resources (KIP-133, KIP-226, KIP-339), in the terms of Kafka's Admin.

Decides: which controller describes which resource. Only a controller itself knows its properties file; the leader
knows the dynamic configs of brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from metadata_log.image import ConfigResource, ResourceType
from metadata_log.offsets import Offset
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlteredResource,
    IncrementalAlterConfigs,
)
from quorum.api.described_configs import (
    DescribeConfigs,
    DescribedConfig,
    DescribedResource,
    ResourceToDescribe,
)
from quorum.client.admin_results import Outcome, Results, outcome_of, outcomes_of
from quorum.client.arguments import several
from quorum.client.client import Client
from quorum.client.quorum_status import address_of_node

_DIGITS: Final = 10
"""The most digits of a node id, an int32."""
_AT_ONCE: Final = 1_000
"""Resources in one request. A controller rejects more than 10,000, and serves other clients between two requests."""


@dataclass(frozen=True)
class Config:
    """The configs of one resource, in the order of their names."""

    entries: tuple[DescribedConfig, ...]

    def get(self, name: str) -> DescribedConfig | None:
        """Return the config of that name, or None if the resource has no such config."""
        return next((entry for entry in self.entries if entry.name == name), None)


class DescribeConfigsResult(Results[ConfigResource, Config]):
    """The configs of each resource."""


class AlterConfigsResult(Results[ConfigResource, AlteredResource]):
    """The outcome for each resource."""


async def describe_configs(
    client: Client,
    resources: Iterable[ConfigResource],
    *,
    include_synonyms: bool,
    at_least_offset: Offset | None,
    timeout_s: float | None,
) -> DescribeConfigsResult:
    """See `Admin.describe_configs`."""
    asked = tuple(dict.fromkeys(several(resources, "resources")))
    by_address: dict[str | None, list[ConfigResource]] = {}
    for resource, address in (await _addresses(client, asked, timeout_s)).items():
        by_address.setdefault(address, []).append(resource)
    told: dict[ConfigResource, DescribedResource] = {}
    for address, those in by_address.items():
        for start in range(0, len(those), _AT_ONCE):
            some = those[start : start + _AT_ONCE]
            request = DescribeConfigs(
                resources=tuple(ResourceToDescribe(resource_type=each.resource_type, name=each.name) for each in some),
                include_synonyms=include_synonyms,
                of_other_nodes=True,
            )
            response = await client.ask(request, address=address, at_least_offset=at_least_offset, timeout_s=timeout_s)
            told |= zip(some, response.resources, strict=True)
    return DescribeConfigsResult({resource: _described(resource, told[resource]) for resource in asked})


async def _addresses(
    client: Client, resources: Iterable[ConfigResource], timeout_s: float | None
) -> dict[ConfigResource, str | None]:
    """Return the address of the controller that a resource names.

    None sends the request to the active controller. That is also the case for a node that is not a controller.
    """
    named = {each: int(each.name) for each in resources if _is_node(each)}
    status = await client.describe_quorum(timeout_s=timeout_s) if named else None
    return {
        each: None if status is None or each not in named else address_of_node(status, named[each])
        for each in resources
    }


def _is_node(resource: ConfigResource) -> bool:
    name = resource.name
    return resource.resource_type == ResourceType.BROKER and name.isascii() and name.isdigit() and len(name) <= _DIGITS


def _described(resource: ConfigResource, told: DescribedResource) -> Outcome[Config]:
    return outcome_of(Config(told.configs), told.error, told.error_message, _text(resource))


async def incremental_alter_configs(
    client: Client,
    configs: Mapping[ConfigResource, Iterable[AlterableConfig]],
    *,
    validate_only: bool,
    timeout_s: float | None,
) -> AlterConfigsResult:
    """See `Admin.incremental_alter_configs`."""
    request = IncrementalAlterConfigs(
        resources=tuple(
            AlterableResource(resource_type=each.resource_type, name=each.name, configs=tuple(changes))
            for each, changes in configs.items()
        ),
        validate_only=validate_only,
    )
    response = await client.ask(request, timeout_s=timeout_s)
    return AlterConfigsResult(outcomes_of(zip(configs, response.resources, strict=True), _text))


def _text(resource: ConfigResource) -> str:
    known = {int(kind): kind.name.lower().replace("_", " ") for kind in ResourceType}
    return f"{known.get(resource.resource_type, f'resource of type {resource.resource_type}')} {resource.name!r}"
