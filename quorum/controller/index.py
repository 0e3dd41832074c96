"""Two look-ups that the image does not have: a broker's topics, and the names that a new name would collide with.

Built when first asked for, then kept up from the records that the controller writes. Both may hold more than the truth
(a topic whose replica has moved away, a name that is gone), never less: who asks looks every entry up in the image.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage, TopicImage
from metadata_log.records import MetadataRecord, PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from quorum.controller.names import may_collide, unified

_REMOVALS_KEPT: Final = 10_000
"""Removed topics stay listed, at no harm; when they are more than this and than the topics left, it starts anew."""


class TopicIndex:
    """Soft state of the active controller; a new controller begins with an empty one."""

    def __init__(self) -> None:
        self._by_broker: dict[NodeId, set[TopicId]] | None = None
        self._by_unified: dict[str, tuple[str, ...]] | None = None
        self._removed = 0

    def topics_on(self, broker_id: NodeId, image: MetadataImage) -> list[TopicImage]:
        """The topics that have or had a replica on the broker, ordered by id."""
        if self._by_broker is None:
            self._by_broker = {}
            for topic in image.topics.by_id.values():
                for partition in topic.partitions:
                    self._host(topic.topic_id, partition.replicas)
        topics = map(image.topics.by_id.get, sorted(self._by_broker.get(broker_id, ())))
        return [topic for topic in topics if topic is not None]

    def colliding_name(self, name: str, image: MetadataImage) -> str | None:
        """A topic that is not called `name`, but would be the same to metrics."""
        if self._by_unified is None:
            self._by_unified = {}
            for existing in image.topics.by_name:
                self._add_name(existing)
        for other in self._by_unified.get(unified(name), ()):
            if other != name and other in image.topics.by_name:
                return other
        return None

    def observe(self, records: Iterable[MetadataRecord], image: MetadataImage) -> None:
        """Take note of records that are about to be appended to the log that `image` stands for."""
        if self._by_broker is None and self._by_unified is None:
            return
        for record in records:
            if isinstance(record, PartitionRecord):
                self._host(record.topic_id, record.replicas)
            elif isinstance(record, TopicRecord):
                self._add_name(record.name)
            elif isinstance(record, PartitionChangeRecord):
                if record.replicas is not None:
                    self._host(record.topic_id, record.replicas)
            elif isinstance(record, RemoveTopicRecord):
                self._removed += 1
        if self._removed > _REMOVALS_KEPT + len(image.topics):
            self._by_broker = self._by_unified = None
            self._removed = 0

    def _host(self, topic_id: TopicId, replicas: tuple[NodeId, ...]) -> None:
        by_broker = self._by_broker
        if by_broker is None:
            return
        for replica in replicas:
            hosted = by_broker.get(replica)
            if hosted is None:
                hosted = by_broker[replica] = set()
            hosted.add(topic_id)

    def _add_name(self, name: str) -> None:
        if self._by_unified is not None and may_collide(name):
            key = unified(name)
            others = self._by_unified.get(key, ())
            if name not in others:
                self._by_unified[key] = (*others, name)
