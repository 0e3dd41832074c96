"""The configuration of a controller or an agent, in Kafka's key names.

Decides: which values fit together, and which keys are errors, warnings or merely unused. One `ConfigError` has all
errors of a file. Each names the key, its value and the remedy. Must not know: the use of the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from metadata_log.ids import NodeId
from metadata_log.storage.file_log import LogConfig
from metadata_log.voters import GRPC_LISTENER, Endpoint, VoterSet
from quorum.controller.config import Setting
from quorum.controller.configs.defaults import BOOLEAN, LONG, PASSWORD, STRING
from quorum.controller.tokens import TokenSettings
from quorum.node.config.door_limits import DOOR_FIELDS, DoorLimits
from quorum.node.config.keys import ALIASES, BYTES_BETWEEN_SNAPSHOTS, KEYS, LOG_DIRS, PROCESS_ROLES, Key
from quorum.node.config.known_keys import is_strict, missing_key, misspelled, sort_keys
from quorum.node.config.listeners import (
    INTER_CONTROLLER,
    GivenListeners,
    Listeners,
    how_derived,
    kafka_names,
    listener_problems,
    listeners_of,
    protocol_problems,
)
from quorum.node.config.properties import Properties, PropertiesError, as_warning, read_properties
from quorum.node.config.providers import is_provider_key
from quorum.node.config.shown import Shown
from quorum.node.config.together import BROKER_ROLE, CONTROLLER_ROLE, contradictions, other_role
from quorum.node.config.values import ConfigError, boolean
from quorum.node.core.retention import SnapshotConfig
from quorum.plain_text import on_one_line
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

_FETCH_MAX_WAIT_MS: Final = 500
_SNAPSHOT_FIELDS: Final = ("max_new_record_bytes", "max_interval_ms", "retention_bytes", "retention_ms")
_TOKEN_FIELDS: Final = ("max_lifetime_ms", "expiry_time_ms", "expiry_check_interval_ms")
_LISTENER_KEYS: Final = frozenset(
    {PROCESS_ROLES, "listeners", "advertised.listeners", "controller.listener.names", "controller.quorum.voters"}
)
_RAFT_FIELDS: Final = (
    "election_timeout_ms",
    "election_backoff_max_ms",
    "fetch_timeout_ms",
    "request_timeout_ms",
    "retry_backoff_ms",
    "fetch_snapshot_max_bytes",
)


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A checked configuration. Times are in ms, sizes in bytes; `KEYS` has each field's key."""

    roles: tuple[str, ...]
    node_id: int
    listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    """The addresses that other nodes get: as configured, else the listeners themselves."""
    controller_listener_names: tuple[str, ...]
    inter_controller_listener_name: str
    """The listener of other controllers that this one connects to if they have both: GRPC, or one of Kafka's
    protocol."""
    inter_broker_listener_name: str
    rack: str | None
    log_dirs: tuple[str, ...]
    """The value of `log.dirs`, else of `log.dir`."""
    metadata_log_dir: str
    """The directory that holds `__cluster_metadata-0`: one of `log.dirs`, or another."""
    bootstrap_servers: tuple[Endpoint, ...]
    """The configured servers, else the endpoints of the static voters."""
    static_voters: VoterSet
    """The voters of kraft.version 0. They have no effect once the log holds voters."""
    auto_join: bool
    raft: RaftConfig
    log: LogConfig
    snapshots: SnapshotConfig
    max_idle_interval_ms: int
    """With 0, an idle controller writes no NoOps."""
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
    """All keys, each with its given value."""
    tokens: TokenSettings | None
    """None if there is no secret key: delegation tokens are then disabled."""
    authorizer_class_name: str
    """The StandardAuthorizer's name, or empty: then every principal may do everything."""
    super_users: frozenset[str]
    allow_everyone_if_no_acl: bool
    delete_topic_delay_ms: int
    http_listener: Endpoint | None
    doors: DoorLimits
    grpc_derived_from: Endpoint | None = None
    """The listener that gave GRPC its host and port, or None if the file names GRPC itself."""
    unused_keys: tuple[str, ...] = ()
    """Given keys that Kafka knows but this software does not use."""
    warnings: tuple[str, ...] = ()
    """Sentences about values that the operator probably did not intend."""
    notes: tuple[str, ...] = ()
    """Sentences about values that this node derived, because the file leaves them out."""

    @property
    def is_controller(self) -> bool:
        """True if this node may vote and lead."""
        return CONTROLLER_ROLE in self.roles

    def listener(self, name: str) -> Endpoint | None:
        """Return the address at which this node binds that listener, or None."""
        return next((endpoint for endpoint in self.listeners if endpoint.name == name), None)

    @property
    def kafka_listener_names(self) -> tuple[str, ...]:
        """The names of the controller listeners that speak Kafka's protocol. Requests to other controllers use the
        first."""
        return kafka_names(self.controller_listener_names)

    @property
    def controller_endpoints(self) -> tuple[Endpoint, ...]:
        """This node's advertised controller listeners, for the voter set and its registration."""
        names = self.controller_listener_names
        return tuple(endpoint for endpoint in self.advertised_listeners if endpoint.name in names)


