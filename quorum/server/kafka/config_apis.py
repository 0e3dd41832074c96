"""The APIs of configs: DescribeConfigs, IncrementalAlterConfigs, AlterConfigs.

Sources: KIP-133, KIP-226, KIP-569; KIP-339.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from metadata_log.offsets import Offset
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigs,
    IncrementalAlterConfigs,
    IncrementalAlterConfigsResponse,
    ReplacedResource,
)
from quorum.api.described_configs import DescribeConfigs, ResourceToDescribe
from quorum.server.kafka.exchange import Exchange, ask_controller, ask_for_frame
from quorum.server.node import Node
from quorum.transport.kafka.describe_configs_frame import describe_configs_frame
from quorum.transport.kafka.wire import Answers


def on_incremental_alter_configs(exchange: Exchange, node: Node) -> None:
    """Serve IncrementalAlterConfigs, which changes single configs."""
    body = exchange.body
    request = IncrementalAlterConfigs(
        resources=tuple(
            AlterableResource(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                configs=tuple(
                    AlterableConfig(name=each.name, operation=each.config_operation, value=each.value)
                    for each in resource.configs
                ),
            )
            for resource in body.resources
        ),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _altered_entity)


def on_describe_configs(exchange: Exchange, node: Node) -> None:
    """Serve DescribeConfigs from this controller's own image, without documentation strings."""
    body = exchange.body
    request = DescribeConfigs(
        resources=tuple(
            ResourceToDescribe(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                names=None if resource.configuration_keys is None else tuple(resource.configuration_keys),
            )
            for resource in body.resources
        ),
        include_synonyms=body.include_synonyms,
    )
    correlation_id, version = exchange.header.correlation_id, exchange.header.version
    ask_for_frame(
        exchange, node, request, lambda said: describe_configs_frame(correlation_id, version, said), Offset(0)
    )


def on_alter_configs(exchange: Exchange, node: Node) -> None:
    """Serve AlterConfigs, which replaces all configs of a resource."""
    body = exchange.body
    request = AlterConfigs(
        resources=tuple(
            ReplacedResource(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                configs=tuple((each.name, each.value) for each in resource.configs),
            )
            for resource in body.resources
        ),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _altered_entity)


def _altered_entity(answers: Answers, said: IncrementalAlterConfigsResponse) -> Any:
    responses = answers.rows("AlterConfigsResourceResponse", said.resources, resource_name=attrgetter("name"))
    return answers.response(responses=responses)
