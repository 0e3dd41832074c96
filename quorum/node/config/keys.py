"""The keys of a node's configuration, with Kafka's names.

Decides: which keys there are, how each value is parsed, and its default. Must not know: which values fit together
(`node_config`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from metadata_log.voters import GRPC_LISTENER
from quorum.node.config.door_limits import DOOR_KEYS
from quorum.node.config.listeners import INTER_CONTROLLER
from quorum.node.config.values import (
    authorizer_class,
    boolean,
    host_port_list,
    integer,
    listener_list,
    name_list,
    one_listener,
    optional_integer,
    optional_paths,
    path,
    principal_set,
    protocol_map,
    text,
    voter_list,
)

PROCESS_ROLES: Final = "process.roles"
LOG_DIRS: Final = "log.dirs"
BYTES_BETWEEN_SNAPSHOTS: Final = "metadata.log.max.record.bytes.between.snapshots"
_LARGEST_INT32: Final = (1 << 31) - 1
_LARGEST_MS: Final = (1 << 53) - 1
_WEEK_MS: Final = 7 * 24 * 3600 * 1000
_LARGEST_TOKEN_MS: Final = 10**14
"""Three thousand years: a later expiry has no date."""
_LARGEST_PIECE: Final = 8 << 20


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration key.

    `field` is its field in `NodeConfig`, `parse` reads its value, and `default` is its default as text. A key with the
    default None must be set, or is derived.
    """

    field: str
    parse: Callable[[str], object]
    default: str | None
    most: int | None = None
    """The largest number that this node uses. Kafka accepts larger ones; they count as this one."""


def _milliseconds(field: str, default: int, *, least: int = 1) -> Key:
    """Return the key of a time in ms. A value below `least` would make the process spin."""
    return Key(field=field, parse=integer(least, _LARGEST_INT32), default=str(default))