def load_config(
    path: str | Path, overrides: Mapping[str, str] | None = None, *, strict: bool = False, role: str | None = None
) -> NodeConfig:
    """Read and check a configuration file.

    Args:
        overrides: values that replace those of the file, by key.
        strict: every unknown key is an error.
        role: the only role that the file may have; None: any.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong.
    """
    try:
        found = read_properties(path)
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror or error}") from error
    except PropertiesError as error:
        raise ConfigError(str(error)) from error
    found = _overridden(found, overrides or {})
    return _config_of(found, source=str(path), strict=strict, role=role, own_host=_own_host)


def _own_host() -> str:
    from socket import getfqdn  # noqa: PLC0415  (only for a controller that listens at every address)

    return getfqdn()


def config_of(
    properties: Mapping[str, str], *, source: str = "configuration", strict: bool = False, role: str | None = None
) -> NodeConfig:
    """Check keys and values, and that they fit together; `strict` and `role` as for `load_config`.

    Raises:
        ConfigError: it names the source, the keys, the values and the remedy.
    """
    return _config_of(Properties(values=properties), source=source, strict=strict, role=role, own_host=None)


def _config_of(
    found: Properties, *, source: str, strict: bool, role: str | None, own_host: Callable[[], str] | None
) -> NodeConfig:
    given, written = _with_aliases(found.values), _with_aliases(found.written)
    shown = Shown(given, written)
    whose = other_role(given, shown, role)
    if whose is not None:
        raise ConfigError(f"{source}: {whose}")
    near = _misspelled(given)
    keys = sort_keys((name for name in given if name not in near.values()), (*KEYS, *ALIASES), strict=strict)
    values, wrong = _parsed(given, {**found.errors, **found.broken}, shown, near)
    problems = [*keys.errors, *wrong.values()]
    problems += map(shown.masked, contradictions(given, values, wrong, near.get(LOG_DIRS)))
    listeners: Listeners | None = None
    if not wrong.keys() & _LISTENER_KEYS:
        listeners = _listeners(values, own_host)
        problems += map(shown.masked, listener_problems(listeners))
        if "listener.security.protocol.map" not in wrong:
            problems += map(shown.masked, protocol_problems(listeners, values["security_protocols"]))
    unread = {name: why for name, why in found.broken.items() if name not in KEYS}
    problems += (why for name, why in unread.items() if strict or is_strict(name))
    ignored = (why for name, why in unread.items() if not strict and not is_strict(name))
    warnings = tuple(map(on_one_line, (*found.warnings, *ignored, *keys.warnings)))
    if problems or listeners is None:
        raise ConfigError(_said(source, problems, warnings))
    config = _assembled({**values, "settings": _settings(given)}, listeners)
    return msgspec.structs.replace(
        config,
        unused_keys=tuple(map(on_one_line, keys.unused)),
        warnings=warnings,
        notes=tuple(_notes(given, shown, values, config)),
    )


def _overridden(found: Properties, overrides: Mapping[str, str]) -> Properties:
    """Return the properties with the overrides. What the file says about an overridden key is discarded."""

    def others(said: Mapping[str, str]) -> dict[str, str]:
        return {key: text for key, text in said.items() if key not in overrides}

    return msgspec.structs.replace(
        found,
        values={**found.values, **overrides},
        written=others(found.written),
        errors=others(found.errors),
        broken=others(found.broken),
    )


def _with_aliases(said: Mapping[str, str]) -> dict[str, str]:
    """Return the map with each alias replaced by its key. If both are given, the key's own entry counts."""
    return {**{name: said[alias] for alias, name in ALIASES.items() if alias in said}, **said}


def _misspelled(given: Mapping[str, str]) -> dict[str, str]:
    """Return for each missing key the given key that was probably meant, if any."""
    missing = [name for name, key in KEYS.items() if key.default is None and not given.get(name)]
    if not given.get(LOG_DIRS) and not given.get("log.dir"):
        missing.append(LOG_DIRS)
    found = ((name, misspelled(name, given)) for name in missing)
    return {name: near for name, near in found if near is not None}


def _said(source: str, problems: list[str], warnings: Sequence[str]) -> str:
    """Return one sentence for a single problem, otherwise a line for each problem and then for each warning."""
    lines = [on_one_line(problem) for problem in problems]
    if len(lines) == 1 and not warnings:
        return f"{source}: {lines[0]}"
    counts = [_counted(some, kind) for some, kind in ((lines, "error"), (warnings, "warning")) if some]
    return "\n  ".join([f"{source} has {' and '.join(counts)}:", *lines, *map(as_warning, warnings)])


