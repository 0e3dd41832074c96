"""Which configs a topic may have, and whether a value can be one at all.

Decides by name and value alone, lightly: the type and the lowest value, not how configs bear on each other. Table: the
topic configs of Kafka 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from quorum.controller.requests.topics import CreatableConfig

_Check = Callable[[str], bool]


def _number(lowest: int | None, bits: int) -> _Check:
    floor = -(1 << (bits - 1)) if lowest is None else lowest
    ceiling = (1 << (bits - 1)) - 1

    def is_in_range(value: str) -> bool:
        text = value.strip()
        digits = text[1:] if text[:1] in {"-", "+"} else text
        return digits.isascii() and digits.isdecimal() and len(digits) <= 20 and floor <= int(text) <= ceiling

    return is_in_range


def _int(lowest: int | None) -> _Check:
    return _number(lowest, 32)


def _long(lowest: int | None) -> _Check:
    return _number(lowest, 64)


def _ratio(value: str) -> bool:
    try:
        number = float(value)
    except ValueError:
        return False
    return not math.isnan(number) and 0 <= number <= 1


def _boolean(value: str) -> bool:
    return value.strip().lower() in {"true", "false"}


def _one_of(*allowed: str) -> _Check:
    return lambda value: value.strip() in allowed


def _list_of(*allowed: str) -> _Check:
    return lambda value: not value.strip() or all(item.strip() in allowed for item in value.split(","))


def _throttled_replicas(value: str) -> bool:
    """Nothing, `*`, or `partition:broker` pairs."""
    text = value.strip()
    if text in {"", "*"}:
        return True
    pairs = [item.strip().split(":") for item in text.split(",")]
    return all(len(pair) == 2 and all(part.isascii() and part.isdecimal() for part in pair) for pair in pairs)


_CHECKS: Final[dict[str, _Check]] = {
    "cleanup.policy": _list_of("compact", "delete"),
    "compression.gzip.level": _int(-1),
    "compression.lz4.level": _int(1),
    "compression.type": _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": _int(-131072),
    "delete.retention.ms": _long(0),
    "file.delete.delay.ms": _long(0),
    "flush.messages": _long(1),
    "flush.ms": _long(0),
    "follower.replication.throttled.replicas": _throttled_replicas,
    "index.interval.bytes": _int(0),
    "internal.segment.bytes": _int(None),
    "leader.replication.throttled.replicas": _throttled_replicas,
    "local.retention.bytes": _long(-2),
    "local.retention.ms": _long(-2),
    "max.compaction.lag.ms": _long(1),
    "max.message.bytes": _int(0),
    "message.timestamp.after.max.ms": _long(0),
    "message.timestamp.before.max.ms": _long(0),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": _ratio,
    "min.compaction.lag.ms": _long(0),
    "min.insync.replicas": _int(1),
    "preallocate": _boolean,
    "remote.log.copy.disable": _boolean,
    "remote.log.delete.on.disable": _boolean,
    "remote.storage.enable": _boolean,
    "retention.bytes": _long(None),
    "retention.ms": _long(-1),
    "segment.bytes": _int(1 << 20),
    "segment.index.bytes": _int(4),
    "segment.jitter.ms": _long(0),
    "segment.ms": _long(1),
    "unclean.leader.election.enable": _boolean,
}


LISTS: Final[dict[str, str]] = {
    "cleanup.policy": "delete",
    "follower.replication.throttled.replicas": "",
    "leader.replication.throttled.replicas": "",
}
"""Configs that are lists, to which one may append, with their defaults."""


def why_invalid_values(values: Mapping[str, str]) -> str | None:
    """What is wrong with the configs of a topic, all of them together; None when nothing is."""
    return why_invalid(CreatableConfig(name=name, value=value) for name, value in values.items())


def why_invalid(configs: Iterable[CreatableConfig]) -> str | None:
    """What is wrong with the configs of a new topic; None when nothing is."""
    configs = tuple(configs)
    nulls = [config.name for config in configs if config.value is None]
    if nulls:
        return f"Null value not supported for topic configs: {','.join(nulls)}"
    for config in configs:
        check = _CHECKS.get(config.name)
        if check is None:
            return f"Unknown topic config name: {config.name}"
        if config.value is not None and not check(config.value):
            return f"Invalid value {config.value} for configuration {config.name}"
    return None
