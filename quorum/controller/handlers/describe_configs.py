"""DescribeConfigs: what a resource's configs are, who has set them, and what they fall back to (KIP-133, KIP-226).

Decides who overrides whom: the resource itself, this node's dynamic config, the cluster's, this node's file, the
default. A controller describes itself only, as in Kafka: of another node's file it knows nothing. What may be a secret
is told to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from metadata_log.image import ResourceType
from quorum.controller.config_defaults import (
    GROUP_DEFAULTS,
    METRICS_DEFAULTS,
    PASSWORD,
    STRING,
    Described,
    kind_of_topic_config,
)
from quorum.controller.context import Operation
from quorum.controller.effective_topic_configs import default_of, effective_topic_configs, synonyms_of
from quorum.controller.handlers.config_changes import check_right
from quorum.controller.handlers.new_topic import Refused
from quorum.controller.requests import (
    ConfigSource,
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
    DescribedResource,
    ResourceToDescribe,
)
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn
from quorum.errors import Error

_TABLES: Final[dict[int, tuple[dict[str, Described], ConfigSource]]] = {
    ResourceType.GROUP: (GROUP_DEFAULTS, ConfigSource.GROUP_CONFIG),
    ResourceType.CLIENT_METRICS: (METRICS_DEFAULTS, ConfigSource.CLIENT_METRICS_CONFIG),
}
_DESCRIBED: Final = frozenset({*_TABLES, ResourceType.TOPIC, ResourceType.BROKER})
_may_be_secret: Final = re.compile(
    r"password|secret|jaas|credential|keystore\.key|certificate|token", re.IGNORECASE
).search


def handle_describe_configs(request: DescribeConfigs, turn: Turn) -> ControllerResult:
    """No records; the answer is of the image as it is handed in."""
    results: list[DescribedResource] = []
    for resource in request.resources:
        error, why = Error.NONE, None
        configs: list[DescribedConfig] = []
        try:
            _check(resource, turn)
            configs += _configs(resource, turn, with_synonyms=request.include_synonyms)
        except Refused as refusal:
            error, why = refusal.error, refusal.message
        results.append(
            DescribedResource(
                resource_type=resource.resource_type,
                name=resource.name,
                configs=tuple(configs),
                error=error,
                error_message=why,
            )
        )
    return ControllerResult(response=DescribeConfigsResponse(resources=tuple(results)))


def _check(resource: ResourceToDescribe, turn: Turn) -> None:
    kind, name = resource.resource_type, resource.name
    if kind not in _DESCRIBED:
        raise Refused(Error.INVALID_REQUEST, f"Configs of resources of type {kind} are not described here.")
    check_right(kind, name, Operation.DESCRIBE_CONFIGS, turn)
    if kind == ResourceType.TOPIC and name not in turn.image.topics.by_name:
        raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceType.BROKER and name not in ("", str(turn.config.node_id)):
        why = f"This is node {turn.config.node_id}: ask node {name} itself, or for the defaults of all."
        raise Refused(Error.INVALID_REQUEST, why)
    if kind in (ResourceType.GROUP, ResourceType.CLIENT_METRICS) and not name:
        raise Refused(Error.INVALID_REQUEST, "A group, or a subscription to client metrics, has a name.")


def _configs(resource: ResourceToDescribe, turn: Turn, *, with_synonyms: bool) -> Iterable[DescribedConfig]:
    if resource.resource_type == ResourceType.TOPIC:
        found = _of_topic(resource.name, turn)
    elif resource.resource_type == ResourceType.BROKER:
        found = _of_this_node(turn) if resource.name else _of_all_nodes(turn)
    else:
        found = _of_table(resource, turn)
    for config in found:
        if not resource.names or config.name in resource.names:
            yield config if with_synonyms else msgspec.structs.replace(config, synonyms=())


def _of_topic(topic: str, turn: Turn) -> Iterator[DescribedConfig]:
    own = turn.image.configs.of_topic(topic)
    for config in effective_topic_configs(own, turn.image, turn.config):
        name = config.name
        synonyms = [_synonym(name, own[name], ConfigSource.DYNAMIC_TOPIC_CONFIG)] if name in own else []
        names = synonyms_of(name)
        # One of several, in other units, has no default of its own: it is that of the coarsest.
        default = default_of(name) if len(names) == 1 else None
        for synonym in names[:1]:
            synonyms += _of_node(synonym, turn, default)
        yield DescribedConfig(
            name=name,
            value=config.value,
            source=config.source,
            kind=kind_of_topic_config(name),
            synonyms=tuple(synonyms),
        )


def _of_table(resource: ResourceToDescribe, turn: Turn) -> Iterator[DescribedConfig]:
    table, source = _TABLES[resource.resource_type]
    own = turn.image.configs.of(resource.resource_type, resource.name)
    for name, described in sorted(table.items()):
        synonyms = [_synonym(name, own[name], source)] if name in own else []
        if described.synonym is not None:
            synonyms += _of_node(described.synonym, turn, described.default)
        else:
            synonyms.append(_synonym(name, described.default, ConfigSource.DEFAULT_CONFIG))
        yield _described(name, synonyms, described.kind)


def _of_this_node(turn: Turn) -> Iterator[DescribedConfig]:
    settings, configs = turn.config.settings, turn.image.configs
    for name in sorted({*settings, *configs.of_broker(turn.config.node_id), *configs.of_cluster()}):
        kind = settings[name].kind if name in settings else STRING
        yield _described(name, _of_node(name, turn, None), kind, read_only=name in settings)


def _of_all_nodes(turn: Turn) -> Iterator[DescribedConfig]:
    for name, value in sorted(turn.image.configs.of_cluster().items()):
        yield _described(name, [_synonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)], STRING)


def _synonym(name: str, value: str | None, source: ConfigSource) -> ConfigSynonym:
    return ConfigSynonym(name=name, value=value, source=source)


def _of_node(name: str, turn: Turn, default: str | None) -> list[ConfigSynonym]:
    """The values that this node's config of that name has; the first counts."""
    configs, setting = turn.image.configs, turn.config.settings.get(name)
    if setting is not None:
        default = setting.default
    values = (
        (configs.of_broker(turn.config.node_id).get(name), ConfigSource.DYNAMIC_BROKER_CONFIG),
        (configs.of_cluster().get(name), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (None if setting is None else setting.value, ConfigSource.STATIC_BROKER_CONFIG),
        (default, ConfigSource.DEFAULT_CONFIG),
    )
    return [_synonym(name, value, source) for value, source in values if value is not None]


def _described(name: str, synonyms: list[ConfigSynonym], kind: int, *, read_only: bool = False) -> DescribedConfig:
    is_sensitive = kind == PASSWORD or _may_be_secret(name) is not None
    if is_sensitive:
        synonyms = [_synonym(each.name, None, each.source) for each in synonyms]
    return DescribedConfig(
        name=name,
        value=synonyms[0].value if synonyms else None,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        kind=kind,
        read_only=read_only,
        is_sensitive=is_sensitive,
        synonyms=tuple(synonyms),
    )
