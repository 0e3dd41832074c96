"""Validation of the configs of client metrics subscriptions and groups, by name and value.

The tables are Kafka 4.4's (KIP-714; KIP-848, KIP-932, KIP-1071). Settings of the brokers' coordinator bound a group's
values; the bounds here are their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metadata_log.java_text import BLANKS, java_duration_ns
from quorum.api.error_codes import Error
from quorum.controller.configs.java_regex import is_java_pattern
from quorum.controller.configs.value_types import Check, as_number, boolean, list_of, number, one_of, parts_of

_HOUR_MS: Final = 3_600_000
_MATCHED: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def _offset_reset(value: str) -> bool:
    kind, _, text = value.strip(BLANKS).partition(":")
    if kind != "by_duration":
        return value.strip(BLANKS) in {"earliest", "latest"}
    duration = java_duration_ns(text)
    return duration is not None and duration >= 0


def _dead_letter_topic(value: str) -> bool:
    return not value.strip(BLANKS).startswith("__")


def _distinct(value: str) -> bool:
    """Return True if the value is a list without repeated entries."""
    parts = parts_of(value)
    return list_of()(value) and len(parts) == len(set(parts))


GROUP_CHECKS: Final[dict[str, Check]] = {
    "consumer.assignment.interval.ms": number(0, 32, 15_000),
    "consumer.assignor.offload.enable": boolean,
    "consumer.heartbeat.interval.ms": number(5_000, 32, 15_000),
    "consumer.session.timeout.ms": number(45_000, 32, 60_000),
    "errors.deadletterqueue.copy.record.enable": boolean,
    "errors.deadletterqueue.topic.name": _dead_letter_topic,
    "share.assignment.interval.ms": number(0, 32, 15_000),
    "share.assignor.offload.enable": boolean,
    "share.auto.offset.reset": _offset_reset,
    "share.delivery.count.limit": number(2, 32, 10),
    "share.heartbeat.interval.ms": number(5_000, 32, 15_000),
    "share.isolation.level": one_of("read_committed", "read_uncommitted"),
    "share.partition.max.record.locks": number(100, 32, 4_000),
    "share.record.lock.duration.ms": number(15_000, 32, 60_000),
    "share.renew.acknowledge.enable": boolean,
    "share.session.timeout.ms": number(45_000, 32, 60_000),
    "streams.acceptable.recovery.lag": number(0, 64),
    "streams.assignment.interval.ms": number(0, 32, 15_000),
    "streams.assignor.name": one_of("sticky"),
    "streams.assignor.offload.enable": boolean,
    "streams.heartbeat.interval.ms": number(5_000, 32, 15_000),
    "streams.initial.rebalance.delay.ms": number(0, 32),
    "streams.num.standby.replicas": number(0, 32, 2),
    "streams.num.warmup.replicas": number(0, 32, 20),
    "streams.rack.aware.assignment.tags": _distinct,
    "streams.session.timeout.ms": number(45_000, 32, 60_000),
    "streams.task.offset.interval.ms": number(15_000, 32),
}
"""With these bounds, no session is shorter than a heartbeat's interval."""
METRICS_CHECKS: Final[dict[str, Check]] = {
    "interval.ms": number(None, 32),
    "match": list_of(),
    "metrics": list_of(),
}
BROKER_LISTS: Final[dict[str, str]] = {
    "advertised.listeners": "",
    "config.providers": "",
    "controller.listener.names": "",
    "controller.quorum.bootstrap.servers": "",
    "controller.quorum.voters": "",
    "cordoned.log.dirs": "",
    "early.start.listeners": "",
    "group.consumer.assignors": "uniform,range",
    "group.coordinator.rebalance.protocols": "classic,consumer,streams",
    "group.share.assignors": "simple",
    "group.streams.assignors": "sticky",
    "group.streams.rack.aware.assignment.tags": "",
    "kafka.metrics.reporters": "",
    "listeners": "PLAINTEXT://:9092",
    "log.cleanup.policy": "delete",
    "log.dir": "/tmp/kafka-logs",
    "log.dirs": "",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
    "process.roles": "",
    "sasl.enabled.mechanisms": "GSSAPI",
    "sasl.kerberos.principal.to.local.rules": "DEFAULT",
    "sasl.oauthbearer.expected.audience": "",
    "ssl.cipher.suites": "",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
}
"""Broker configs that are lists, which a client may append to, with their defaults. As in Kafka, lists of client
metrics can only be set."""


def why_invalid_group(values: Mapping[str, str]) -> tuple[Error, str] | None:
    """Return why the configs of a group are invalid together, or None."""
    unknown = next((name for name in values if name not in GROUP_CHECKS), None)
    if unknown is not None:
        return Error.INVALID_CONFIG, f"Unknown group config name: {unknown}"
    return _why_wrong(values, GROUP_CHECKS)


def _why_wrong(values: Mapping[str, str], checks: Mapping[str, Check]) -> tuple[Error, str] | None:
    wrong = next((name for name, value in values.items() if not checks[name](value)), None)
    return None if wrong is None else (Error.INVALID_CONFIG, f"Invalid value {values[wrong]} for configuration {wrong}")


def why_invalid_client_metrics(values: Mapping[str, str], before: Mapping[str, str]) -> tuple[Error, str] | None:
    """Return why the configs of a client metrics subscription (KIP-714) are invalid, or None.

    Unchanged patterns (`before`) are not checked again, as the check is slow.
    """
    unknown = next((name for name in values if name not in METRICS_CHECKS), None)
    if unknown is not None:
        return Error.INVALID_REQUEST, f"Unknown client metrics configuration: {unknown}"
    wrong = _why_wrong(values, METRICS_CHECKS)
    if wrong is not None:
        return wrong
    interval = values.get("interval.ms")
    if interval is not None and not 100 <= (as_number(interval) or 0) <= _HOUR_MS:
        return Error.INVALID_REQUEST, f"interval.ms must be between 100 and {_HOUR_MS} (1 hour), but is {interval}"
    match = values.get("match", "")
    for pattern in parts_of(match) if match != before.get("match") else ():
        if not _is_match(pattern):
            return Error.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}"
    return None


def _is_match(pattern: str) -> bool:
    """Return True for `attribute=regular expression`, with any number of `=` at the end."""
    parts = pattern.rstrip("=").split("=")
    return len(parts) == 2 and parts[0].strip(BLANKS) in _MATCHED and is_java_pattern(parts[1].strip(BLANKS))
