"""The configuration of a controller or an agent, in Kafka's key names.

Decides: which keys there are, what their values may be, and what must fit together. Every fault is one `ConfigError`
that names the key, its value and what to do. Must not know: what the settings are used for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from metadata_log.storage.file_log import LogConfig
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, Endpoint, VoterSet
from quorum.controller.config import Setting
from quorum.controller.configs.defaults import BOOLEAN, LONG, PASSWORD, STRING
from quorum.controller.tokens import TokenSettings
from quorum.node.config.door_limits import DOOR_FIELDS, DOOR_KEYS, DoorLimits
from quorum.node.config.properties import PropertiesError, parse_properties
from quorum.node.config.values import (
    SUPPORTED_PROTOCOL,
    ConfigError,
    authorizer_class,
    boolean,
    host_port_list,
    integer,
    listener_list,
    name_list,
    one_listener,
    one_of,
    optional_integer,
    path_list,
    principal_set,
    protocol_map,
    text,
    voter_list,
)
from quorum.node.core.retention import SnapshotConfig
from quorum.raft.config import RaftConfig

CONTROLLER_ROLE: Final = "controller"
BROKER_ROLE: Final = "broker"
_ROLES: Final = frozenset({CONTROLLER_ROLE, BROKER_ROLE})
_LARGEST_INT32: Final = (1 << 31) - 1
_LARGEST_MS: Final = (1 << 53) - 1
_FETCH_MAX_WAIT_MS: Final = 500
_HTTP: Final = "HTTP"
_WEEK_MS: Final = 7 * 24 * 3600 * 1000
_LARGEST_TOKEN_MS: Final = 10**14
"""Three thousand years: what ends later has no date."""
_LARGEST_PIECE: Final = 8 << 20
INTER_CONTROLLER: Final = "inter.controller.listener.name"
_BYTES_BETWEEN_SNAPSHOTS: Final = "metadata.log.max.record.bytes.between.snapshots"
_SNAPSHOT_FIELDS: Final = ("max_new_record_bytes", "max_interval_ms", "retention_bytes", "retention_ms")
_TOKEN_FIELDS: Final = ("max_lifetime_ms", "expiry_time_ms", "expiry_check_interval_ms")
_RAFT_FIELDS: Final = (
    "election_timeout_ms",
    "election_backoff_max_ms",
    "fetch_timeout_ms",
    "request_timeout_ms",
    "retry_backoff_ms",
    "fetch_snapshot_max_bytes",
)


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration key: its field in `NodeConfig`, how its value is read, and its default as text (None: must be
    given, or is derived)."""

    field: str
    parse: Callable[[str], object]
    default: str | None


def _milliseconds(field: str, default: int, *, least: int = 1) -> Key:
    """A time that a process can wait: a smaller one than `least` would make it spin."""
    return Key(field=field, parse=integer(least, _LARGEST_INT32), default=str(default))