def _counted(some: Sequence[str], kind: str) -> str:
    return f"{len(some)} {kind}{'' if len(some) == 1 else 's'}"


def _parsed(
    given: Mapping[str, str], unresolved: Mapping[str, str], shown: Shown, near: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the value of each field, and the errors by key. A field with an error has its default, or none."""
    values: dict[str, Any] = {"roles": (), "node_id": 0, "listeners": ()}
    wrong = {name: why for name, why in unresolved.items() if is_provider_key(name)}
    for name, key in KEYS.items():
        text = given.get(name, key.default)
        if key.default is not None:
            values[key.field] = key.parse(key.default)
        if name in unresolved:
            wrong[name] = unresolved[name]
        elif text is None or (key.default is None and not text):
            wrong[name] = missing_key(name, near.get(name))
        else:
            try:
                value = key.parse(text)
                if key.most is not None and isinstance(value, int):
                    value = min(value, key.most)
                values[key.field] = value
            except ValueError as error:
                wrong[name] = shown.wrong(name, error)
    return values, wrong


def _settings(given: Mapping[str, str]) -> dict[str, Setting]:
    """Return the settings that DescribeConfigs reports for this node's keys."""

    def kind(key: Key) -> int:
        if key.field == "token_secret_key":
            return PASSWORD
        if key.parse is boolean:
            return BOOLEAN
        return LONG if (key.default or "").lstrip("-").isdecimal() else STRING

    return {
        name: Setting(value=given.get(name), default=key.default or None, kind=kind(key)) for name, key in KEYS.items()
    }


def _listeners(values: Mapping[str, Any], own_host: Callable[[], str] | None) -> Listeners:
    return listeners_of(
        GivenListeners(
            bound=values["listeners"],
            advertised=values["advertised_listeners"],
            controller_names=values["controller_listener_names"],
            inter_controller=values["inter_controller_listener_name"],
            is_controller=CONTROLLER_ROLE in values["roles"],
            own=values["static_voters"].get(NodeId(values["node_id"])),
        ),
        own_host,
    )


def _assembled(values: dict[str, Any], listeners: Listeners) -> NodeConfig:
    raft = {field: values.pop(field) for field in _RAFT_FIELDS}
    snapshots = {field: values.pop(field) for field in _SNAPSHOT_FIELDS}
    doors = {field: values.pop(field) for field in DOOR_FIELDS}
    segment_bytes = values.pop("segment_bytes")
    log = LogConfig(
        segment_bytes=values.pop("internal_segment_bytes") or segment_bytes, segment_ms=values.pop("segment_ms")
    )
    log_dirs = values["log_dirs"] or values["log_dir"]
    del values["log_dir"], values["security_protocols"]
    secret_key = values.pop("token_secret_key")
    tokens = {field: values.pop(f"token_{field}") for field in _TOKEN_FIELDS}
    return NodeConfig(
        **{
            **values,
            "doors": DoorLimits(**doors),
            "raft": RaftConfig(**raft, fetch_max_wait_ms=min(_FETCH_MAX_WAIT_MS, raft["fetch_timeout_ms"] // 2)),
            "log": log,
            "tokens": TokenSettings(secret_key=secret_key.encode(errors="replace"), **tokens) if secret_key else None,
            "snapshots": SnapshotConfig(
                **snapshots, or_as_the_newest=values["settings"][BYTES_BETWEEN_SNAPSHOTS].value is None
            ),
            "rack": values["rack"] or None,
            "log_dirs": log_dirs,
            "metadata_log_dir": values["metadata_log_dir"] or log_dirs[0],
            "bootstrap_servers": values["bootstrap_servers"]
            or tuple(at for voter in values["static_voters"] for at in voter.endpoints),
            "listeners": listeners.bound,
            "advertised_listeners": listeners.advertised,
            "controller_listener_names": listeners.controller_names,
            "grpc_derived_from": listeners.derived_from,
        }
    )


def _notes(given: Mapping[str, str], shown: Shown, values: Mapping[str, Any], config: NodeConfig) -> Iterator[str]:
    """Yield a sentence for each value that this node derived or changed."""
    for name, key in KEYS.items():
        if key.most is not None and name in given and int(given[name]) > key.most:
            yield f"{shown.pair(name)} counts as {key.most}: this node takes no more"
    if config.grpc_derived_from is not None:
        grpc = next(at for at in config.listeners if at.name == GRPC_LISTENER)
        yield f"listens at {grpc}: {how_derived(config.grpc_derived_from)}"
    if config.is_controller:
        named = {*values["listeners"], *values["advertised_listeners"], *config.listeners}
        derived = [str(at) for at in config.advertised_listeners if at not in named]
        if derived:
            yield f"is advertised at {', '.join(derived)}: advertised.listeners does not say it"
