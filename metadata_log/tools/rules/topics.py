"""Rules for topics and their partitions after the records of a batch.

Decides: which rules the touched partitions break, each for itself and together with others of the topic. Must not know:
how records are replayed, and the rules for a single partition (`rules.partitions`, `rules.values`).

A controller writes a topic with its partitions, numbered from 0, in one batch, and adds more at their end. In a
checkpoint, whose batches end anywhere, and within a metadata transaction, a later batch may complete a topic. There
these rules are checked at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeAlias

from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, TopicId, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage, TopicImage
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from metadata_log.tools.rules.partitions import broken_rules
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.values import directory_fault, first_epoch_fault, partition_faults

OffsetAndRecord: TypeAlias = tuple[int, MetadataRecord]
_TopicAndPartition: TypeAlias = tuple[TopicId, int]

_NO_PARTITION: Final = -1
_MOST_SETTLED: Final = 1 << 14


class AddFinding(Protocol):
    """Adds a finding, once for each kind, file, topic and `group`."""

    def __call__(
        self, kind: str, meaning: str, offset: int, place: Place, topic_id: TopicId | None = None, group: object = None
    ) -> None:
        """Add it.

        `kind`: its name in `findings/kinds.py`. `meaning`: a sentence with the fault's values, without the file, which
        `place` has. `offset`: of the record. `group`: of several findings with the same value only the first is added.
        """


class TopicRules:
    """Checks the image after each batch of one log or one checkpoint."""

    def __init__(self, add: AddFinding) -> None:
        self._add = add
        self._begins_with = MetadataImage.empty()
        self._registered: dict[NodeId, set[DirectoryId]] = {}
        """By broker, all directories that it has registered in this log."""
        self._looked_up: set[NodeId] = set()
        """Brokers whose directories in the first image were added to `_registered`."""
        self._settled: set[tuple[tuple[NodeId, ...], tuple[DirectoryId, ...]]] = set()
        """Replicas and directories that were found right: a cache of at most `_MOST_SETTLED`."""
        self._unsettled: dict[_TopicAndPartition, tuple[int, Place]] = {}
        """Partitions without their predecessor, and topics without partitions, by their record."""
        self.given = GivenPartitions()
        self.is_migrated = False
        """The metadata is from ZooKeeper: brokers need not be registered, and partitions keep their epochs."""

    def start(self, image: MetadataImage) -> None:
        """Continue from this image."""
        self._begins_with = image
        self.given.start(image)
        self._looked_up.clear()
        self._unsettled.clear()

    def forget(self) -> None:
        """Forget the unsettled topics and partitions of an aborted transaction."""
        self._unsettled.clear()

    def on_registration(self, record: RegisterBrokerRecord | BrokerRegistrationChangeRecord) -> None:
        """Take the log directories that a broker registers."""
        self._registered.setdefault(record.broker_id, set()).update(record.log_dirs or ())

    def on_batch(
        self, before: MetadataImage, after: MetadataImage, records: Sequence[OffsetAndRecord], place: Place
    ) -> None:
        """Check the touched partitions. A fault that existed before the batch is not reported again."""
        touched: dict[_TopicAndPartition, tuple[int, PartitionRecord | PartitionChangeRecord]] = {}
        for offset, record in records:
            if type(record) is PartitionChangeRecord or type(record) is PartitionRecord:
                key = (record.topic_id, record.partition_id)
                if type(record) is PartitionRecord and key in touched:
                    self._repeated(after, key, offset, place)
                touched[key] = (offset, record)
            elif type(record) is TopicRecord and record.name != METADATA_TOPIC_NAME:
                self._unsettled[record.topic_id, _NO_PARTITION] = (offset, place)
        for key, (offset, record) in touched.items():
            self._on_partition(before, after, offset, record, place)
            number = record.partition_id
            is_made = type(record) is PartitionRecord and number > 0
            if is_made and after.topics.partition(record.topic_id, number - 1) is None:
                self._unsettled[key] = (offset, place)

    def _on_partition(
        self,
        before: MetadataImage,
        after: MetadataImage,
        offset: int,
        record: PartitionRecord | PartitionChangeRecord,
        place: Place,
    ) -> None:
        topic_id, partition_id = record.topic_id, record.partition_id
        partition = after.topics.partition(topic_id, partition_id)
        if partition is None:
            return
        earlier = before.topics.partition(topic_id, partition_id)
        if not place.offsets_are_own:
            self._give(before, offset, record, earlier, partition)
        broken = broken_rules(partition)
        if broken and earlier is not None:
            known = broken_rules(earlier)
            broken = {kind: why for kind, why in broken.items() if kind not in known}
        is_new = not place.offsets_are_own
        broken |= partition_faults(earlier, partition, after.cluster, is_new_to_log=is_new)
        if type(record) is PartitionRecord and not self.is_migrated and "partition_epoch_went_back" not in broken:
            if earlier is not None:
                self._repeated(after, (topic_id, partition_id), offset, place)
            elif is_new and (partition.leader_epoch or partition.partition_epoch):
                broken |= first_epoch_fault(partition)
        if is_new and (partition.replicas, partition.directories) not in self._settled:
            fault = directory_fault(earlier, partition, self._was_registered)
            broken |= fault
            self._settle_directories(partition, is_sound=not fault and earlier is None)
        if self.is_migrated:
            broken.pop("unknown_replica", None)
        if not broken:
            return
        name = f"{_name(after.topics.topic(topic_id))}-{partition_id}"
        for kind, why in broken.items():
            what = type(record).__name__
            self._add(kind, f"after {what} at offset {offset}, {name} has {why}", offset, place, topic_id)

    def _give(
        self,
        before: MetadataImage,
        offset: int,
        record: PartitionRecord | PartitionChangeRecord,
        earlier: PartitionImage | None,
        now: PartitionImage,
    ) -> None:
        key = (record.topic_id, record.partition_id)
        if earlier is None:
            self.given.on_made(key, offset, is_added=before.topics.topic(record.topic_id) is not None)
        else:
            self.given.on_change(key, offset, earlier, now)

    def _repeated(self, after: MetadataImage, key: _TopicAndPartition, offset: int, place: Place) -> None:
        topic_id, partition_id = key
        name = f"{_name(after.topics.topic(topic_id))}-{partition_id}"
        what = (
            f"the PartitionRecord at offset {offset} makes {name}, which is there already: a controller makes it once"
        )
        self._add("partition_repeated", what, offset, place, topic_id)

    def _settle_directories(self, partition: PartitionImage, *, is_sound: bool) -> None:
        """Remember right directories: most partitions have the same replicas and directories as others."""
        if is_sound:
            if len(self._settled) >= _MOST_SETTLED:
                self._settled.clear()
            self._settled.add((partition.replicas, partition.directories))

    def _was_registered(self, broker_id: NodeId, directory: DirectoryId) -> bool:
        """Return True if the broker ever had the directory, as far as is known.

        A directory of its replicas in the first image counts: the broker had registered it before.
        """
        known = self._registered.setdefault(broker_id, set())
        if directory not in known and broker_id not in self._looked_up:
            self._looked_up.add(broker_id)
            known.update(_directories(self._begins_with, broker_id))
        return directory in known

    def settle(self, image: MetadataImage) -> None:
        """Report the unsettled topics and partitions: no open batch can complete them."""
        if not self._unsettled:
            return
        for (topic_id, partition_id), (offset, place) in self._unsettled.items():
            topic = image.topics.topic(topic_id)
            if topic is None:
                continue
            if partition_id == _NO_PARTITION:
                if not topic.partitions:
                    what = f"the topic {topic.name!r} that the TopicRecord at offset {offset} makes has no partition"
                    self._add("topic_without_partitions", what, offset, place, topic_id)
            elif topic.partition(partition_id) is not None and topic.partition(partition_id - 1) is None:
                what = (
                    f"the PartitionRecord at offset {offset} makes {topic.name}-{partition_id}, and there is no "
                    f"{topic.name}-{partition_id - 1}: a topic's partitions are numbered from 0 without a gap"
                )
                self._add("partition_gap", what, offset, place, topic_id)
        self._unsettled.clear()


def _name(topic: TopicImage | None) -> str:
    return "" if topic is None else topic.name


def _directories(image: MetadataImage, broker_id: NodeId) -> Iterable[DirectoryId]:
    """Yield the directories that the broker has registered, and those of its replicas."""
    broker = image.cluster.brokers.get(broker_id)
    if broker is not None:
        yield from broker.directories
    for topic in image.topics.by_id.values():
        for partition in topic.partitions:
            directory = partition.directory_of(broker_id)
            if directory is not None and not is_reserved_directory_id(directory):
                yield directory


_Key: TypeAlias = tuple[TopicId, int]


class GivenPartitions:
    """Records the assignments of each partition in one log, in order."""

    def __init__(self) -> None:
        self._counts: dict[TopicId, int] = {}
        self._added: dict[_Key, int] = {}
        """Partitions that were added to an existing topic, with the offset of their record."""
        self._moves: dict[_Key, list[tuple[int, tuple[NodeId, ...]]]] = {}
        """By partition whose replicas changed: the first ones with offset -1, then each change."""

    def start(self, image: MetadataImage) -> None:
        """Continue from this image; it does not show when its partitions were assigned."""
        for topic_id, topic in image.topics.by_id.items():
            if topic.partitions:
                self._count(topic_id, topic.partitions[-1].partition_id)

    def on_made(self, key: _Key, offset: int, *, is_added: bool) -> None:
        """Take a new partition; `is_added`: its topic existed before."""
        self._count(*key)
        if is_added:
            self._added.setdefault(key, offset)

    def on_change(self, key: _Key, offset: int, earlier: PartitionImage, now: PartitionImage) -> None:
        """Take a change of a partition."""
        if earlier.replicas != now.replicas:
            self._moves.setdefault(key, [(-1, earlier.replicas)]).append((offset, now.replicas))

    def partition_at(self, key: _Key, topic_at: int) -> int | None:
        """Return the offset that assigned the topic, created at `topic_at`, this partition, or None if none did."""
        topic_id, number = key
        count = self._counts.get(topic_id)
        if count is not None and number >= count:
            return None
        return self._added.get(key, topic_at)

    def replica_at(self, key: _Key, broker_id: NodeId, made_at: int, now: PartitionImage) -> int | None:
        """Return the offset that assigned the broker a replica of the partition, or None if none did.

        `made_at`: the offset that created the partition; `now`: its present state.
        """
        for offset, replicas in self._moves.get(key, [(-1, now.replicas)]):
            if broker_id in replicas:
                return max(offset, made_at)
        return None

    def _count(self, topic_id: TopicId, number: int) -> None:
        if number >= self._counts.get(topic_id, 0):
            self._counts[topic_id] = number + 1