KEYS: Final[Mapping[str, Key]] = {
    "process.roles": Key(field="roles", parse=name_list, default=None),
    "node.id": Key(field="node_id", parse=integer(0, _LARGEST_INT32), default=None),
    "listeners": Key(field="listeners", parse=listener_list, default=None),
    "advertised.listeners": Key(field="advertised_listeners", parse=listener_list, default=""),
    "controller.listener.names": Key(field="controller_listener_names", parse=name_list, default=""),
    "listener.security.protocol.map": Key(field="security_protocols", parse=protocol_map, default=""),
    INTER_CONTROLLER: Key(
        field="inter_controller_listener_name", parse=one_of(GRPC_LISTENER, CONTROLLER_LISTENER), default=GRPC_LISTENER
    ),
    "inter.broker.listener.name": Key(field="inter_broker_listener_name", parse=text, default=""),
    "broker.rack": Key(field="rack", parse=text, default=""),
    "log.dirs": Key(field="log_dirs", parse=path_list, default=None),
    "metadata.log.dir": Key(field="metadata_log_dir", parse=text, default=""),
    "metadata.log.segment.bytes": Key(
        field="segment_bytes", parse=integer(8 << 20, _LARGEST_INT32), default=str(1 << 30)
    ),
    "internal.metadata.log.segment.bytes": Key(
        field="internal_segment_bytes", parse=optional_integer(200, _LARGEST_INT32), default=""
    ),
    "metadata.log.segment.ms": Key(field="segment_ms", parse=integer(1, _LARGEST_MS), default=str(_WEEK_MS)),
    _BYTES_BETWEEN_SNAPSHOTS: Key(field="max_new_record_bytes", parse=integer(1, _LARGEST_MS), default=str(20 << 20)),
    "metadata.log.max.snapshot.interval.ms": Key(
        field="max_interval_ms", parse=integer(0, _LARGEST_MS), default=str(3600 * 1000)
    ),
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
    **{name: Key(field=at, parse=integer(low, high), default=str(usual)) for name, at, low, high, usual in DOOR_KEYS},
}
"""All of them. Those that are ours, not Kafka's: `delete.topic.delay.ms` (KIP-516 names it), `http.listener` and
`inter.controller.listener.name`."""


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A checked configuration. Times are in ms, sizes in bytes; each field's key stands in `KEYS`."""

    roles: tuple[str, ...]
    node_id: int
    listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    """What others are told: as configured, else the listeners themselves."""
    controller_listener_names: tuple[str, ...]
    inter_controller_listener_name: str
    """Where this controller asks others that have both listeners: GRPC, or CONTROLLER (Kafka's protocol)."""
    inter_broker_listener_name: str
    rack: str | None
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    """The directory (one of `log.dirs`, or another) that holds `__cluster_metadata-0`."""
    bootstrap_servers: tuple[Endpoint, ...]
    """As configured, else where the static voters listen."""
    static_voters: VoterSet
    """Those of kraft.version 0; without meaning once the log holds voters."""
    auto_join: bool
    raft: RaftConfig
    log: LogConfig
    snapshots: SnapshotConfig
    session_timeout_ms: int
    heartbeat_interval_ms: int
    initial_registration_timeout_ms: int
    num_partitions: int
    default_replication_factor: int
    quota_window_num: int
    quota_window_size_s: int
    min_insync_replicas: int
    delete_topic_enable: bool
    unclean_leader_election_enable: bool
    remote_log_storage_system_enable: bool
    unclean_leader_election_interval_ms: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_s: int
    settings: Mapping[str, Setting]
    """All keys, with what was given for each."""
    tokens: TokenSettings | None
    """None without a secret key: there are no delegation tokens."""
    authorizer_class_name: str
    """The StandardAuthorizer's, or nothing: everybody may do all."""
    super_users: frozenset[str]
    allow_everyone_if_no_acl: bool
    delete_topic_delay_ms: int
    http_listener: Endpoint | None
    doors: DoorLimits

    @property
    def is_controller(self) -> bool:
        """Whether this node may vote and lead."""
        return CONTROLLER_ROLE in self.roles

    def listener(self, name: str) -> Endpoint | None:
        """Where this node binds that listener, or None."""
        return next((endpoint for endpoint in self.listeners if endpoint.name == name), None)

    @property
    def controller_endpoints(self) -> tuple[Endpoint, ...]:
        """This node's advertised controller listeners, for the voter set and its registration."""
        names = self.controller_listener_names
        return tuple(endpoint for endpoint in self.advertised_listeners if endpoint.name in names)


def load_config(path: str | Path, overrides: Mapping[str, str] | None = None) -> NodeConfig:
    """Read and check a configuration file; `overrides` replace what it says, key by key.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong.
    """
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration {path}: {error}") from error
    try:
        found = parse_properties(content, source=str(path))
    except PropertiesError as error:
        raise ConfigError(str(error)) from error
    return config_of({**found, **(overrides or {})}, source=str(path))


def config_of(properties: Mapping[str, str], *, source: str = "configuration") -> NodeConfig:
    """Check keys and values, and that they fit together.

    Raises:
        ConfigError: naming source, key, value and what to do.
    """
    try:
        values = _parsed(properties)
        return _assembled({**values, "settings": _settings(properties)})
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error


def _parsed(properties: Mapping[str, str]) -> dict[str, Any]:
    for name in properties:
        if name not in KEYS:
            near = difflib.get_close_matches(name, KEYS, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}?" if near else "remove it: this node does not use it"
            raise ConfigError(f"unknown key {name}: {hint}")
    values: dict[str, Any] = {}
    for name, key in KEYS.items():
        given = properties.get(name, key.default)
        if given is None or (key.default is None and not given):
            raise ConfigError(f"{name} is missing: it must be set")
        try:
            values[key.field] = key.parse(given)
        except ValueError as error:
            raise ConfigError(f"{name}={given}: {error}") from error
    return values


def _settings(given: Mapping[str, str]) -> dict[str, Setting]:
    """What DescribeConfigs says of this node's own keys."""

    def kind(key: Key) -> int:
        if key.field == "token_secret_key":
            return PASSWORD
        if key.parse is boolean:
            return BOOLEAN
        return LONG if (key.default or "").lstrip("-").isdecimal() else STRING

    return {
        name: Setting(value=given.get(name), default=key.default or None, kind=kind(key)) for name, key in KEYS.items()
    }


