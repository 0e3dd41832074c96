"""DescribeConfigs: a resource's configs with their sources and fallbacks (KIP-133, KIP-226).

The first set value counts: of the resource itself, of this node's dynamic config, of the cluster's, of this node's
file, of the default. As in Kafka, a controller describes only itself, because it does not know another node's file.
With `of_other_nodes` it describes the log's configs of another node. Values that may be secret are never returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.ids import NodeId
from metadata_log.image import ResourceType
from metadata_log.secret_names import may_be_secret
from quorum.api.context import Operation
from quorum.api.described_configs import (
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
    DescribedResource,
    ResourceToDescribe,
)
from quorum.api.error_codes import Error
from quorum.api.topics import ConfigSource
from quorum.controller.configs.defaults import (
    GROUP_DEFAULTS,
    METRICS_DEFAULTS,
    PASSWORD,
    STRING,
    Described,
    kind_of_topic_config,
)
from quorum.controller.configs.effective_topics import default_of, effective_topic_configs, synonyms_of
from quorum.controller.handlers.config_changes import check_right
from quorum.controller.handlers.new_topic import RejectedError
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.result import ControllerResult
from quorum.controller.topic_names import why_illegal
from quorum.controller.turn import Turn

_TABLES: Final[dict[int, dict[str, Described]]] = {
    ResourceType.GROUP: GROUP_DEFAULTS,
    ResourceType.CLIENT_METRICS: METRICS_DEFAULTS,
}
"""The types whose values are never secret."""
_SOURCES: Final[dict[int, ConfigSource]] = {
    ResourceType.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ResourceType.GROUP: ConfigSource.GROUP_CONFIG,
    ResourceType.CLIENT_METRICS: ConfigSource.CLIENT_METRICS_CONFIG,
}
"""The source of a resource's own config, by resource type."""
_DESCRIBED: Final = frozenset({*_SOURCES, ResourceType.BROKER})
_DIGITS: Final = 10
"""The most digits of a node id."""
_MOST_TOLD_BYTES: Final = 64 << 20
"""The most bytes of text in one response. All configs of 10,000 topics, the most in a request, have 40 MiB with their
fallbacks."""


def handle_describe_configs(request: DescribeConfigs, turn: Turn) -> ControllerResult[DescribeConfigsResponse]:
    """Return the response from the given image, without records.

    As in Kafka, a repeated resource is described again, and counts again. A resource is rejected if the response would
    become too large with it.
    """
    if (too_many := refusal_of_too_many(request, len(request.resources), turn)) is not None:
        return too_many
    results: list[DescribedResource] = []
    resources, weights, left = _Resources(turn), _Weights(with_synonyms=request.include_synonyms), _MOST_TOLD_BYTES
    for resource in request.resources:
        error, why = Error.NONE, None
        configs: tuple[DescribedConfig, ...] = ()
        try:
            _check(resource, turn, of_other_nodes=request.of_other_nodes)
            configs = _wanted(resources.of(resource.resource_type, resource.name), resource.names)
            left -= (weight := weights.of(configs))
            if left < 0:
                configs, left = (), left + weight
                raise RejectedError(Error.POLICY_VIOLATION, "The answer would be too large: ask about fewer at once.")
        except RejectedError as refusal:
            error, why = refusal.error, refusal.message
        results.append(
            DescribedResource(
                resource_type=resource.resource_type,
                name=resource.name,
                configs=configs,
                error=error,
                error_message=why,
            )
        )
    response = DescribeConfigsResponse(resources=tuple(results))
    return ControllerResult(response=response if request.include_synonyms else _without_synonyms(response))


