"""Conversion of an image's entry to the single record that describes it.

Decides: which data a record of the finalized level can have, and the error for other data. Must not know: the order of
records (`checkpoint`).
"""

from __future__ import annotations

from typing import Final, TypeVar

from metadata_log.ids import MIGRATING_DIRECTORY_ID, TopicId
from metadata_log.image.cluster import BrokerRegistration, ControllerRegistration, Listener, SupportedFeature
from metadata_log.image.errors import UnwritableMetadataError
from metadata_log.image.topics import PartitionImage
from metadata_log.records import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from metadata_log.records.levels import (
    CORDONED_DIRECTORIES_LEVEL,
    DIRECTORIES_LEVEL,
    ELR_LEVEL,
    plain_level_name,
    write_version,
)

_ZK_MIGRATION_VERSION: Final = 2
"""The first version of RegisterBrokerRecord with `is_migrating_zk_broker`."""

_EndpointT = TypeVar("_EndpointT", BrokerEndpoint, ControllerEndpoint)
_FeatureT = TypeVar("_FeatureT", BrokerFeature, ControllerFeature)


def partition_record(topic_id: TopicId, partition: PartitionImage, level: int, *, with_elr: bool) -> PartitionRecord:
    """Return the record that describes a partition, with its ELR only if that feature is on (`with_elr`), as in Kafka.

    Raises:
        UnwritableMetadataError: the partition has directories or an ELR, and the level has no field for them.
    """
    elr, last_known_elr = (partition.elr, partition.last_known_elr) if with_elr else ((), ())
    if level < ELR_LEVEL and (elr or last_known_elr):
        raise unwritable(level, f"the eligible leader replicas of partition {partition.partition_id}")
    directories = partition.directories
    if level < DIRECTORIES_LEVEL:
        if any(directory != MIGRATING_DIRECTORY_ID for directory in directories):
            raise unwritable(level, f"the directories of partition {partition.partition_id}")
        directories = ()
    return PartitionRecord(
        partition_id=partition.partition_id,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing,
        adding_replicas=partition.adding,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=directories,
        eligible_leader_replicas=elr or None,
        last_known_elr=last_known_elr or None,
    )


def register_broker_record(broker: BrokerRegistration, level: int) -> RegisterBrokerRecord:
    """Return the record that describes a broker's registration.

    Raises:
        UnwritableMetadataError: the level has no field for a part of the registration.
    """
    broker_id = broker.broker_id
    if broker.is_migrating_zk_broker and write_version(RegisterBrokerRecord, level) < _ZK_MIGRATION_VERSION:
        raise unwritable(level, f"that broker {broker_id} migrates from ZooKeeper")
    if broker.directories and level < DIRECTORIES_LEVEL:
        raise unwritable(level, f"the directories of broker {broker_id}")
    if broker.cordoned_directories is not None and level < CORDONED_DIRECTORIES_LEVEL:
        raise unwritable(level, f"the cordoned directories of broker {broker_id}")
    return RegisterBrokerRecord(
        broker_id=broker_id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=_endpoints(broker.listeners, BrokerEndpoint),
        features=_features(broker.supported_features, BrokerFeature),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories,
        cordoned_log_dirs=broker.cordoned_directories,
    )


def register_controller_record(controller: ControllerRegistration) -> RegisterControllerRecord:
    """Return the record that describes a controller's registration."""
    return RegisterControllerRecord(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=_endpoints(controller.listeners, ControllerEndpoint),
        features=_features(controller.supported_features, ControllerFeature),
    )


def unwritable(level: int, what: str) -> UnwritableMetadataError:
    """Return the error for data without a record at this level."""
    return UnwritableMetadataError(
        f"metadata.version {plain_level_name(level)} has no record for {what}: raise the level to keep it"
    )


def _endpoints(listeners: tuple[Listener, ...], kind: type[_EndpointT]) -> tuple[_EndpointT, ...]:
    return tuple(
        kind(name=listener.name, host=listener.host, port=listener.port, security_protocol=listener.security_protocol)
        for listener in listeners
    )


def _features(features: tuple[SupportedFeature, ...], kind: type[_FeatureT]) -> tuple[_FeatureT, ...]:
    return tuple(
        kind(
            name=feature.name,
            min_supported_version=feature.min_version,
            max_supported_version=feature.max_version,
        )
        for feature in features
    )