KEYS: Final[Mapping[str, Key]] = {
    PROCESS_ROLES: Key(field="roles", parse=name_list, default=None),
    "node.id": Key(field="node_id", parse=integer(0, _LARGEST_INT32), default=None),
    "listeners": Key(field="listeners", parse=listener_list, default=None),
    "advertised.listeners": Key(field="advertised_listeners", parse=listener_list, default=""),
    "controller.listener.names": Key(field="controller_listener_names", parse=name_list, default=""),
    "listener.security.protocol.map": Key(field="security_protocols", parse=protocol_map, default=""),
    INTER_CONTROLLER: Key(field="inter_controller_listener_name", parse=text, default=GRPC_LISTENER),
    "inter.broker.listener.name": Key(field="inter_broker_listener_name", parse=text, default=""),
    "broker.rack": Key(field="rack", parse=text, default=""),
    LOG_DIRS: Key(field="log_dirs", parse=optional_paths, default=""),
    "log.dir": Key(field="log_dir", parse=optional_paths, default=""),
    "metadata.log.dir": Key(field="metadata_log_dir", parse=path, default=""),
    "metadata.log.segment.bytes": Key(
        field="segment_bytes", parse=integer(8 << 20, _LARGEST_INT32), default=str(1 << 30)
    ),
    "internal.metadata.log.segment.bytes": Key(
        field="internal_segment_bytes", parse=optional_integer(200, _LARGEST_INT32), default=""
    ),
    "metadata.log.segment.ms": Key(field="segment_ms", parse=integer(1, _LARGEST_MS), default=str(_WEEK_MS)),
    BYTES_BETWEEN_SNAPSHOTS: Key(field="max_new_record_bytes", parse=integer(1, _LARGEST_MS), default=str(20 << 20)),
    "metadata.log.max.snapshot.interval.ms": Key(
        field="max_interval_ms", parse=integer(0, _LARGEST_MS), default=str(3600 * 1000)
    ),
    "metadata.max.idle.interval.ms": _milliseconds("max_idle_interval_ms", 500, least=0),
    "metadata.max.retention.bytes": Key(
        field="retention_bytes", parse=integer(-1, _LARGEST_MS), default=str(100 << 20)
    ),
    "metadata.max.retention.ms": Key(field="retention_ms", parse=integer(-1, _LARGEST_MS), default=str(_WEEK_MS)),
    "controller.quorum.fetch.snapshot.max.bytes": Key(
        field="fetch_snapshot_max_bytes", parse=integer(1, _LARGEST_PIECE), default=str(1 << 20)
    ),
    "controller.quorum.bootstrap.servers": Key(field="bootstrap_servers", parse=host_port_list, default=""),
    "controller.quorum.voters": Key(field="static_voters", parse=voter_list, default=""),
    "controller.quorum.auto.join.enable": Key(field="auto_join", parse=boolean, default="false"),
    "controller.quorum.election.timeout.ms": _milliseconds("election_timeout_ms", 1000),
    "controller.quorum.election.backoff.max.ms": _milliseconds("election_backoff_max_ms", 1000),
    "controller.quorum.fetch.timeout.ms": _milliseconds("fetch_timeout_ms", 2000, least=10),
    "controller.quorum.request.timeout.ms": _milliseconds("request_timeout_ms", 2000),
    "controller.quorum.retry.backoff.ms": _milliseconds("retry_backoff_ms", 20),
    "broker.session.timeout.ms": _milliseconds("session_timeout_ms", 9000),
    "broker.heartbeat.interval.ms": _milliseconds("heartbeat_interval_ms", 2000),
    "initial.broker.registration.timeout.ms": _milliseconds("initial_registration_timeout_ms", 60_000),
    "num.partitions": Key(field="num_partitions", parse=integer(1, _LARGEST_INT32), default="1"),
    "default.replication.factor": Key(field="default_replication_factor", parse=integer(1, 32767), default="1"),
    "controller.quota.window.num": Key(field="quota_window_num", parse=integer(1, _LARGEST_INT32), default="11"),
    "controller.quota.window.size.seconds": Key(
        field="quota_window_size_s", parse=integer(1, _LARGEST_INT32), default="1"
    ),
    "min.insync.replicas": Key(field="min_insync_replicas", parse=integer(1, 32767), default="1"),
    "delete.topic.enable": Key(field="delete_topic_enable", parse=boolean, default="true"),
    "unclean.leader.election.enable": Key(field="unclean_leader_election_enable", parse=boolean, default="false"),
    "remote.log.storage.system.enable": Key(field="remote_log_storage_system_enable", parse=boolean, default="false"),
    "unclean.leader.election.interval.ms": _milliseconds("unclean_leader_election_interval_ms", 300_000),
    "auto.leader.rebalance.enable": Key(field="auto_leader_rebalance_enable", parse=boolean, default="true"),
    "leader.imbalance.check.interval.seconds": Key(
        field="leader_imbalance_check_interval_s", parse=integer(1, _LARGEST_INT32), default="300"
    ),
    "authorizer.class.name": Key(field="authorizer_class_name", parse=authorizer_class, default=""),
    "delegation.token.secret.key": Key(field="token_secret_key", parse=text, default=""),
    "delegation.token.max.lifetime.ms": Key(
        field="token_max_lifetime_ms", parse=integer(1, _LARGEST_TOKEN_MS), default=str(_WEEK_MS)
    ),
    "delegation.token.expiry.time.ms": Key(
        field="token_expiry_time_ms", parse=integer(1, _LARGEST_TOKEN_MS), default=str(24 * 3600 * 1000)
    ),
    "delegation.token.expiry.check.interval.ms": Key(
        field="token_expiry_check_interval_ms", parse=integer(1, _LARGEST_TOKEN_MS), default=str(3600 * 1000)
    ),
    "super.users": Key(field="super_users", parse=principal_set, default=""),
    "allow.everyone.if.no.acl.found": Key(field="allow_everyone_if_no_acl", parse=boolean, default="false"),
    "delete.topic.delay.ms": Key(
        field="delete_topic_delay_ms", parse=integer(0, _LARGEST_MS), default=str(4 * 3600 * 1000)
    ),
    "http.listener": Key(field="http_listener", parse=one_listener, default=""),
    **{
        name: Key(field=at, parse=integer(low, _LARGEST_INT32), default=str(usual), most=high)
        for name, at, low, high, usual in DOOR_KEYS
    },
}
"""All keys. Not Kafka's are `delete.topic.delay.ms` (KIP-516 names it), `http.listener` and
`inter.controller.listener.name`."""
ALIASES: Final[Mapping[str, str]] = {"broker.id": "node.id"}
"""Kafka's other names of keys. An alias counts if the key itself is not set."""
