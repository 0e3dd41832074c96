"""Validation of a topic's configs: known names, types, lowest values, and contradictions between configs.

The table has the topic configs of Kafka 4.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from metadata_log.java_text import BLANKS, java_double
from metadata_log.records.primitives import MAX_STRING
from quorum.api.topics import CreatableConfig
from quorum.controller.configs.value_types import Check, as_number, boolean, list_of, number, one_of, parts_of


def _int(lowest: int | None) -> Check:
    return number(lowest, 32)


def _long(lowest: int | None) -> Check:
    return number(lowest, 64)


def _gzip_level(value: str) -> bool:
    """Return True for 1 to 9 and the default -1. 0 would not compress."""
    return number(-1, 32, 9)(value) and as_number(value) != 0


def _ratio(value: str) -> bool:
    """Return True for 0 to 1 and, as in Kafka, for NaN."""
    number = java_double(value)
    return number is not None and (math.isnan(number) or 0 <= number <= 1)


_PAIR: Final = re.compile("[0-9]+:[0-9]+")


def _throttled_replicas(value: str) -> bool:
    """Return True for an empty text, `*`, or `partition:broker` pairs, among which empty entries are allowed."""
    parts = [part for part in parts_of(value) if part]
    return parts == ["*"] or all(map(_PAIR.fullmatch, parts))


TOPIC_CHECKS: Final[dict[str, Check]] = {
    "cleanup.policy": list_of("compact", "delete"),
    "compression.gzip.level": _gzip_level,
    "compression.lz4.level": number(1, 32, 17),
    "compression.type": one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": number(-131072, 32, 22),
    "delete.retention.ms": _long(0),
    "errors.deadletterqueue.group.enable": boolean,
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
    "max.decompressed.message.bytes": number(1, 32, (1 << 31) - 9),
    "max.message.bytes": _int(0),
    "message.timestamp.after.max.ms": _long(0),
    "message.timestamp.before.max.ms": _long(0),
    "message.timestamp.type": one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": _ratio,
    "min.compaction.lag.ms": _long(0),
    "min.insync.replicas": _int(1),
    "preallocate": boolean,
    "remote.copy.lag.bytes": _long(-1),
    "remote.copy.lag.ms": _long(-1),
    "remote.log.copy.disable": boolean,
    "remote.log.delete.on.disable": boolean,
    "remote.storage.enable": boolean,
    "retention.bytes": _long(None),
    "retention.ms": _long(-1),
    "segment.bytes": _int(1 << 20),
    "segment.index.bytes": _int(4),
    "segment.jitter.ms": _long(0),
    "segment.ms": _long(1),
    "unclean.leader.election.enable": boolean,
}
_WEEK_MS: Final = 7 * 24 * 3600 * 1000
_LONGEST_MS: Final = (1 << 63) - 1

LISTS: Final[dict[str, str]] = {
    "cleanup.policy": "delete",
    "follower.replication.throttled.replicas": "",
    "leader.replication.throttled.replicas": "",
}
"""Configs that are lists, which a client may append to, with their defaults."""


_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})
_REMOTE: Final = "remote.storage.enable"
_LIKE_RETENTION: Final = -2
"""A local retention of -2 equals the topic's retention."""


def why_invalid_values(
    values: Mapping[str, str], *, may_be_remote: bool = False, before: Mapping[str, str] = _NO_CONFIGS
) -> str | None:
    """Return why the configs of a topic are invalid together, or None.

    `may_be_remote` is `remote.log.storage.system.enable`; `before` are the topic's former configs.
    """
    for name, value in values.items():
        check = TOPIC_CHECKS.get(name)
        if check is None:
            return f"Unknown topic config name: {name}"
        if not check(value):
            return f"Invalid value {value} for configuration {name}"
    return _why_conflicting(values, may_be_remote=may_be_remote, before=before)


def why_too_long(name: str, value: str) -> str | None:
    """Return why a config's value is too long for a record, or None."""
    size = len(value.encode())
    return f"The value of {name} has {size} bytes in UTF-8; {MAX_STRING} are allowed." if size > MAX_STRING else None


def why_invalid(configs: Iterable[CreatableConfig], *, may_be_remote: bool = False) -> str | None:
    """Return why the configs of a new topic are invalid, or None."""
    configs = tuple(configs)
    nulls = [config.name for config in configs if config.value is None]
    if nulls:
        return f"Null value not supported for topic configs: {','.join(nulls)}"
    values = {config.name: config.value for config in configs if config.value is not None}
    too_long = (why_too_long(name, value) for name, value in values.items())
    why = next((each for each in too_long if each is not None), None)
    return why or why_invalid_values(values, may_be_remote=may_be_remote)


def _number(values: Mapping[str, str], name: str, default: int) -> int:
    found = as_number(values[name]) if name in values else None
    return default if found is None else found


def _is_true(values: Mapping[str, str], name: str) -> bool:
    return values.get(name, "false").strip(BLANKS).lower() == "true"


def _why_conflicting(values: Mapping[str, str], *, may_be_remote: bool, before: Mapping[str, str]) -> str | None:
    """Return which of Kafka's rules over several configs is broken, or None; each value alone is valid."""
    least, most = _number(values, "min.compaction.lag.ms", 0), _number(values, "max.compaction.lag.ms", _LONGEST_MS)
    if least > most:
        return f"min.compaction.lag.ms ({least}) is more than max.compaction.lag.ms ({most})"
    if not _is_true(values, _REMOTE):
        if _is_true(before, _REMOTE) and not _is_true(values, "remote.log.delete.on.disable"):
            return (
                "remote storage cannot be switched off while its data is kept: set remote.log.delete.on.disable=true "
                "to lose it, or keep remote.storage.enable=true and set remote.log.copy.disable=true"
            )
        return None
    if not may_be_remote:
        return "remote.storage.enable=true: tiered storage (remote.log.storage.system.enable) is not enabled here"
    if not set(parts_of(values.get("cleanup.policy", "delete"))) <= {"delete"}:
        return "remote.storage.enable=true: only the cleanup.policy delete, or none, goes with it"
    return _why_retention_conflicts(values)


def _why_retention_conflicts(values: Mapping[str, str]) -> str | None:
    is_copied = not _is_true(values, "remote.log.copy.disable")
    for unit, default in (("bytes", -1), ("ms", _WEEK_MS)):
        local = _number(values, f"local.retention.{unit}", _LIKE_RETENTION)
        whole = _number(values, f"retention.{unit}", default)
        lag = _number(values, f"remote.copy.lag.{unit}", 0)
        kept = whole if local == _LIKE_RETENTION else local
        if lag > 0 and 0 <= kept < lag:
            return f"remote.copy.lag.{unit}={lag} is more than the local retention, {kept}"
        if local == _LIKE_RETENTION:
            continue
        if whole > -1 and (local == -1 or local > whole):
            return f"local.retention.{unit}={local} is more than retention.{unit}={whole}"
        if not is_copied and local != whole:
            return f"with remote.log.copy.disable=true local.retention.{unit} must be retention.{unit}, {whole}"
    return None
