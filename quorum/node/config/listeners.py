"""The listeners of a node's configuration: which protocol each speaks, and the addresses that other nodes get.

Decides: that every controller listener but GRPC speaks Kafka's protocol, and what its address is where none is
advertised. Must not know: the other keys.

Source: KIP-853 (an address that is not advertised is the listener's), KAFKA-20380 (or that of the static voter).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, Endpoint, Voter
from quorum.node.config.values import SUPPORTED_PROTOCOL, ConfigError

INTER_CONTROLLER: Final = "inter.controller.listener.name"
_HTTP: Final = "HTTP"
_EVERY_INTERFACE: Final = ("", "0.0.0.0", "::")


class Listeners(msgspec.Struct, frozen=True, kw_only=True):
    """What the keys of listeners say together."""

    bound: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    controller_names: tuple[str, ...]
    inter_controller: str
    is_controller: bool

    @property
    def kafka_names(self) -> tuple[str, ...]:
        """The controller listeners that speak Kafka's protocol."""
        return kafka_names(self.controller_names)


def kafka_names(controller_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of controller listeners that speak Kafka's protocol: every name but GRPC."""
    return tuple(name for name in controller_names if name != GRPC_LISTENER)


def controller_names(given: tuple[str, ...], bound: tuple[Endpoint, ...]) -> tuple[str, ...]:
    """Return controller.listener.names; without that key, the listeners that have the usual names."""
    return given or tuple(at.name for at in bound if at.name in (CONTROLLER_LISTENER, GRPC_LISTENER))


def advertised_by_controller(
    bound: tuple[Endpoint, ...], given: tuple[Endpoint, ...], names: tuple[str, ...], own: Voter | None
) -> tuple[Endpoint, ...]:
    """Return the addresses of a controller, as Kafka derives those that advertised.listeners leaves out.

    `own`: this node's entry in controller.quorum.voters. A listener that binds every interface is reached at its host,
    the one that the entry means at its port, too.
    """
    meant = None if own is None else _meant(own.endpoints[0], bound, names)
    found = {at.name: at for at in given}
    for at in bound:
        if at.name in found:
            continue
        found[at.name] = at
        if own is not None and at.host in _EVERY_INTERFACE:
            entry = own.endpoints[0]
            port = entry.port if at is meant else at.port
            found[at.name] = Endpoint(name=at.name, host=entry.host, port=port)
    return tuple(found.values())


def _meant(entry: Endpoint, bound: tuple[Endpoint, ...], names: tuple[str, ...]) -> Endpoint | None:
    """Return the listener that a static voter's entry addresses: the one with its port, else the first for Kafka's."""
    by_port = next((at for at in bound if at.port == entry.port), None)
    first = next(iter(kafka_names(names)), GRPC_LISTENER)
    return by_port or next((at for at in bound if at.name == first), None)


def check_listeners(found: Listeners, security: Mapping[str, str]) -> None:
    """Raise ConfigError where the keys of listeners contradict each other, or nothing would listen at one."""
    bound = {endpoint.name for endpoint in found.bound}
    for name in sorted(bound.union(found.controller_names) & security.keys()):
        if security[name] != SUPPORTED_PROTOCOL:
            raise ConfigError(
                f"listener.security.protocol.map: {security[name]} for {name} is not supported: only "
                f"{SUPPORTED_PROTOCOL} is, so far"
            )
    if _HTTP in bound:
        raise ConfigError(f"listeners: nothing would listen at {_HTTP} here: write http.listener={_HTTP}://host:port")
    for endpoint in found.advertised:
        if endpoint.name not in bound:
            raise ConfigError(f"advertised.listeners: {endpoint} has no listener of that name in listeners")
        if endpoint.host in _EVERY_INTERFACE:
            raise ConfigError(
                f"advertised.listeners: nobody can connect to {endpoint.name}://{endpoint.host}:{endpoint.port}: set "
                "advertised.listeners to an address that other nodes reach"
            )
    if GRPC_LISTENER not in bound:
        raise ConfigError(f"listeners: the listener {GRPC_LISTENER} is missing: add {GRPC_LISTENER}://host:port")
    if found.is_controller:
        _check_controllers(found, bound)
    else:
        _check_agents(found, bound)


def _check_controllers(found: Listeners, bound: set[str]) -> None:
    for name in found.controller_names:
        if name not in bound:
            raise ConfigError(f"controller.listener.names: there is no listener {name}: add it to listeners")
    for at in found.bound:
        if at.name not in (*found.controller_names, GRPC_LISTENER):
            names = ",".join(found.controller_names)
            raise ConfigError(
                f"listeners: nothing would listen at {at}: add {at.name} to controller.listener.names (it is "
                f"{names or 'not set'}), or remove it from listeners. A controller has no listeners for clients"
            )
    allowed = (GRPC_LISTENER, *(found.kafka_names or (CONTROLLER_LISTENER,)))
    if found.inter_controller not in allowed:
        raise ConfigError(f"{INTER_CONTROLLER}={found.inter_controller}: write {' or '.join(allowed)}")


def _check_agents(found: Listeners, bound: set[str]) -> None:
    for name in sorted({CONTROLLER_LISTENER, *found.kafka_names} & bound):
        raise ConfigError(f"listeners: a broker has no {name} listener: remove it")
    if found.inter_controller != GRPC_LISTENER:
        raise ConfigError(
            f"{INTER_CONTROLLER}={found.inter_controller}: an agent asks controllers by {GRPC_LISTENER} alone"
        )
