"""The configuration of a controller or an agent, in Kafka's key names.

Decides: which keys there are, what their values may be, and what must fit together. Every fault is one `ConfigError`
that names the key, its value and what to do. Must not know: what the settings are used for.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from metadata_log.ids import NodeId
from metadata_log.storage.file_log import LogConfig
from metadata_log.voters import Endpoint, VoterSet
from quorum.controller.config import Setting
from quorum.controller.configs.defaults import BOOLEAN, LONG, PASSWORD, STRING
from quorum.controller.tokens import TokenSettings
from quorum.node.config.door_limits import DOOR_FIELDS, DoorLimits
from quorum.node.config.keys import BYTES_BETWEEN_SNAPSHOTS, KEYS, LOG_DIRS, PROCESS_ROLES, Key
from quorum.node.config.listeners import (
    INTER_CONTROLLER,
    Listeners,
    advertised_by_controller,
    check_listeners,
    controller_names,
    kafka_names,
)
from quorum.node.config.properties import PropertiesError, parse_properties
from quorum.node.config.values import ConfigError, boolean
from quorum.node.core.retention import SnapshotConfig
from quorum.raft.config import RaftConfig

__all__ = [
    "BROKER_ROLE",
    "CONTROLLER_ROLE",
    "INTER_CONTROLLER",
    "KEYS",
    "NodeConfig",
    "config_of",
    "load_config",
]

CONTROLLER_ROLE: Final = "controller"
BROKER_ROLE: Final = "broker"
_ROLES: Final = frozenset({CONTROLLER_ROLE, BROKER_ROLE})
_FETCH_MAX_WAIT_MS: Final = 500
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


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A checked configuration. Times are in ms, sizes in bytes; each field's key stands in `KEYS`."""

    roles: tuple[str, ...]
    node_id: int
    listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    """What others are told: as configured, else the listeners themselves."""
    controller_listener_names: tuple[str, ...]
    inter_controller_listener_name: str
    """Where this controller asks others that have both: GRPC, or a listener that speaks Kafka's protocol."""
    inter_broker_listener_name: str
    rack: str | None
    log_dirs: tuple[str, ...]
    """Of `log.dirs`, else of `log.dir`."""
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
    max_idle_interval_ms: int
    """0: an idle controller writes no NoOps."""
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
    def kafka_listener_names(self) -> tuple[str, ...]:
        """The controller listeners that speak Kafka's protocol; the first is how other controllers are asked by it."""
        return kafka_names(self.controller_listener_names)

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
        _refuse_combined(properties)
        values = _parsed(properties)
        return _assembled({**values, "settings": _settings(properties)})
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error


def _refuse_combined(properties: Mapping[str, str]) -> None:
    """Refuse Kafka's combined mode before anything else of such a file, which is written for a broker too."""
    given = properties.get(PROCESS_ROLES, "")
    if {part.strip() for part in given.split(",")} == _ROLES:
        raise ConfigError(
            f"{PROCESS_ROLES}={given}: a node of both roles is not supported. Run two processes with a file each: "
            "Kafka's broker with this file, process.roles=broker and its node.id; and this controller, with "
            "process.roles=controller, a node.id that no broker has, another log.dirs, and the listeners "
            "CONTROLLER and GRPC. Take the controller listener out of the broker's listeners, and let its "
            "controller.quorum.bootstrap.servers name the controllers' CONTROLLER listeners"
        )


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
    log_dirs = values["log_dirs"] or values["log_dir"]
    if not log_dirs:
        raise ConfigError(f"{LOG_DIRS} is missing: it must be set")
    del values["log_dir"]
    names = controller_names(values["controller_listener_names"], values["listeners"])
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
                **snapshots, or_as_the_newest=values["settings"][BYTES_BETWEEN_SNAPSHOTS].value is None
            ),
            "rack": values["rack"] or None,
            "log_dirs": log_dirs,
            "metadata_log_dir": values["metadata_log_dir"] or log_dirs[0],
            "bootstrap_servers": values["bootstrap_servers"]
            or tuple(at for voter in values["static_voters"] for at in voter.endpoints),
            "advertised_listeners": _advertised(values, names),
            "controller_listener_names": names,
        }
    )
    _check_roles(config)
    found = Listeners(
        bound=config.listeners,
        advertised=config.advertised_listeners,
        controller_names=names,
        inter_controller=config.inter_controller_listener_name,
        is_controller=config.is_controller,
    )
    check_listeners(found, security)
    _check_times(config)
    return config


def _advertised(values: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Endpoint, ...]:
    bound: tuple[Endpoint, ...] = values["listeners"]
    given: tuple[Endpoint, ...] = values["advertised_listeners"]
    if CONTROLLER_ROLE not in values["roles"]:
        return given or bound
    own = values["static_voters"].get(NodeId(values["node_id"]))
    return advertised_by_controller(bound, given, names, own)


def _check_roles(config: NodeConfig) -> None:
    for role in config.roles:
        if role not in _ROLES:
            raise ConfigError(
                f"process.roles={','.join(config.roles)}: {role!r} is no role: write controller or broker"
            )
    if len(config.roles) != 1:
        raise ConfigError(f"{PROCESS_ROLES}={','.join(config.roles)}: a node has one role here: write one of the two")
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


def _listed(voters: VoterSet) -> str:
    return ",".join(str(node_id) for node_id in voters.node_ids)


def _check_times(config: NodeConfig) -> None:
    if config.heartbeat_interval_ms >= config.session_timeout_ms:
        raise ConfigError(
            f"broker.heartbeat.interval.ms={config.heartbeat_interval_ms}: it must be below "
            f"broker.session.timeout.ms={config.session_timeout_ms}, or every broker is fenced between two heartbeats"
        )
