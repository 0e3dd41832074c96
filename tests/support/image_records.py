"""Short makers of records and images, for tests that care about one field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from metadata_log.ids import DirectoryId, NodeId, TopicId, Uuid
from metadata_log.image import ImageBuilder, MetadataImage
from metadata_log.records import (
    BrokerEndpoint,
    BrokerFeature,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)


def topic_id(number: int) -> TopicId:
    """Return a topic id that is not reserved."""
    return TopicId((number + 1_000).to_bytes(16, "big"))


def directory(number: int) -> DirectoryId:
    """Return a directory id that is not reserved."""
    return DirectoryId((number + 100_000).to_bytes(16, "big"))


def uuid(number: int) -> Uuid:
    """Return an id of another kind."""
    return Uuid((number + 1).to_bytes(16, "big"))


def nodes(*numbers: int) -> tuple[NodeId, ...]:
    """Return broker ids."""
    return tuple(map(NodeId, numbers))


def topic(number: int, name: str | None = None) -> TopicRecord:
    """Return a TopicRecord; the default name is `t<number>`."""
    return TopicRecord(name=name or f"t{number}", topic_id=topic_id(number))


def partition(number: int, index: int = 0, **fields: Any) -> PartitionRecord:
    """Return a PartitionRecord on brokers 1, 2, 3, each with a directory id."""
    record = PartitionRecord(
        partition_id=index,
        topic_id=topic_id(number),
        replicas=nodes(1, 2, 3),
        isr=nodes(1, 2, 3),
        removing_replicas=(),
        adding_replicas=(),
        leader=NodeId(1),
        leader_epoch=0,
        partition_epoch=0,
        directories=(directory(1), directory(2), directory(3)),
    )
    return msgspec.structs.replace(record, **fields)


def change(number: int, index: int = 0, **fields: Any) -> PartitionChangeRecord:
    """Return a PartitionChangeRecord."""
    return PartitionChangeRecord(partition_id=index, topic_id=topic_id(number), **fields)


def config(resource: str, name: str, value: str | None, kind: int = 2) -> ConfigRecord:
    """Return a ConfigRecord, of a topic unless `kind` differs."""
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def level(name: str, feature_level: int) -> FeatureLevelRecord:
    """Return a FeatureLevelRecord."""
    return FeatureLevelRecord(name=name, feature_level=feature_level)


def broker(number: int, epoch: int = 5, **fields: Any) -> RegisterBrokerRecord:
    """Return a RegisterBrokerRecord with one listener, one feature and one directory."""
    record = RegisterBrokerRecord(
        broker_id=NodeId(number),
        incarnation_id=uuid(number),
        broker_epoch=epoch,
        end_points=(BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0),),
        features=(BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30),),
        rack=None,
        fenced=True,
        log_dirs=(directory(number),),
    )
    return msgspec.structs.replace(record, **fields)


def image_of(*records: MetadataRecord, base: MetadataImage | None = None) -> MetadataImage:
    """Return the image after `records`, starting from `base` or the empty image."""
    return build(records, MetadataImage.empty() if base is None else base)


def build(records: Sequence[MetadataRecord], base: MetadataImage) -> MetadataImage:
    """Return `base` after `records`, one offset each."""
    builder = ImageBuilder(base)
    start = base.offset_and_epoch.offset
    for offset, record in enumerate(records, start):
        builder.apply(record, offset)
    return builder.build(start + len(records), 1, 1_000)
