"""The image: the state of the metadata log as immutable data, and replay, which makes it from records.

Controllers, agents, tools and tests share it. Pure: no clock, no randomness, no I/O. Replay follows Kafka's own rules
record by record, and raises `ReplayError` for an invalid record.

Measured with 100,000 one-partition topics, three replicas each, Python 3.11: a topic takes 434 bytes of memory. Without
decoding, its two records take 2 µs in a large batch and 5.3 µs in their own. A change of one partition takes 2.8 µs, a
NoOp 0.9, a config 1.7, a checkpoint's record 0.4 µs.
"""

from __future__ import annotations

from metadata_log.image.access import (
    AclEntry,
    AclsImage,
    ClientQuotasImage,
    DelegationToken,
    DelegationTokensImage,
    ProducerIdsImage,
    QuotaEntity,
    ScramCredential,
    ScramImage,
    ScramUser,
)
from metadata_log.image.builder import ImageBuilder
from metadata_log.image.checkpoint import image_of_checkpoint, records_of
from metadata_log.image.cluster import (
    BrokerRegistration,
    ClusterImage,
    ControllerRegistration,
    Listener,
    SupportedFeature,
    listener_fault,
)
from metadata_log.image.configs import NO_CONFIGS, ConfigResource, ConfigsImage, ResourceType
from metadata_log.image.errors import ReplayError, UnwritableMetadataError
from metadata_log.image.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    FeaturesImage,
)
from metadata_log.image.image import ImageChanges, MetadataImage, changed_topics, changes_between
from metadata_log.image.maps import Map
from metadata_log.image.replayer import OpenTransaction, Replayer
from metadata_log.image.topics import (
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    PartitionImage,
    TopicImage,
    TopicsImage,
)
from metadata_log.image.topics_builder import changed_partition, partition_of

__all__ = [
    "ELIGIBLE_LEADER_REPLICAS_VERSION",
    "KRAFT_VERSION",
    "METADATA_VERSION",
    "NO_CONFIGS",
    "NO_LEADER",
    "RECOVERED",
    "RECOVERING",
    "AclEntry",
    "AclsImage",
    "BrokerRegistration",
    "ClientQuotasImage",
    "ClusterImage",
    "ConfigResource",
    "ConfigsImage",
    "ControllerRegistration",
    "DelegationToken",
    "DelegationTokensImage",
    "FeaturesImage",
    "ImageBuilder",
    "ImageChanges",
    "Listener",
    "Map",
    "MetadataImage",
    "OpenTransaction",
    "PartitionImage",
    "ProducerIdsImage",
    "QuotaEntity",
    "ReplayError",
    "Replayer",
    "ResourceType",
    "ScramCredential",
    "ScramImage",
    "ScramUser",
    "SupportedFeature",
    "TopicImage",
    "TopicsImage",
    "UnwritableMetadataError",
    "changed_partition",
    "changed_topics",
    "changes_between",
    "image_of_checkpoint",
    "listener_fault",
    "partition_of",
    "records_of",
]
