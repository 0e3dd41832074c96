"""What clients ask about configs, themselves or through a broker: DescribeConfigs, IncrementalAlterConfigs,
AlterConfigs.

Decides: nothing but the translation. Sources: KIP-133, KIP-226, KIP-569; KIP-339.
"""

from __future__ import annotations

from typing import Any

from quorum.controller import requests as r
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers


def on_incremental_alter_configs(exchange: Exchange, node: Node) -> None:
    """Single configs, of any resource that has some."""
    body = exchange.body
    request = r.IncrementalAlterConfigs(
        resources=tuple(
            r.AlterableResource(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                configs=tuple(
                    r.AlterableConfig(name=each.name, operation=each.config_operation, value=each.value)
                    for each in resource.configs
                ),
            )
            for resource in body.resources
        ),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _altered_entity)


def on_describe_configs(exchange: Exchange, node: Node) -> None:
    """All configs of a resource, as this controller knows them; nobody's words of documentation."""
    body = exchange.body
    request = r.DescribeConfigs(
        resources=tuple(
            r.ResourceToDescribe(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                names=None if resource.configuration_keys is None else tuple(resource.configuration_keys),
            )
            for resource in body.resources
        ),
        include_synonyms=body.include_synonyms,
    )
    ask_controller(exchange, node, request, _described_entity, is_local=True)


def _described_entity(answers: Answers, said: r.DescribeConfigsResponse) -> Any:
    return answers.response(
        results=tuple(
            answers.make(
                "DescribeConfigsResult",
                error_code=resource.error,
                error_message=resource.error_message,
                resource_type=resource.resource_type,
                resource_name=resource.name,
                configs=tuple(_described_config(answers, config) for config in resource.configs),
            )
            for resource in said.resources
        )
    )


def _described_config(answers: Answers, config: r.DescribedConfig) -> Any:
    return answers.make(
        "DescribeConfigsResourceResult",
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=int(config.source),
        is_sensitive=config.is_sensitive,
        synonyms=tuple(
            answers.make("DescribeConfigsSynonym", name=each.name, value=each.value, source=int(each.source))
            for each in config.synonyms
        ),
        config_type=config.kind,
        documentation=None,
    )


def on_alter_configs(exchange: Exchange, node: Node) -> None:
    """All configs of a resource."""
    body = exchange.body
    request = r.AlterConfigs(
        resources=tuple(
            r.ReplacedResource(
                resource_type=resource.resource_type,
                name=resource.resource_name,
                configs=tuple((each.name, each.value) for each in resource.configs),
            )
            for resource in body.resources
        ),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _altered_entity)


def _altered_entity(answers: Answers, said: r.IncrementalAlterConfigsResponse) -> Any:
    return answers.response(
        responses=tuple(
            answers.make(
                "AlterConfigsResourceResponse",
                error_code=resource.error,
                error_message=resource.error_message,
                resource_type=resource.resource_type,
                resource_name=resource.name,
            )
            for resource in said.resources
        )
    )
