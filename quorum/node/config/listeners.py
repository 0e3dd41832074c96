"""The listeners of a node's configuration: which protocol each speaks, and the addresses that other nodes get.

Decides: the protocol of each listener (Kafka's at every controller listener but GRPC). It derives a GRPC listener that
the file leaves out, and addresses that are not advertised. Must not know: the other keys.

Sources: KIP-853 (the default of an advertised address is the listener's), KAFKA-20380 (or that of the static voter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, LARGEST_PORT, Endpoint, Voter
from quorum.node.config.values import PROTOCOLS, SUPPORTED_PROTOCOL

INTER_CONTROLLER: Final = "inter.controller.listener.name"
_HTTP: Final = "HTTP"
_EVERY_INTERFACE: Final = ("", "0.0.0.0", "::")


class GivenListeners(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the keys of listeners."""

    bound: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    controller_names: tuple[str, ...]
    inter_controller: str
    is_controller: bool
    own: Voter | None
    """This node's entry in controller.quorum.voters."""


class Listeners(msgspec.Struct, frozen=True, kw_only=True):
    """The listeners of a node, with what their keys leave out."""

    bound: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    controller_names: tuple[str, ...]
    inter_controller: str
    is_controller: bool
    derived_from: Endpoint | None
    """The listener that gave GRPC its host and port, or None if the file names GRPC itself."""

    @property
    def kafka_names(self) -> tuple[str, ...]:
        """The names of the controller listeners that speak Kafka's protocol."""
        return kafka_names(self.controller_names)


