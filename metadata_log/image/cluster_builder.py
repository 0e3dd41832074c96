"""Replay of the records about brokers, controllers and features.

Decides: what each of them does to a `ClusterImage` and a `FeaturesImage`, by the rules of Kafka's controller. Must not
know: the other parts of an image.
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
    """Takes records one by one; `build` gives the image after them. The image it began with is never touched."""

    __slots__ = ("_brokers", "_controllers", "_image", "changed_brokers", "changed_controllers")

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._brokers = image.brokers
        self._controllers = image.controllers
        self.changed_brokers: set[NodeId] = set()
        self.changed_controllers: set[NodeId] = set()

    def build(self) -> ClusterImage:
        """The image after all records taken."""
        return ClusterImage(brokers=self._brokers, controllers=self._controllers)

    def on_register_broker(self, record: RegisterBrokerRecord) -> None:
        """RegisterBrokerRecord: the registration, in place of any that the broker had."""
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
        """UnregisterBrokerRecord: the registration of this very epoch is gone."""
        self._registered(record.broker_id, record.broker_epoch)
        self._brokers = self._brokers.delete(record.broker_id)
        self.changed_brokers.add(record.broker_id)

    def on_fence_broker(self, record: FenceBrokerRecord) -> None:
        """FenceBrokerRecord, written before 3.3-IV2."""
        self._put(msgspec.structs.replace(self._registered(record.id, record.epoch), fenced=True))

    def on_unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        """UnfenceBrokerRecord, written before 3.3-IV2."""
        self._put(msgspec.structs.replace(self._registered(record.id, record.epoch), fenced=False))

    def on_broker_registration_change(self, record: BrokerRegistrationChangeRecord) -> None:
        """BrokerRegistrationChangeRecord: what it gives is taken over. Empty `log_dirs` give nothing."""
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
        """RegisterControllerRecord: the registration, in place of any that the controller had."""
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
        """UnregisterControllerRecord: the controller has no registration until it registers again (KIP-1312)."""
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
    """Kafka sorts a broker's directories as pairs of signed 64 bit numbers, and writes them so into checkpoints."""
    return tuple(sorted(directories, key=_TWO_LONGS.unpack))
