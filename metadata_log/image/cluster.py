"""The image's registered brokers and controllers.

Decides: their form in memory. Must not know: the effect of records (`cluster_builder`).
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from metadata_log.ids import DirectoryId, NodeId, Uuid
from metadata_log.image.maps import Map

_SECURITY_PROTOCOLS: Final = range(4)


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An address of a node. `security_protocol` is Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: str
    host: str
    port: int
    security_protocol: int


class _Endpoint(Protocol):
    """An endpoint of a request, a record or an image."""

    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def security_protocol(self) -> int: ...


def listener_fault(endpoint: _Endpoint) -> str | None:
    """Return why a listener is invalid in an image and in a record, or None."""
    if not endpoint.name:
        return f"the listener at {endpoint.host}:{endpoint.port} has no name"
    if endpoint.security_protocol not in _SECURITY_PROTOCOLS:
        return f"listener {endpoint.name!r} has the unknown security protocol {endpoint.security_protocol}"
    return None


class SupportedFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The levels of one feature that a node supports, both bounds included."""

    name: str
    min_version: int
    max_version: int


class BrokerRegistration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A broker after its RegisterBrokerRecord and later changes.

    Listeners and features are sorted by name, directories as in Kafka: their order in a record has no meaning.

    Attributes:
        epoch: the broker epoch, as its RegisterBrokerRecord states it. It is the offset of that record, or in Kafka's
            logs of the record's batch. A process that registers again keeps its epoch, under a later record,
            whose offset no image has.
        cordoned_directories: None if the broker has not reported them (before 4.3, and until it has caught up).
    """

    broker_id: NodeId
    epoch: int
    incarnation_id: Uuid
    listeners: tuple[Listener, ...] = ()
    supported_features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[DirectoryId, ...] = ()
    cordoned_directories: tuple[DirectoryId, ...] | None = None

    def listener(self, name: str) -> Listener | None:
        """Return the listener with this name, or None."""
        return next((listener for listener in self.listeners if listener.name == name), None)

    @property
    def has_uncordoned_directory(self) -> bool:
        """True unless all directories are cordoned (KIP-1066); then no new replica may be placed here."""
        if not self.directories or self.cordoned_directories is None:
            return True
        return not frozenset(self.directories).issubset(self.cordoned_directories)


class ControllerRegistration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A controller after its last RegisterControllerRecord; tuples are sorted by name."""

    controller_id: NodeId
    incarnation_id: Uuid
    listeners: tuple[Listener, ...] = ()
    supported_features: tuple[SupportedFeature, ...] = ()
    zk_migration_ready: bool = False

    def listener(self, name: str) -> Listener | None:
        """Return the listener with this name, or None."""
        return next((listener for listener in self.listeners if listener.name == name), None)


class ClusterImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All registered brokers and controllers, by node id."""

    brokers: Map[NodeId, BrokerRegistration] = Map()
    controllers: Map[NodeId, ControllerRegistration] = Map()

    def broker_epoch(self, broker_id: NodeId) -> int:
        """Return the broker's epoch, or -1 if it is not registered."""
        broker = self.brokers.get(broker_id)
        return -1 if broker is None else broker.epoch
