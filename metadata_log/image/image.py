"""The whole image: everything that the metadata log says, up to one offset.

Decides: which parts there are. Must not know: files, batches, or who reads it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

import msgspec

from metadata_log.ids import NodeId, TopicId
from metadata_log.image.access import (
    AclsImage,
    ClientQuotasImage,
    DelegationTokensImage,
    ProducerIdsImage,
    ScramImage,
)
from metadata_log.image.cluster import ClusterImage
from metadata_log.image.configs import ConfigResource, ConfigsImage
from metadata_log.image.features import FeaturesImage
from metadata_log.image.maps import Map
from metadata_log.image.topics import TopicsImage
from metadata_log.offsets import NO_EPOCH, Offset, OffsetAndEpoch

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class MetadataImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Immutable and persistent: an image made from another shares all that did not change.

    Attributes:
        offset_and_epoch: the end of the log prefix that it stands for (offset exclusive), and so its snapshot's id.
        last_contained_timestamp_ms: of the last batch before that end; -1 in the empty image.
    """

    offset_and_epoch: OffsetAndEpoch = OffsetAndEpoch(offset=Offset(0), epoch=NO_EPOCH)
    last_contained_timestamp_ms: int = -1
    features: FeaturesImage = FeaturesImage()
    cluster: ClusterImage = ClusterImage()
    topics: TopicsImage = TopicsImage()
    configs: ConfigsImage = ConfigsImage()
    client_quotas: ClientQuotasImage = ClientQuotasImage()
    producer_ids: ProducerIdsImage = ProducerIdsImage()
    acls: AclsImage = AclsImage()
    scram: ScramImage = ScramImage()
    delegation_tokens: DelegationTokensImage = DelegationTokensImage()

    @classmethod
    def empty(cls) -> MetadataImage:
        """The image before the first record."""
        return EMPTY

    def says_the_same_as(self, other: MetadataImage) -> bool:
        """Whether both hold the same metadata, wherever in a log they stand."""
        return self == msgspec.structs.replace(
            other,
            offset_and_epoch=self.offset_and_epoch,
            last_contained_timestamp_ms=self.last_contained_timestamp_ms,
        )


EMPTY: Final = MetadataImage()


class ImageChanges(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What may differ between two images: look each up in both. Costs what it lists, whatever the image holds.

    Everything that was created, changed or removed is named; what was changed and changed back may be.
    """

    topics: frozenset[TopicId] = frozenset()
    brokers: frozenset[NodeId] = frozenset()
    controllers: frozenset[NodeId] = frozenset()
    configs: frozenset[ConfigResource] = frozenset()
    features: bool = False
    other: bool = False
    """ACLs, quotas, SCRAM credentials, delegation tokens or producer ids."""

    def __or__(self, later: ImageChanges) -> ImageChanges:
        if self is NO_CHANGES:
            return later
        if later is NO_CHANGES:
            return self
        return ImageChanges(
            topics=self.topics | later.topics,
            brokers=self.brokers | later.brokers,
            controllers=self.controllers | later.controllers,
            configs=self.configs | later.configs,
            features=self.features or later.features,
            other=self.other or later.other,
        )


NO_CHANGES: Final = ImageChanges()


def changes_between(old: MetadataImage, new: MetadataImage) -> ImageChanges:
    """What may differ between any two images: as `changed_topics`, and as dear."""
    before, after = old.cluster, new.cluster
    return ImageChanges(
        topics=changed_topics(old, new),
        brokers=_changed(before.brokers, after.brokers),
        controllers=_changed(before.controllers, after.controllers),
        configs=_changed(old.configs.by_resource, new.configs.by_resource),
        features=old.features != new.features,
        other=True,
    )


def _changed(old: Map[_Key, _Value], new: Map[_Key, _Value]) -> frozenset[_Key]:
    changed = {key for key, value in new.items() if old.get(key) != value}
    changed.update(key for key in old if key not in new)
    return frozenset(changed)


def changed_topics(old: MetadataImage, new: MetadataImage) -> frozenset[TopicId]:
    """Ids of topics that were created, changed or removed between any two images.

    Nothing is looked at when no topic changed at all; otherwise every topic is (0.2 µs each). Where the images follow
    one another, `Replayer.changes` has the answer already.
    """
    before, after = old.topics.by_id, new.topics.by_id
    if before is after:
        return frozenset()
    changed = {topic_id for topic_id, topic in after.items() if before.get(topic_id) is not topic}
    changed.update(topic_id for topic_id in before if topic_id not in after)
    return frozenset(changed)