class _Weights:
    """The approximate bytes of text in a response; shared configs are measured once."""

    def __init__(self, *, with_synonyms: bool) -> None:
        self._with_synonyms = with_synonyms
        self._known: dict[int, tuple[int, tuple[DescribedConfig, ...]]] = {}
        """Size by object id; the table keeps the objects alive."""

    def of(self, configs: tuple[DescribedConfig, ...]) -> int:
        """Return the bytes of all configs of one resource."""
        known = self._known.get(id(configs))
        if known is None:
            known = self._known[id(configs)] = sum(map(self._of_one, configs)), configs
        return known[0]

    def _of_one(self, config: DescribedConfig) -> int:
        synonyms = config.synonyms if self._with_synonyms else ()
        return _size(config.name) + _size(config.value) + sum(_size(each.name) + _size(each.value) for each in synonyms)


def _size(text: str | None) -> int:
    return 0 if text is None else len(text) if text.isascii() else len(text.encode())


def _wanted(configs: tuple[DescribedConfig, ...], names: tuple[str, ...] | None) -> tuple[DescribedConfig, ...]:
    if not names:
        return configs
    asked = set(names)
    return tuple(config for config in configs if config.name in asked)


def _without_synonyms(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
    """Return the response without synonyms. Configs that resources share are shared afterwards, too."""
    bare: dict[int, tuple[DescribedConfig, ...]] = {}
    resources = []
    for resource in response.resources:
        key = id(resource.configs)
        if key not in bare:
            bare[key] = tuple(msgspec.structs.replace(config, synonyms=()) for config in resource.configs)
        resources.append(msgspec.structs.replace(resource, configs=bare[key]))
    return msgspec.structs.replace(response, resources=tuple(resources))


def _check(resource: ResourceToDescribe, turn: Turn, *, of_other_nodes: bool) -> None:
    kind, name = resource.resource_type, resource.name
    if kind not in _DESCRIBED:
        raise RejectedError(Error.INVALID_REQUEST, f"Configs of resources of type {kind} are not described here.")
    check_right(kind, name, Operation.DESCRIBE_CONFIGS, turn)
    if kind == ResourceType.TOPIC and (why := why_illegal(name)) is not None:
        raise RejectedError(Error.INVALID_TOPIC_EXCEPTION, why)
    if kind == ResourceType.TOPIC and name not in turn.image.topics.by_name:
        raise RejectedError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceType.BROKER and name not in ("", str(turn.config.node_id)):
        _check_other_node(name, turn, of_other_nodes=of_other_nodes)
    if kind in (ResourceType.GROUP, ResourceType.CLIENT_METRICS) and not name:
        raise RejectedError(Error.INVALID_REQUEST, "A group, or a subscription to client metrics, has a name.")


def _check_other_node(name: str, turn: Turn, *, of_other_nodes: bool) -> None:
    if not of_other_nodes:
        why = f"This is node {turn.config.node_id}: ask node {name} itself, or for the defaults of all."
        raise RejectedError(Error.INVALID_REQUEST, why)
    if not (name.isascii() and name.isdigit() and len(name) <= _DIGITS):
        raise RejectedError(
            Error.INVALID_REQUEST, f"A broker is named by its id, a number of at most {_DIGITS} digits."
        )
    if NodeId(int(name)) not in turn.image.cluster.brokers and not turn.image.configs.of(ResourceType.BROKER, name):
        why = f"Node {name} is no registered broker, and no configs are set for it."
        raise RejectedError(Error.BROKER_ID_NOT_REGISTERED, why)


class _Resources:
    """The configs of the resources of one request.

    Unset configs are computed once for all resources of a type, and a repeated resource is computed once.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._unset: dict[int, tuple[DescribedConfig, ...]] = {}
        self._found: dict[tuple[int, str], tuple[DescribedConfig, ...]] = {}

    def of(self, kind: int, name: str) -> tuple[DescribedConfig, ...]:
        """Return a resource's configs sorted by name. The resource has passed `_check`."""
        found = self._found.get((kind, name))
        if found is None:
            is_node = kind == ResourceType.BROKER
            found = self._found[kind, name] = self._of_node(name) if is_node else self._of(kind, name)
        return found

    def _of_node(self, name: str) -> tuple[DescribedConfig, ...]:
        if not name:
            return tuple(_of_all_nodes(self._turn))
        is_own = name == str(self._turn.config.node_id)
        return tuple(_of_this_node(self._turn) if is_own else _of_other_node(name, self._turn))

    def _of(self, kind: int, name: str) -> tuple[DescribedConfig, ...]:
        unset = self._unset.get(kind)
        if unset is None:
            of_kind = _of_any_topic(self._turn) if kind == ResourceType.TOPIC else _of_table(kind, self._turn)
            unset = self._unset[kind] = tuple(of_kind)
        own = self._turn.image.configs.of(kind, name)
        if not own:
            return unset
        source = _SOURCES[kind]
        return tuple(_set(config, own[config.name], source) if config.name in own else config for config in unset)


def _set(unset: DescribedConfig, value: str, source: ConfigSource) -> DescribedConfig:
    synonyms = (_synonym(unset.name, value, source), *unset.synonyms)
    return msgspec.structs.replace(unset, value=value, source=source, synonyms=synonyms)


def _of_any_topic(turn: Turn) -> Iterator[DescribedConfig]:
    for config in effective_topic_configs({}, turn.image, turn.config):
        yield DescribedConfig(
            name=config.name,
            value=config.value,
            source=config.source,
            kind=kind_of_topic_config(config.name),
            synonyms=_fallbacks(config.name, turn),
        )


def _fallbacks(name: str, turn: Turn) -> tuple[ConfigSynonym, ...]:
    names = synonyms_of(name)
    # Of several keys in different units, only the coarsest has a default.
    default = default_of(name) if len(names) == 1 else None
    return tuple(found for synonym in names[:1] for found in _of_node(synonym, turn, default))


def _of_table(kind: int, turn: Turn) -> Iterator[DescribedConfig]:
    for name, described in sorted(_TABLES[kind].items()):
        if described.synonym is not None:
            synonyms = _of_node(described.synonym, turn, described.default)
        else:
            synonyms = [_synonym(name, described.default, ConfigSource.DEFAULT_CONFIG)]
        yield _described(name, synonyms, described.kind)


def _of_this_node(turn: Turn) -> Iterator[DescribedConfig]:
    settings, configs = turn.config.settings, turn.image.configs
    for name in sorted({*settings, *configs.of_broker(turn.config.node_id), *configs.of_cluster()}):
        kind = settings[name].kind if name in settings else STRING
        yield _described(name, _of_node(name, turn, None), kind, read_only=name in settings)


def _of_other_node(name: str, turn: Turn) -> Iterator[DescribedConfig]:
    """Yield the log's configs of a node and of all nodes. Its own file and defaults are unknown here."""
    own, of_all = turn.image.configs.of(ResourceType.BROKER, name), turn.image.configs.of_cluster()
    for config in sorted({*own, *of_all}):
        setting = turn.config.settings.get(config)
        values = (
            (own.get(config), ConfigSource.DYNAMIC_BROKER_CONFIG),
            (of_all.get(config), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        )
        synonyms = [_synonym(config, value, source) for value, source in values if value is not None]
        yield _described(config, synonyms, STRING if setting is None else setting.kind)


def _of_all_nodes(turn: Turn) -> Iterator[DescribedConfig]:
    for name, value in sorted(turn.image.configs.of_cluster().items()):
        yield _described(name, [_synonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)], STRING)


def _synonym(name: str, value: str | None, source: ConfigSource) -> ConfigSynonym:
    return ConfigSynonym(name=name, value=value, source=source)


def _of_node(name: str, turn: Turn, default: str | None) -> list[ConfigSynonym]:
    """Return the values of this node's config by precedence; the first counts."""
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
    is_sensitive = kind == PASSWORD or may_be_secret(name)
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
