"""Which partitions a log gave its topics after they were made, and which brokers each partition was on.

Decides: from which offset on a partition, or a replica of it, was there. Must not know: topics by name, and what is
proven by it. A topic's partitions never become fewer; their replicas come and go.
"""

from __future__ import annotations

from typing import TypeAlias

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage, PartitionImage

_Key: TypeAlias = tuple[TopicId, int]


class GivenPartitions:
    """Takes what the records of one log made of each partition, in order."""

    def __init__(self) -> None:
        self._counts: dict[TopicId, int] = {}
        self._added: dict[_Key, int] = {}
        """Partitions that were added to a topic that was there, by the offset of their record."""
        self._moves: dict[_Key, list[tuple[int, tuple[NodeId, ...]]]] = {}
        """Of a partition whose replicas changed: the first, without an offset (-1), and each that followed."""

    def start(self, image: MetadataImage) -> None:
        """Go on from this image; what was before it is not known any better."""
        for topic_id, topic in image.topics.by_id.items():
            if topic.partitions:
                self._count(topic_id, topic.partitions[-1].partition_id)

    def on_made(self, key: _Key, offset: int, *, is_added: bool) -> None:
        """A partition was made; `is_added`: its topic was there before."""
        self._count(*key)
        if is_added:
            self._added.setdefault(key, offset)

    def on_change(self, key: _Key, offset: int, earlier: PartitionImage, now: PartitionImage) -> None:
        """A partition was changed."""
        if earlier.replicas != now.replicas:
            self._moves.setdefault(key, [(-1, earlier.replicas)]).append((offset, now.replicas))

    def partition_at(self, key: _Key, topic_at: int) -> int | None:
        """The offset that gave its topic, which was made at `topic_at`, this partition; None: none did."""
        topic_id, number = key
        count = self._counts.get(topic_id)
        if count is not None and number >= count:
            return None
        return self._added.get(key, topic_at)

    def replica_at(self, key: _Key, broker_id: NodeId, made_at: int, now: PartitionImage) -> int | None:
        """The offset that gave the broker a replica of the partition, which was made at `made_at` and is there `now`;
        None: none did."""
        for offset, replicas in self._moves.get(key, [(-1, now.replicas)]):
            if broker_id in replicas:
                return max(offset, made_at)
        return None

    def _count(self, topic_id: TopicId, number: int) -> None:
        if number >= self._counts.get(topic_id, 0):
            self._counts[topic_id] = number + 1
