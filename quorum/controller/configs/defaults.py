"""The types of configs in DescribeConfigs, and the defaults of groups and client metrics subscriptions.

Tables: Kafka 4.4's, but for internal configs. Topics' defaults are in `effective_topics`.
"""

from __future__ import annotations

from typing import Final

import msgspec

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST, PASSWORD = 1, 2, 3, 5, 6, 7, 9
"""The types' numbers in DescribeConfigs."""


class Described(msgspec.Struct, frozen=True, gc=False):
    """One config: its type, its default, and the broker's config that applies if it is not set."""

    kind: int
    default: str
    synonym: str | None = None


_TOPIC_KINDS: Final[dict[int, frozenset[str]]] = {
    LIST: frozenset(
        {"cleanup.policy", "follower.replication.throttled.replicas", "leader.replication.throttled.replicas"}
    ),
    INT: frozenset(
        {
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.zstd.level",
            "index.interval.bytes",
            "max.decompressed.message.bytes",
            "max.message.bytes",
            "min.insync.replicas",
            "segment.bytes",
            "segment.index.bytes",
        }
    ),
    STRING: frozenset({"compression.type", "message.timestamp.type"}),
    DOUBLE: frozenset({"min.cleanable.dirty.ratio"}),
    BOOLEAN: frozenset(
        {
            "errors.deadletterqueue.group.enable",
            "preallocate",
            "remote.log.copy.disable",
            "remote.log.delete.on.disable",
            "remote.storage.enable",
            "unclean.leader.election.enable",
        }
    ),
}


def kind_of_topic_config(name: str) -> int:
    """Return the type of a topic's config: LONG for most."""
    return next((kind for kind, names in _TOPIC_KINDS.items() if name in names), LONG)


GROUP_DEFAULTS: Final[dict[str, Described]] = {
    "consumer.assignment.interval.ms": Described(INT, "1000", "group.consumer.assignment.interval.ms"),
    "consumer.heartbeat.interval.ms": Described(INT, "5000", "group.consumer.heartbeat.interval.ms"),
    "consumer.session.timeout.ms": Described(INT, "45000", "group.consumer.session.timeout.ms"),
    "errors.deadletterqueue.copy.record.enable": Described(BOOLEAN, "false"),
    "errors.deadletterqueue.topic.name": Described(STRING, ""),
    "share.assignment.interval.ms": Described(INT, "1000", "group.share.assignment.interval.ms"),
    "share.auto.offset.reset": Described(STRING, "latest"),
    "share.delivery.count.limit": Described(INT, "5", "group.share.delivery.count.limit"),
    "share.heartbeat.interval.ms": Described(INT, "5000", "group.share.heartbeat.interval.ms"),
    "share.isolation.level": Described(STRING, "read_uncommitted"),
    "share.partition.max.record.locks": Described(INT, "2000", "group.share.partition.max.record.locks"),
    "share.record.lock.duration.ms": Described(INT, "30000", "group.share.record.lock.duration.ms"),
    "share.renew.acknowledge.enable": Described(BOOLEAN, "true"),
    "share.session.timeout.ms": Described(INT, "45000", "group.share.session.timeout.ms"),
    "streams.assignment.interval.ms": Described(INT, "1000", "group.streams.assignment.interval.ms"),
    "streams.assignor.name": Described(STRING, "sticky", "group.streams.assignors"),
    "streams.heartbeat.interval.ms": Described(INT, "5000", "group.streams.heartbeat.interval.ms"),
    "streams.initial.rebalance.delay.ms": Described(INT, "3000", "group.streams.initial.rebalance.delay.ms"),
    "streams.num.standby.replicas": Described(INT, "0", "group.streams.num.standby.replicas"),
    "streams.rack.aware.assignment.tags": Described(LIST, "", "group.streams.rack.aware.assignment.tags"),
    "streams.session.timeout.ms": Described(INT, "45000", "group.streams.session.timeout.ms"),
}
METRICS_DEFAULTS: Final[dict[str, Described]] = {
    "interval.ms": Described(INT, "300000"),
    "match": Described(LIST, ""),
    "metrics": Described(LIST, ""),
}
