"""Draws valid and invalid configs, and requests about them: of topics, brokers, groups and client metrics."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from tests.support.differential.world import World, known_name

UNKNOWN_TYPE: Final = 99
"""The type of no resource."""
_Draw = Callable[[random.Random, World], dict[str, Any]]

_GOOD_CONFIGS: Final = (
    ("retention.ms", "100000"), ("retention.ms", "-1"), ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"), ("min.insync.replicas", "2"), ("compression.type", "zstd"),
    ("unclean.leader.election.enable", "true"), ("max.message.bytes", "0"), ("segment.ms", "1"),
    ("message.timestamp.type", "LogAppendTime"), ("min.cleanable.dirty.ratio", "0.25"),
    ("leader.replication.throttled.replicas", "*"), ("follower.replication.throttled.replicas", "0:11,1:12"),
    ("local.retention.ms", "-2"), ("flush.messages", "9223372036854775807"), ("preallocate", "TRUE"),
    ("min.cleanable.dirty.ratio", "0x1p-1"), ("min.cleanable.dirty.ratio", "0.5f"), ("cleanup.policy", "delete,delete"),
    ("max.decompressed.message.bytes", "1"), ("remote.copy.lag.ms", "-1"), ("remote.copy.lag.bytes", "7"),
    ("errors.deadletterqueue.group.enable", "true"),
    ("retention.ms", "\u0661"), ("segment.ms", " +7 "), ("follower.replication.throttled.replicas", "1:11,"),
)  # fmt: skip
_BAD_CONFIGS: Final = (
    ("retention.ms", "soon"), ("retention.ms", "-2"), ("cleanup.policy", "burn"), ("cleanup.policy", ""),
    ("min.insync.replicas", "0"), ("compression.type", "rar"), ("no.such.config", "1"), ("retention.ms", None),
    ("segment.bytes", "1"), ("min.cleanable.dirty.ratio", "1.5"), ("max.message.bytes", "-1"), ("", "1"),
    ("segment.ms", "99999999999999999999"), ("unclean.leader.election.enable", "yes"),
    ("min.cleanable.dirty.ratio", "0_5"), ("retention.ms", "9" * 5_000), ("retention.ms", "\u00a01"),
    ("max.decompressed.message.bytes", "0"), ("max.decompressed.message.bytes", "2147483640"),
    ("remote.copy.lag.ms", "-2"), ("errors.deadletterqueue.group.enable", "1"),
    ("follower.replication.throttled.replicas", "eleven"), ("flush.messages", "0"), ("preallocate", "1"),
)  # fmt: skip
_BROKERS: Final = ("11", "12", "", "99", "abc", "+11", "012", "-0", "-1", "99999999999", "9" * 5_000)
_OTHERS: Final = (
    (4, _BROKERS, (("background.threads", "11"), ("log.cleaner.threads", "2"), ("x.y", "1"))),
    (16, ("sub", ""), (("interval.ms", "1000"), ("metrics", "*"), ("match", "client_id=a"), ("interval.ms", "5"),
                       ("match", "nonsense"), ("no.such", "1"), ("match", r"client_id=\p{Alpha}+(?<n>a)\h"),
                       ("match", "client_id=a,client_id=a"), ("match", "client_id=a(?#c)"), ("match", "client_id=a{x"),
                       ("match", "client_id=[[:alpha:]"), ("match", "client_id=a{4294967296}"))),
    (32, ("readers", ""), (("consumer.session.timeout.ms", "46000"), ("consumer.session.timeout.ms", "1"),
                           ("consumer.heartbeat.interval.ms", "6000"), ("no.such", "1"),
                           ("streams.assignor.name", "sticky"), ("streams.assignor.name", "range"),
                           ("streams.rack.aware.assignment.tags", "zone,rack"), ("streams.num.warmup.replicas", "21"),
                           ("streams.rack.aware.assignment.tags", "zone,zone"),
                           ("streams.acceptable.recovery.lag", "-1"),
                           ("streams.task.offset.interval.ms", "15000"), ("share.assignor.offload.enable", "false"),
                           ("errors.deadletterqueue.topic.name", "__dead"),
                           ("errors.deadletterqueue.copy.record.enable", "true"))),
)  # fmt: skip
"""Resources that are no topics: type, names, configs."""


def some_configs(chance: random.Random) -> tuple[dict[str, Any], ...]:
    """Draw configs for a new topic."""
    if chance.random() < 0.6:
        return ()
    drawn = [chance.choice(_GOOD_CONFIGS) for _ in range(chance.choice((1, 2)))]
    if chance.random() < 0.3:
        drawn.append(chance.choice(_BAD_CONFIGS))
    return tuple({"name": name, "value": value} for name, value in dict(drawn).items())


def incremental_alter_configs(chance: random.Random, world: World) -> dict[str, Any]:
    return _of_resources(chance, world, _altered)


def _of_resources(chance: random.Random, world: World, draw: _Draw) -> dict[str, Any]:
    """Draw some resources; sometimes one is named twice."""
    resources = tuple(draw(chance, world) for _ in range(chance.choice((0, 1, 1, 1, 2))))
    if resources and chance.random() < 0.1:
        resources = (*resources, resources[0])
    return {"resources": resources, "validate_only": chance.random() < 0.15}


def _altered(chance: random.Random, world: World) -> dict[str, Any]:
    kind, name, choices = _resource(chance, world)
    configs = []
    for _ in range(chance.choice((0, 1, 1, 2))):
        key, value = chance.choice(choices)
        operation = chance.choice((0, 0, 0, 1, 2, 3))  # at an unknown operation, Kafka's controller resigns
        if operation in (2, 3) and chance.random() < 0.7:
            key, value = "cleanup.policy", chance.choice(("compact", "delete"))
        configs.append({"name": key, "config_operation": operation, "value": None if operation == 1 else value})
    return {"resource_type": kind, "resource_name": name, "configs": tuple(configs)}


def alter_configs(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw all configs of a resource at once."""
    return _of_resources(chance, world, _replaced)


def _replaced(chance: random.Random, world: World) -> dict[str, Any]:
    kind, name, choices = _resource(chance, world)
    drawn = dict(chance.choice(choices) for _ in range(chance.choice((0, 1, 1, 2))))
    configs = tuple({"name": key, "value": value} for key, value in drawn.items())
    return {"resource_type": kind, "resource_name": name, "configs": configs}


def _resource(chance: random.Random, world: World) -> tuple[int, str, tuple[tuple[str, str | None], ...]]:
    """Draw a resource: type, name, and configs to draw from."""
    if chance.random() < 0.25:
        kind, names, choices = chance.choice(_OTHERS)
        return kind, chance.choice(names), choices
    kind = UNKNOWN_TYPE if chance.random() < 0.05 else 2
    return kind, known_name(chance, world), _BAD_CONFIGS if chance.random() < 0.2 else _GOOD_CONFIGS
