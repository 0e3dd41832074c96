"""Look-ups that the image lacks: a broker's topics, the topics that it may lead, and colliding names.

The index is built in bounded steps from the image at activation, and then updated from the controller's records. It may
have stale entries (a topic whose replica has moved away, a removed name), but it lacks none. So the caller verifies
every entry in the image. Before the index is built, a result may be unknown.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import NO_LEADER, MetadataImage, TopicImage
from metadata_log.records import MetadataRecord, PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from metadata_log.topic_names import may_collide, unified

PARTITIONS_A_STEP: Final = 3_000
"""The partitions that one turn reads for work that can wait: a few milliseconds."""
_SPARE_ENTRIES: Final = 10_000
"""If there are more repeated and stale entries than this plus the number of topics, the index is rebuilt."""


class TopicIndex:
    """Soft state of the active controller; a new controller begins with an empty one."""

    def __init__(self, image: MetadataImage) -> None:
        self._begin(image)

    def _begin(self, image: MetadataImage) -> None:
        self._hosted: dict[NodeId, list[TopicId]] = {}
        self._led: dict[NodeId, dict[TopicId, None]] = {}
        self._by_unified: dict[str, dict[str, None]] = {}
        self._spare = 0
        self._steps: Iterator[None] | None = self._build(image)
        self.advance()

    # --- building

    @property
    def is_built(self) -> bool:
        """True if the index is complete."""
        return self._steps is None

    def advance(self) -> bool:
        """Do one step of building; return True if the index is complete."""
        if self._steps is not None and next(self._steps, self) is self:
            self._steps = None
        return self._steps is None

    def _build(self, image: MetadataImage) -> Iterator[None]:
        """Build the index in the order of the ids, which is equal in every process, unlike the map's order.

        Parts are sorted and then merged, because sorting a hundred thousand ids at once takes too long.
        """
        parts: list[list[tuple[TopicId, TopicImage]]] = [[]]
        for topic_id, topic in image.topics.by_id.items():
            parts[-1].append((topic_id, topic))
            if len(parts[-1]) == PARTITIONS_A_STEP:
                parts[-1].sort(key=_id)
                parts.append([])
                yield
        parts[-1].sort(key=_id)
        looked = 0
        for topic_id, topic in heapq.merge(*parts, key=_id):
            if looked >= PARTITIONS_A_STEP:
                looked = 0
                yield
            looked += 1 + len(topic.partitions)
            self._add_name(topic.name)
            for partition in topic.partitions:
                self._host(topic_id, partition.replicas)
                self._lead(topic_id, partition.leader)

    # --- asking

    def topics_on(self, broker_id: NodeId) -> list[TopicId]:
        """Return the topics that have or had a replica on the broker. The list grows at its end during iteration."""
        return self._hosted.setdefault(broker_id, [])

    def may_lead(self, broker_id: NodeId, image: MetadataImage) -> bool:
        """Return True if the broker leads a partition, or if finding out would take too long now."""
        if not self.advance():
            return True
        led, looked = self._led.get(broker_id, {}), 0
        while led:
            if looked >= PARTITIONS_A_STEP:
                return True
            topic_id, _ = led.popitem()
            topic = image.topics.by_id.get(topic_id)
            looked += 1
            if topic is not None:
                looked += len(topic.partitions)
                if any(partition.leader == broker_id for partition in topic.partitions):
                    led[topic_id] = None
                    return True
        return False

    def leaderless(self) -> list[TopicId]:
        """Return the known topics that have or had a partition without a leader."""
        return list(self._led.get(NO_LEADER, ()))

    def leaderless_topics(self, image: MetadataImage) -> list[TopicImage]:
        """Return all topics in which a partition may have no leader, after completing the index at once."""
        while not self.advance():
            pass
        topics = (image.topics.topic(topic_id) for topic_id in self.leaderless())
        return [topic for topic in topics if topic is not None]

    def have_leaders(self, topic_id: TopicId) -> None:
        """Note that every partition of the topic has a leader in the newest image."""
        self._led.get(NO_LEADER, {}).pop(topic_id, None)

    def colliding_name(self, name: str, image: MetadataImage) -> str | None:
        """Return an existing topic whose name collides with `name` in metrics, or None."""
        if not may_collide(name):
            return None
        while not self.advance():
            pass
        others, by_name, gone = self._by_unified.get(unified(name), {}), image.topics.by_name, []
        found = None
        for other in others:
            if other not in by_name:
                gone.append(other)
            elif other != name:
                found = other
                break
        for other in gone:
            del others[other]
        return found

    # --- keeping up

    def observe(
        self, records: Iterable[MetadataRecord], image: MetadataImage, leaving: Collection[NodeId] = ()
    ) -> None:
        """Update the index with records that are about to be appended to the log of `image`.

        A topic that adds a `leaving` broker to an ISR, or makes it leader, is listed on it again. The broker's sweep
        then visits it again. A rebuild happens only before the records: one request may exceed the limit by itself.
        """
        if self._spare > _SPARE_ENTRIES + len(image.topics) and self.is_built:
            self._begin(image)
        for record in records:
            if isinstance(record, PartitionRecord):
                self._host(record.topic_id, record.replicas)
                self._lead(record.topic_id, record.leader)
            elif isinstance(record, TopicRecord):
                self._add_name(record.name)
            elif isinstance(record, PartitionChangeRecord):
                self._observe_change(record, leaving)
            elif isinstance(record, RemoveTopicRecord):
                self._spare += 1

    def _observe_change(self, record: PartitionChangeRecord, leaving: Collection[NodeId]) -> None:
        if record.replicas is not None:
            self._spare += self._host(record.topic_id, record.replicas)
        if record.leader >= NO_LEADER:
            self._lead(record.topic_id, record.leader)
        for broker_id in leaving:
            if broker_id == record.leader or broker_id in (record.isr or ()):
                self._spare += self._host(record.topic_id, (broker_id,))

    def _host(self, topic_id: TopicId, replicas: tuple[NodeId, ...]) -> int:
        """List the topic on each replica's broker, once in a row; return how many lists have grown."""
        grown = 0
        for replica in replicas:
            hosted = self._hosted.get(replica)
            if hosted is None:
                hosted = self._hosted[replica] = []
            if not hosted or hosted[-1] != topic_id:
                hosted.append(topic_id)
                grown += 1
        return grown

    def _lead(self, topic_id: TopicId, leader: NodeId) -> None:
        led = self._led.get(leader)
        if led is None:
            led = self._led[leader] = {}
        led[topic_id] = None

    def _add_name(self, name: str) -> None:
        if may_collide(name):
            self._by_unified.setdefault(unified(name), {})[name] = None


def _id(entry: tuple[TopicId, TopicImage]) -> TopicId:
    return entry[0]
