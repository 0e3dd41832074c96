"""All configs of a topic with their values in force, for the response to CreateTopics (KIP-525).

The first set value counts: of the topic, of this controller's dynamic config, of the cluster's, of this controller's
file, of the default. Brokers have most topic configs under other names, some in other units. The table has the topic
configs of Kafka 4.4 with their defaults and these names, without Kafka's internal configs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from metadata_log.image import MetadataImage
from quorum.api.topics import ConfigSource, EffectiveConfig
from quorum.controller.config import ControllerConfig
from quorum.controller.configs.value_types import as_number

_DAY_MS: Final = 24 * 3600 * 1000
_HOURS: Final = 3_600_000
_MINUTES: Final = 60_000
_LONGEST: Final = str((1 << 63) - 1)


class _TopicConfig(msgspec.Struct, frozen=True, gc=False):
    """A config's name, default, and the broker's names with factors to the topic's unit, in order of precedence."""

    name: str
    default: str
    synonyms: tuple[tuple[str, int], ...] = ()


def _same(name: str, default: str) -> _TopicConfig:
    return _TopicConfig(name, default, ((name, 1),))


def _other(name: str, default: str, *synonyms: str) -> _TopicConfig:
    return _TopicConfig(name, default, tuple((synonym, 1) for synonym in synonyms))


TOPIC_CONFIGS: Final = (
    _other("cleanup.policy", "delete", "log.cleanup.policy"),
    _same("compression.gzip.level", "-1"),
    _same("compression.lz4.level", "9"),
    _same("compression.type", "producer"),
    _same("compression.zstd.level", "3"),
    _other("delete.retention.ms", str(_DAY_MS), "log.cleaner.delete.retention.ms"),
    _TopicConfig("errors.deadletterqueue.group.enable", "false"),
    _other("file.delete.delay.ms", "60000", "log.segment.delete.delay.ms"),
    _other("flush.messages", _LONGEST, "log.flush.interval.messages"),
    _other("flush.ms", _LONGEST, "log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    _TopicConfig("follower.replication.throttled.replicas", ""),
    _other("index.interval.bytes", "4096", "log.index.interval.bytes"),
    _TopicConfig("leader.replication.throttled.replicas", ""),
    _other("local.retention.bytes", "-2", "log.local.retention.bytes"),
    _other("local.retention.ms", "-2", "log.local.retention.ms"),
    _other("max.compaction.lag.ms", _LONGEST, "log.cleaner.max.compaction.lag.ms"),
    _same("max.decompressed.message.bytes", "2147483639"),
    _other("max.message.bytes", "1048588", "message.max.bytes"),
    _other("message.timestamp.after.max.ms", "3600000", "log.message.timestamp.after.max.ms"),
    _other("message.timestamp.before.max.ms", _LONGEST, "log.message.timestamp.before.max.ms"),
    _other("message.timestamp.type", "CreateTime", "log.message.timestamp.type"),
    _other("min.cleanable.dirty.ratio", "0.5", "log.cleaner.min.cleanable.ratio"),
    _other("min.compaction.lag.ms", "0", "log.cleaner.min.compaction.lag.ms"),
    _same("min.insync.replicas", "1"),
    _other("preallocate", "false", "log.preallocate"),
    _other("remote.copy.lag.bytes", "-1", "log.remote.copy.lag.bytes"),
    _other("remote.copy.lag.ms", "0", "log.remote.copy.lag.ms"),
    _TopicConfig("remote.log.copy.disable", "false"),
    _TopicConfig("remote.log.delete.on.disable", "false"),
    _TopicConfig("remote.storage.enable", "false"),
    _other("retention.bytes", "-1", "log.retention.bytes"),
    _TopicConfig(
        "retention.ms", str(7 * _DAY_MS),
        (("log.retention.ms", 1), ("log.retention.minutes", _MINUTES), ("log.retention.hours", _HOURS)),
    ),
    _other("segment.bytes", str(1 << 30), "log.segment.bytes"),
    _other("segment.index.bytes", "10485760", "log.index.size.max.bytes"),
    _TopicConfig("segment.jitter.ms", "0", (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOURS))),
    _TopicConfig("segment.ms", str(7 * _DAY_MS), (("log.roll.ms", 1), ("log.roll.hours", _HOURS))),
    _same("unclean.leader.election.enable", "false"),
)  # fmt: skip


class EffectiveTopicConfigs:
    """Caches the values of a topic without own configs until a broker config changes: most topics set none."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._seen: tuple[Mapping[str, str], Mapping[str, str]] | None = None
        self._of_none: tuple[EffectiveConfig, ...] = ()

    def of(self, own: Mapping[str, str], image: MetadataImage) -> tuple[EffectiveConfig, ...]:
        """Return the values in force, see `effective_topic_configs`."""
        if own:
            return effective_topic_configs(own, image, self._config)
        node, cluster = image.configs.of_broker(self._config.node_id), image.configs.of_cluster()
        if self._seen is None or self._seen[0] is not node or self._seen[1] is not cluster:
            self._seen = (node, cluster)
            self._of_none = effective_topic_configs(own, image, self._config)
        return self._of_none


_BY_NAME: Final = {each.name: each for each in TOPIC_CONFIGS}


def synonyms_of(name: str) -> tuple[str, ...]:
    """Return the broker's names of a topic's config, in order of precedence."""
    return tuple(synonym for synonym, _ in _BY_NAME[name].synonyms)


def default_of(name: str) -> str:
    """Return the default of a topic's config."""
    return _BY_NAME[name].default


def effective_topic_configs(
    own: Mapping[str, str], image: MetadataImage, config: ControllerConfig
) -> tuple[EffectiveConfig, ...]:
    """Return all configs, sorted by name; `own` are the topic's own values."""
    sources = (
        (ConfigSource.DYNAMIC_BROKER_CONFIG, image.configs.of_broker(config.node_id)),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, image.configs.of_cluster()),
        (ConfigSource.STATIC_BROKER_CONFIG, _static(config)),
    )
    return tuple(_effective(each, own, sources) for each in TOPIC_CONFIGS)


def _effective(
    asked: _TopicConfig, own: Mapping[str, str], sources: tuple[tuple[ConfigSource, Mapping[str, str]], ...]
) -> EffectiveConfig:
    name = asked.name
    if name in own:
        return EffectiveConfig(name=name, value=own[name], source=ConfigSource.DYNAMIC_TOPIC_CONFIG)
    for source, values in sources:
        for synonym, unit in asked.synonyms:
            value = values.get(synonym)
            if value is not None:
                return EffectiveConfig(name=name, value=_in_ms(value, unit), source=source)
    return EffectiveConfig(name=name, value=asked.default, source=ConfigSource.DEFAULT_CONFIG)


def _in_ms(value: str, unit: int) -> str:
    """Return a broker's value in the topic's unit; a value that does not parse, or is below 0, unchanged."""
    number = None if unit == 1 else as_number(value, 32)
    return value if number is None or number < 0 else str(number * unit)


def _static(config: ControllerConfig) -> dict[str, str]:
    """Return the values that this controller's own file sets."""
    default = ControllerConfig(node_id=config.node_id, cluster_id=config.cluster_id)
    found = {}
    if config.min_insync_replicas != default.min_insync_replicas:
        found["min.insync.replicas"] = str(config.min_insync_replicas)
    if config.unclean_leader_election_enable != default.unclean_leader_election_enable:
        found["unclean.leader.election.enable"] = str(config.unclean_leader_election_enable).lower()
    return found
