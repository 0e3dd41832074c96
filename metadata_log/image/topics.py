"""Topics and partitions as an image holds them.

Decides: their shape in memory. Must not know: which record changes what (`topics_builder` does).

A cluster has few brokers and many partitions, so that a partition's tuples are shared between partitions (`sharing`),
and a topic holds its partitions in a plain tuple: a one-partition topic costs about 0.5 kB in all.
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
    """One partition, as PartitionRecord and the PartitionChangeRecords since have left it.

    Attributes:
        directories: the log directory of each replica, in the order of `replicas` and as long (KIP-858).
        elr, last_known_elr: eligible leader replicas (KIP-966); empty where the feature is off.
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
        """The directory that holds broker `node_id`'s replica; None when it is no replica."""
        for index, replica in enumerate(self.replicas):
            if replica == node_id:
                return self.directories[index]
        return None

    @property
    def preferred_leader(self) -> NodeId:
        """The first replica; NO_LEADER when there is none."""
        return self.replicas[0] if self.replicas else NO_LEADER


def partition_key(partition: PartitionImage) -> int:
    """Order of a topic's partitions."""
    return partition.partition_id


class TopicImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A topic. `partitions` is sorted by partition id, which in a sound cluster is also the index."""

    topic_id: TopicId
    name: str
    partitions: tuple[PartitionImage, ...] = ()

    def partition(self, partition_id: int) -> PartitionImage | None:
        """The partition with this id, or None."""
        partitions = self.partitions
        if 0 <= partition_id < len(partitions) and partitions[partition_id].partition_id == partition_id:
            return partitions[partition_id]
        index = bisect_left(partitions, partition_id, key=partition_key)
        if index < len(partitions) and partitions[index].partition_id == partition_id:
            return partitions[index]
        return None


class TopicsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All topics, by id and by name. Both maps always hold the same topics, and are of one kind."""

    by_id: Map[TopicId, TopicImage] | VersionedMap[TopicId, TopicImage] = Map()
    by_name: Map[str, TopicId] | VersionedMap[str, TopicId] = Map()
    own_id: TopicId | None = None
    """The metadata topic's own id, or None if the log has given it none (KIP-516). It is found in `by_name`."""

    def __post_init__(self) -> None:
        """Look the own id up while `by_name` is the newest version, where that costs least: each append asks for it."""
        msgspec.structs.force_setattr(self, "own_id", self.by_name.get(METADATA_TOPIC_NAME))

    def versioned(self) -> TopicsImage:
        """The same for whoever follows the log (`versioned_map`), and so are all that come of it."""
        return TopicsImage(by_id=VersionedMap(self.by_id), by_name=VersionedMap(self.by_name))

    def topic(self, topic_id: TopicId) -> TopicImage | None:
        """The topic with this id, or None."""
        return self.by_id.get(topic_id)

    def named(self, name: str) -> TopicImage | None:
        """The topic with this name, or None."""
        topic_id = self.by_name.get(name)
        return None if topic_id is None else self.by_id[topic_id]

    def partition(self, topic_id: TopicId, partition_id: int) -> PartitionImage | None:
        """The partition, or None when it or its topic does not exist."""
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partition(partition_id)

    def __len__(self) -> int:
        return len(self.by_id)