def _assembled(values: dict[str, Any]) -> NodeConfig:
    raft = {field: values.pop(field) for field in _RAFT_FIELDS}
    snapshots = {field: values.pop(field) for field in _SNAPSHOT_FIELDS}
    doors = {field: values.pop(field) for field in DOOR_FIELDS}
    security, segment_bytes = values.pop("security_protocols"), values.pop("segment_bytes")
    log = LogConfig(
        segment_bytes=values.pop("internal_segment_bytes") or segment_bytes, segment_ms=values.pop("segment_ms")
    )
    listeners = values["listeners"]
    secret_key = values.pop("token_secret_key")
    tokens = {field: values.pop(f"token_{field}") for field in _TOKEN_FIELDS}
    config = NodeConfig(
        **{
            **values,
            "doors": DoorLimits(**doors),
            "raft": RaftConfig(**raft, fetch_max_wait_ms=min(_FETCH_MAX_WAIT_MS, raft["fetch_timeout_ms"] // 2)),
            "log": log,
            "tokens": TokenSettings(secret_key=secret_key.encode(), **tokens) if secret_key else None,
            "snapshots": SnapshotConfig(
                **snapshots, or_as_the_newest=values["settings"][_BYTES_BETWEEN_SNAPSHOTS].value is None
            ),
            "rack": values["rack"] or None,
            "metadata_log_dir": values["metadata_log_dir"] or values["log_dirs"][0],
            "bootstrap_servers": values["bootstrap_servers"]
            or tuple(at for voter in values["static_voters"] for at in voter.endpoints),
            "advertised_listeners": values["advertised_listeners"] or listeners,
            "controller_listener_names": values["controller_listener_names"] or _controller_listeners(listeners),
        }
    )
    _check_roles(config)
    _check_listeners(config, security)
    _check_times(config)
    return config


def _controller_listeners(listeners: tuple[Endpoint, ...]) -> tuple[str, ...]:
    return tuple(at.name for at in listeners if at.name in (CONTROLLER_LISTENER, GRPC_LISTENER))


def _check_roles(config: NodeConfig) -> None:
    for role in config.roles:
        if role not in _ROLES:
            raise ConfigError(
                f"process.roles={','.join(config.roles)}: {role!r} is no role: write controller or broker"
            )
    if len(config.roles) != 1:
        raise ConfigError(
            f"process.roles={','.join(config.roles)}: a node has one role here: run the controller and the broker's "
            "agent as two processes"
        )
    if not config.is_controller and not config.bootstrap_servers:
        raise ConfigError("controller.quorum.bootstrap.servers is missing: an agent finds the controllers by it")
    if config.is_controller and len(config.static_voters) and config.node_id not in config.static_voters:
        raise ConfigError(
            f"controller.quorum.voters={_listed(config.static_voters)}: node {config.node_id} is not among them, and a "
            "static quorum has no other controllers: name it in every node's configuration, or, for a quorum whose "
            "voters are in its log, set controller.quorum.bootstrap.servers instead"
        )
    if not config.is_controller and config.auto_join:
        raise ConfigError("controller.quorum.auto.join.enable=true: only a controller can join the voters")
    if not config.is_controller and config.inter_controller_listener_name != GRPC_LISTENER:
        raise ConfigError(
            f"{INTER_CONTROLLER}={config.inter_controller_listener_name}: an agent asks controllers by "
            f"{GRPC_LISTENER} alone"
        )


def _listed(voters: VoterSet) -> str:
    return ",".join(str(node_id) for node_id in voters.node_ids)


def _check_listeners(config: NodeConfig, security: dict[str, str]) -> None:
    bound = {endpoint.name for endpoint in config.listeners}
    for name in sorted(bound.union(config.controller_listener_names) & security.keys()):
        if security[name] != SUPPORTED_PROTOCOL:
            raise ConfigError(
                f"listener.security.protocol.map: {security[name]} for {name} is not supported: only "
                f"{SUPPORTED_PROTOCOL} is, so far"
            )
    if _HTTP in bound:
        raise ConfigError(f"listeners: nothing would listen at {_HTTP} here: write http.listener={_HTTP}://host:port")
    for endpoint in config.advertised_listeners:
        if endpoint.name not in bound:
            raise ConfigError(f"advertised.listeners: {endpoint} has no listener of that name in listeners")
        if endpoint.host in ("", "0.0.0.0", "::"):
            raise ConfigError(
                f"advertised.listeners: nobody can connect to {endpoint.name}://{endpoint.host}:{endpoint.port}: set "
                "advertised.listeners to an address that other nodes reach"
            )
    if GRPC_LISTENER not in bound:
        raise ConfigError(f"listeners: the listener {GRPC_LISTENER} is missing: add {GRPC_LISTENER}://host:port")
    if not config.is_controller:
        if CONTROLLER_LISTENER in bound:
            raise ConfigError(f"listeners: a broker has no {CONTROLLER_LISTENER} listener: remove it")
        return
    for name in config.controller_listener_names:
        if name not in bound:
            raise ConfigError(f"controller.listener.names: there is no listener {name}: add it to listeners")


def _check_times(config: NodeConfig) -> None:
    if config.heartbeat_interval_ms >= config.session_timeout_ms:
        raise ConfigError(
            f"broker.heartbeat.interval.ms={config.heartbeat_interval_ms}: it must be below "
            f"broker.session.timeout.ms={config.session_timeout_ms}, or every broker is fenced between two heartbeats"
        )
