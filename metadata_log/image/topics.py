"""The image's topics and partitions.

Decides: their form in memory. Must not know: the effect of records (`topics_builder`).

A cluster has few brokers and many partitions, so partitions share equal tuples (`sharing`). A topic has its partitions
in a plain tuple: a one-partition topic takes about 0.5 kB in all.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, TopicId
from metadata_log.image.maps import Map
from metadata_log.image.versioned_map import VersionedMap

NO_LEADER: Final = NodeId(-1)
"""`leader` of a partition without one."""
RECOVERED: Final = 0
"""Leader recovery state (KIP-704): elected from the ISR, or recovered since."""
RECOVERING: Final = 1
"""Leader recovery state: elected uncleanly and still recovering."""


class PartitionImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One partition after its PartitionRecord and later PartitionChangeRecords.

    Attributes:
        directories: the log directory of each replica, in the order of `replicas` (KIP-858).
        elr, last_known_elr: eligible leader replicas (KIP-966); empty if the feature is off.
    """

    partition_id: int
    replicas: tuple[NodeId, ...]
    directories: tuple[DirectoryId, ...]
    isr: tuple[NodeId, ...]
    removing: tuple[NodeId, ...] = ()
    adding: tuple[NodeId, ...] = ()
    leader: NodeId = NO_LEADER
    leader_recovery_state: int = RECOVERED
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[NodeId, ...] = ()
    last_known_elr: tuple[NodeId, ...] = ()

    def directory_of(self, node_id: NodeId) -> DirectoryId | None:
        """Return the directory of broker `node_id`'s replica, or None without a replica there."""
        for index, replica in enumerate(self.replicas):
            if replica == node_id:
                return self.directories[index]
        return None

    @property
    def preferred_leader(self) -> NodeId:
        """The first replica, or NO_LEADER without replicas."""
        return self.replicas[0] if self.replicas else NO_LEADER


def partition_key(partition: PartitionImage) -> int:
    """Return the sort key of a topic's partitions."""
    return partition.partition_id


class TopicImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic. `partitions` is sorted by partition id, which in a sound cluster is also the index."""

    topic_id: TopicId
    name: str
    partitions: tuple[PartitionImage, ...] = ()

    def partition(self, partition_id: int) -> PartitionImage | None:
        """Return the partition with this id, or None."""
        partitions = self.partitions
        if 0 <= partition_id < len(partitions) and partitions[partition_id].partition_id == partition_id:
            return partitions[partition_id]
        index = bisect_left(partitions, partition_id, key=partition_key)
        if index < len(partitions) and partitions[index].partition_id == partition_id:
            return partitions[index]
        return None


class TopicsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All topics, by id and by name. Both maps always have the same topics and the same type."""

    by_id: Map[TopicId, TopicImage] | VersionedMap[TopicId, TopicImage] = Map()
    by_name: Map[str, TopicId] | VersionedMap[str, TopicId] = Map()
    own_id: TopicId | None = None
    """The metadata topic's own id (KIP-516), from `by_name`, or None if the log has assigned none."""

    def __post_init__(self) -> None:
        """Look up the own id while `by_name` is the newest version, which is cheapest: each append reads it."""
        msgspec.structs.force_setattr(self, "own_id", self.by_name.get(METADATA_TOPIC_NAME))

    def versioned(self) -> TopicsImage:
        """Return the same topics in maps for a reader that follows the log; later images keep these maps."""
        return TopicsImage(by_id=VersionedMap(self.by_id), by_name=VersionedMap(self.by_name))

    def topic(self, topic_id: TopicId) -> TopicImage | None:
        """Return the topic with this id, or None."""
        return self.by_id.get(topic_id)

    def named(self, name: str) -> TopicImage | None:
        """Return the topic with this name, or None."""
        topic_id = self.by_name.get(name)
        return None if topic_id is None else self.by_id[topic_id]

    def partition(self, topic_id: TopicId, partition_id: int) -> PartitionImage | None:
        """Return the partition, or None if it or its topic does not exist."""
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partition(partition_id)

    def __len__(self) -> int:
        return len(self.by_id)