def kafka_names(controller_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of controller listeners that speak Kafka's protocol: every name but GRPC."""
    return tuple(name for name in controller_names if name != GRPC_LISTENER)


def controller_names(given: tuple[str, ...], bound: tuple[Endpoint, ...]) -> tuple[str, ...]:
    """Return controller.listener.names; without that key, the listeners that have the usual names."""
    return given or tuple(at.name for at in bound if at.name in (CONTROLLER_LISTENER, GRPC_LISTENER))


def listeners_of(given: GivenListeners, own_host: Callable[[], str] | None) -> Listeners:
    """Complete the listeners of a file.

    A controller without GRPC gets it at the host and next port of its first Kafka listener. `own_host` returns this
    host's name: a controller that binds every interface and advertises no address uses it, as Kafka's does.
    """
    names = controller_names(given.controller_names, given.bound)
    bound, beside = given.bound, None
    if given.is_controller and all(at.name != GRPC_LISTENER for at in bound):
        beside = next((at for at in bound if at.name in kafka_names(names)), None)
        if beside is not None:
            port = beside.port + 1 if beside.port else 0
            bound = (*bound, Endpoint(name=GRPC_LISTENER, host=beside.host, port=port))
            names = (*names, *({GRPC_LISTENER} - set(names)))
    advertised = given.advertised or bound
    if given.is_controller:
        advertised = _advertised_by_controller(bound, given.advertised, names, given.own, beside)
    if given.is_controller and own_host is not None:
        advertised = _reachable(advertised, given.advertised, own_host)
    return Listeners(
        bound=bound,
        advertised=advertised,
        controller_names=names,
        inter_controller=given.inter_controller,
        is_controller=given.is_controller,
        derived_from=beside,
    )


def _advertised_by_controller(
    bound: tuple[Endpoint, ...],
    given: tuple[Endpoint, ...],
    names: tuple[str, ...],
    own: Voter | None,
    beside: Endpoint | None,
) -> tuple[Endpoint, ...]:
    """Return the advertised addresses of a controller. Missing ones are derived as in Kafka.

    `own`: this node's entry in controller.quorum.voters. A listener that binds every interface is advertised at the
    entry's host, and the listener that the entry addresses at its port, too. `beside`: a derived GRPC listener is
    advertised at the host of this listener.
    """
    meant = None if own is None else _meant(own.endpoints[0], bound, names)
    found = {at.name: at for at in given}
    for at in bound:
        if at.name in found:
            continue
        found[at.name] = at
        if beside is not None and at.name == GRPC_LISTENER:
            found[at.name] = Endpoint(name=at.name, host=found[beside.name].host, port=at.port)
        elif own is not None and at.host in _EVERY_INTERFACE:
            entry = own.endpoints[0]
            port = entry.port if at is meant else at.port
            found[at.name] = Endpoint(name=at.name, host=entry.host, port=port)
    return tuple(found.values())


def _reachable(
    advertised: tuple[Endpoint, ...], given: tuple[Endpoint, ...], own_host: Callable[[], str]
) -> tuple[Endpoint, ...]:
    """Return the addresses, with this host's name in place of a derived address that means every interface."""
    if not any(at.host in _EVERY_INTERFACE and at not in given for at in advertised):
        return advertised
    host = own_host()
    return tuple(
        Endpoint(name=at.name, host=host, port=at.port) if at.host in _EVERY_INTERFACE and at not in given else at
        for at in advertised
    )


def _meant(entry: Endpoint, bound: tuple[Endpoint, ...], names: tuple[str, ...]) -> Endpoint | None:
    """Return the listener that a static voter's entry addresses: the one with its port, else the first Kafka
    listener."""
    by_port = next((at for at in bound if at.port == entry.port), None)
    first = next(iter(kafka_names(names)), GRPC_LISTENER)
    return by_port or next((at for at in bound if at.name == first), None)


def protocol_problems(found: Listeners, security: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem for each listener whose security protocol is not supported.

    A listener that the map omits has the protocol of its name, if that is one, as in Kafka's default map.
    """
    for name in sorted({endpoint.name for endpoint in found.bound}.union(found.controller_names)):
        protocol = security.get(name, name if name in PROTOCOLS else SUPPORTED_PROTOCOL)
        if protocol != SUPPORTED_PROTOCOL:
            yield (
                f"listener.security.protocol.map: {protocol} for {name} is not supported: only "
                f"{SUPPORTED_PROTOCOL} is, so far"
            )


def listener_problems(found: Listeners) -> Iterator[str]:
    """Yield a problem if the keys of listeners contradict each other, or if nothing would serve a listener."""
    bound = {endpoint.name for endpoint in found.bound}
    if _HTTP in bound:
        yield f"listeners: nothing would listen at {_HTTP} here: write http.listener={_HTTP}://host:port"
    for endpoint in found.advertised:
        if endpoint.name not in bound:
            yield f"advertised.listeners: {endpoint} has no listener of that name in listeners"
        elif endpoint.host in _EVERY_INTERFACE:
            yield (
                "advertised.listeners: no other node can connect to "
                f"{endpoint.name}://{endpoint.host}:{endpoint.port}: set "
                "advertised.listeners to an address that other nodes reach"
            )
    if GRPC_LISTENER not in bound:
        if_kafkas = "; a broker of Apache Kafka is formatted and started by Kafka's own tools"
        yield (
            f"listeners: the listener {GRPC_LISTENER} is missing: add {GRPC_LISTENER}://host:port"
            f"{'' if found.is_controller else if_kafkas}"
        )
    elif found.derived_from is not None:
        yield from _derived_problems(found, found.derived_from)
    yield from (_controller_problems if found.is_controller else _agent_problems)(found, bound)


def how_derived(beside: Endpoint) -> str:
    """Return the end of a sentence that explains the host and port of a derived GRPC listener."""
    return f"listeners has no {GRPC_LISTENER}, so that it takes the host of {beside} and the next port"


def set_grpc(beside: Endpoint) -> str:
    """Return the advice for a derived GRPC listener that is not possible."""
    return f"add {GRPC_LISTENER}://{beside.host}:PORT to listeners, and {GRPC_LISTENER} to controller.listener.names"


def _derived_problems(found: Listeners, beside: Endpoint) -> Iterator[str]:
    grpc = next(at for at in found.bound if at.name == GRPC_LISTENER)
    taken = next((at for at in found.bound if at is not grpc and at.port == grpc.port and at.port), None)
    if grpc.port > LARGEST_PORT:
        yield f"listeners: {grpc.port} is no port. {how_derived(beside)}: {set_grpc(beside)}"
    elif taken is not None:
        yield f"listeners: port {grpc.port} is that of {taken}. {how_derived(beside)}: {set_grpc(beside)}"


def _controller_problems(found: Listeners, bound: set[str]) -> Iterator[str]:
    for name in found.controller_names:
        if name not in bound:
            yield f"controller.listener.names: there is no listener {name}: add it to listeners"
    for at in found.bound:
        if at.name not in (*found.controller_names, GRPC_LISTENER, _HTTP):
            names = ",".join(found.controller_names)
            yield (
                f"listeners: nothing would listen at {at}: add {at.name} to controller.listener.names (it is "
                f"{names or 'not set'}), or remove it from listeners. A controller has no listeners for clients"
            )
    allowed = (GRPC_LISTENER, *(found.kafka_names or (CONTROLLER_LISTENER,)))
    if found.inter_controller not in allowed:
        yield f"{INTER_CONTROLLER}={found.inter_controller}: write {' or '.join(allowed)}"


def _agent_problems(found: Listeners, bound: set[str]) -> Iterator[str]:
    for name in sorted({CONTROLLER_LISTENER, *found.kafka_names} & bound):
        yield f"listeners: a broker has no {name} listener: remove it"
    if found.inter_controller != GRPC_LISTENER:
        yield f"{INTER_CONTROLLER}={found.inter_controller}: an agent asks controllers by {GRPC_LISTENER} alone"
