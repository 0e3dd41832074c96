"""Replay of the records about brokers and controllers.

Decides: the effect of each record on a `ClusterImage`, by the rules of Kafka's controller. Must not know: the other
parts of an image.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

import msgspec

from metadata_log.ids import DirectoryId, NodeId
from metadata_log.image.cluster import (
    BrokerRegistration,
    ClusterImage,
    ControllerRegistration,
    Listener,
    SupportedFeature,
    listener_fault,
)
from metadata_log.image.errors import ImpossibleRecordError
from metadata_log.records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)

_FENCED_BY_CHANGE: Final = {1: True, -1: False, 0: None}
_IN_SHUTDOWN_BY_CHANGE: Final = {1: True, 0: None}
_TWO_LONGS: Final = struct.Struct(">qq")


class ClusterBuilder:
    """Applies records one by one; `build` returns the image after them. The former image never changes."""

    __slots__ = ("_brokers", "_controllers", "_image", "changed_brokers", "changed_controllers")

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._brokers = image.brokers
        self._controllers = image.controllers
        self.changed_brokers: set[NodeId] = set()
        self.changed_controllers: set[NodeId] = set()

    def build(self) -> ClusterImage:
        """Return the image after all records."""
        return ClusterImage(brokers=self._brokers, controllers=self._controllers)

    def on_register_broker(self, record: RegisterBrokerRecord) -> None:
        """Apply RegisterBrokerRecord: add or replace the broker's registration."""
        self._put(
            BrokerRegistration(
                broker_id=record.broker_id,
                epoch=record.broker_epoch,
                incarnation_id=record.incarnation_id,
                listeners=_listeners(record.end_points),
                supported_features=_features(record.features),
                rack=record.rack,
                fenced=record.fenced,
                in_controlled_shutdown=record.in_controlled_shutdown,
                is_migrating_zk_broker=record.is_migrating_zk_broker,
                directories=_in_kafkas_order(record.log_dirs),
                cordoned_directories=record.cordoned_log_dirs,
            )
        )

    def on_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        """Apply UnregisterBrokerRecord; raise ImpossibleRecordError if no registration has that epoch."""
        self._registered(record.broker_id, record.broker_epoch)
        self._brokers = self._brokers.delete(record.broker_id)
        self.changed_brokers.add(record.broker_id)

    def on_fence_broker(self, record: FenceBrokerRecord) -> None:
        """Apply FenceBrokerRecord, which controllers wrote before 3.3-IV2."""
        self._put(msgspec.structs.replace(self._registered(record.id, record.epoch), fenced=True))

    def on_unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        """Apply UnfenceBrokerRecord, which controllers wrote before 3.3-IV2."""
        self._put(msgspec.structs.replace(self._registered(record.id, record.epoch), fenced=False))

    def on_broker_registration_change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Apply BrokerRegistrationChangeRecord: replace the fields that it has. Empty `log_dirs` change nothing."""
        broker = self._registered(record.broker_id, record.broker_epoch)
        if record.fenced not in _FENCED_BY_CHANGE:
            raise ImpossibleRecordError(f"{record.fenced} is no change of fencing")
        if record.in_controlled_shutdown not in _IN_SHUTDOWN_BY_CHANGE:
            raise ImpossibleRecordError(f"{record.in_controlled_shutdown} is no change of the controlled shutdown")
        fenced = _FENCED_BY_CHANGE[record.fenced]
        in_shutdown = _IN_SHUTDOWN_BY_CHANGE[record.in_controlled_shutdown]
        changed = msgspec.structs.replace(
            broker,
            fenced=broker.fenced if fenced is None else fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown if in_shutdown is None else in_shutdown,
            directories=_in_kafkas_order(record.log_dirs) if record.log_dirs else broker.directories,
            cordoned_directories=(
                broker.cordoned_directories if record.cordoned_log_dirs is None else record.cordoned_log_dirs
            ),
        )
        if changed != broker:
            self._put(changed)

    def on_register_controller(self, record: RegisterControllerRecord) -> None:
        """Apply RegisterControllerRecord: add or replace the controller's registration."""
        self._controllers = self._controllers.set(
            record.controller_id,
            ControllerRegistration(
                controller_id=record.controller_id,
                incarnation_id=record.incarnation_id,
                listeners=_listeners(record.end_points),
                supported_features=_features(record.features),
                zk_migration_ready=record.zk_migration_ready,
            ),
        )
        self.changed_controllers.add(record.controller_id)

    def on_unregister_controller(self, record: UnregisterControllerRecord) -> None:
        """Apply UnregisterControllerRecord (KIP-1312); raise ImpossibleRecordError if it is not registered."""
        if record.controller_id not in self._controllers:
            raise ImpossibleRecordError(f"controller {record.controller_id} is not registered")
        self._controllers = self._controllers.delete(record.controller_id)
        self.changed_controllers.add(record.controller_id)

    def _put(self, broker: BrokerRegistration) -> None:
        self._brokers = self._brokers.set(broker.broker_id, broker)
        self.changed_brokers.add(broker.broker_id)

    def _registered(self, broker_id: NodeId, epoch: int) -> BrokerRegistration:
        broker = self._brokers.get(broker_id)
        if broker is None:
            raise ImpossibleRecordError(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise ImpossibleRecordError(
                f"it is for epoch {epoch} of broker {broker_id}, which is registered with epoch {broker.epoch}"
            )
        return broker


def _listeners(endpoints: Iterable[BrokerEndpoint | ControllerEndpoint]) -> tuple[Listener, ...]:
    by_name: dict[str, Listener] = {}
    for endpoint in endpoints:
        fault = listener_fault(endpoint)
        if fault is not None:
            raise ImpossibleRecordError(fault)
        by_name[endpoint.name] = Listener(
            name=endpoint.name,
            host=endpoint.host,
            port=endpoint.port,
            security_protocol=endpoint.security_protocol,
        )
    return tuple(by_name[name] for name in sorted(by_name))


def _features(features: Iterable[BrokerFeature | ControllerFeature]) -> tuple[SupportedFeature, ...]:
    by_name = {
        feature.name: SupportedFeature(
            name=feature.name,
            min_version=feature.min_supported_version,
            max_version=feature.max_supported_version,
        )
        for feature in features
    }
    return tuple(by_name[name] for name in sorted(by_name))


def _in_kafkas_order(directories: tuple[DirectoryId, ...]) -> tuple[DirectoryId, ...]:
    """Return the directories in Kafka's order: as pairs of signed 64-bit numbers, as in its checkpoints."""
    return tuple(sorted(directories, key=_TWO_LONGS.unpack))
