"""Replay of the records about topics and partitions.

Decides: the effect of each record on a `TopicsImage`, by the rules of Kafka's controller, the strictest reader of a
metadata log. Must not know: the other parts of an image; `builder` removes the configs of a removed topic.

Changed topics are kept as drafts and written into the persistent maps once, at the end. So a topic of a thousand
partitions in one batch is copied once.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

from metadata_log.ids import MIGRATING_DIRECTORY_ID, RESERVED_TOPIC_IDS, DirectoryId, NodeId, TopicId, id_text
from metadata_log.image.errors import ImpossibleRecordError, NoSuchPartitionError
from metadata_log.image.sharing import share
from metadata_log.image.topics import RECOVERED, RECOVERING, PartitionImage, TopicImage, TopicsImage, partition_key
from metadata_log.records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

_NO_LEADER_CHANGE: Final = -2
_NO_RECOVERY_CHANGE: Final = -1


class _Draft(msgspec.Struct, kw_only=True, gc=False):
    """A topic being changed. `partitions` is sorted by id."""

    topic_id: TopicId
    name: str
    partitions: list[PartitionImage]


class TopicsBuilder:
    """Applies records one by one; `build` returns the image after them. The former image never changes."""

    __slots__ = ("_by_name", "_drafts", "_image")

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self._by_name = image.by_name.mutate()
        self._drafts: dict[TopicId, _Draft | None] = {}
        """None: removed."""

    @property
    def changed(self) -> frozenset[TopicId]:
        """The ids of all topics that a record named."""
        return frozenset(self._drafts)

    def build(self) -> TopicsImage:
        """Return the image after all records. The builder is used up."""
        if not self._drafts:
            return self._image
        by_id = self._image.by_id.mutate()
        for topic_id, draft in self._drafts.items():
            if draft is None:
                by_id.pop(topic_id, None)
            else:
                by_id[topic_id] = TopicImage(
                    topic_id=draft.topic_id, name=draft.name, partitions=tuple(draft.partitions)
                )
        return TopicsImage(by_id=by_id.finish(), by_name=self._by_name.finish())

    def on_topic(self, record: TopicRecord) -> None:
        """Apply TopicRecord: add a topic without partitions; raise ImpossibleRecordError if name or id is in use."""
        topic_id, name = record.topic_id, record.name
        if topic_id in RESERVED_TOPIC_IDS:
            raise ImpossibleRecordError(f"topic {name!r} has the reserved id {id_text(topic_id)}")
        used_by = self._by_name.get(name)
        if used_by is not None:
            raise ImpossibleRecordError(f"there is a topic {name!r} already, with id {id_text(used_by)}")
        if self._find(topic_id) is not None:
            raise ImpossibleRecordError(f"there is a topic with id {id_text(topic_id)} already")
        self._by_name[name] = topic_id
        self._drafts[topic_id] = _Draft(topic_id=topic_id, name=name, partitions=[])

    def on_partition(self, record: PartitionRecord) -> None:
        """Apply PartitionRecord: add or replace a partition's state."""
        self.put_partition(record.topic_id, partition_of(record))

    def put_partition(self, topic_id: TopicId, partition: PartitionImage) -> None:
        """Add or replace a partition's state, which is decoded already."""
        draft = self._drafts.get(topic_id) or self._open(topic_id)
        partitions = draft.partitions
        if not partitions or partitions[-1].partition_id < partition.partition_id:
            partitions.append(partition)
            return
        index = _index_of(partitions, partition.partition_id)
        if partitions[index].partition_id == partition.partition_id:
            partitions[index] = partition
        else:
            partitions.insert(index, partition)

    def on_partition_change(self, record: PartitionChangeRecord) -> None:
        """Apply PartitionChangeRecord, see `changed_partition`."""
        draft = self._drafts.get(record.topic_id) or self._open(record.topic_id)
        partitions = draft.partitions
        index = _index_of(partitions, record.partition_id)
        if index == len(partitions) or partitions[index].partition_id != record.partition_id:
            raise NoSuchPartitionError(f"topic {draft.name!r} has no partition {record.partition_id}")
        partitions[index] = changed_partition(partitions[index], record)

    def on_remove_topic(self, record: RemoveTopicRecord) -> str:
        """Apply RemoveTopicRecord: remove the topic and its partitions; return its name."""
        topic = self._find(record.topic_id)
        if topic is None:
            raise ImpossibleRecordError(f"there is no topic with id {id_text(record.topic_id)}")
        del self._by_name[topic.name]
        self._drafts[record.topic_id] = None
        return topic.name

    def on_clear_elr(self, record: ClearElrRecord) -> None:
        """Apply ClearElrRecord: empty the ELR of one topic's partitions, or of all topics if it names no topic."""
        if record.topic_name:
            topic_id = self._by_name.get(record.topic_name)
            if topic_id is None:
                raise ImpossibleRecordError(f"there is no topic {record.topic_name!r}")
            self._clear_elr(topic_id)
            return
        for topic_id in self._image.by_id:
            self._clear_elr(topic_id)
        for topic_id in [created for created in self._drafts if created not in self._image.by_id]:
            self._clear_elr(topic_id)

    def _clear_elr(self, topic_id: TopicId) -> None:
        topic = self._find(topic_id)
        if topic is None or not any(partition.elr or partition.last_known_elr for partition in topic.partitions):
            return
        draft = self._open(topic_id)
        for index, partition in enumerate(draft.partitions):
            if partition.elr or partition.last_known_elr:
                draft.partitions[index] = msgspec.structs.replace(
                    partition, elr=(), last_known_elr=(), partition_epoch=partition.partition_epoch + 1
                )

    def _find(self, topic_id: TopicId) -> _Draft | TopicImage | None:
        drafts = self._drafts
        return drafts[topic_id] if topic_id in drafts else self._image.by_id.get(topic_id)

    def _open(self, topic_id: TopicId) -> _Draft:
        topic = self._find(topic_id)
        if topic is None:
            raise ImpossibleRecordError(f"there is no topic with id {id_text(topic_id)}")
        if isinstance(topic, _Draft):
            return topic
        draft = _Draft(topic_id=topic.topic_id, name=topic.name, partitions=list(topic.partitions))
        self._drafts[topic.topic_id] = draft
        return draft


def partition_of(record: PartitionRecord) -> PartitionImage:
    """Return the partition that a PartitionRecord describes.

    Raises:
        ImpossibleRecordError: the directories do not match the replicas, or the recovery state is unknown.
    """
    replicas = record.replicas
    directories = record.directories
    if directories and len(directories) != len(replicas):
        raise ImpossibleRecordError(_unmatched(record.partition_id, replicas, directories))
    _check_recovery_state(record.leader_recovery_state)
    replicas = share(replicas)
    isr = record.isr
    removing, adding = record.removing_replicas, record.adding_replicas
    return PartitionImage(
        partition_id=record.partition_id,
        replicas=replicas,
        directories=_known_or_migrating(directories, len(replicas)),
        isr=replicas if isr == replicas else share(isr),
        removing=share(removing) if removing else (),
        adding=share(adding) if adding else (),
        leader=record.leader,
        leader_recovery_state=record.leader_recovery_state,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        elr=share(record.eligible_leader_replicas) if record.eligible_leader_replicas else (),
        last_known_elr=share(record.last_known_elr) if record.last_known_elr else (),
    )


def changed_partition(partition: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """Return `partition` with the fields of a PartitionChangeRecord replaced.

    The partition epoch always rises by one. The leader epoch rises if the record has a leader, even the same one.

    Raises:
        ImpossibleRecordError: the directories do not match the replicas, or the recovery state is unknown.
    """
    replicas = partition.replicas if record.replicas is None else share(record.replicas)
    directories = partition.directories if record.directories is None else record.directories
    if record.replicas is not None and record.directories and len(directories) != len(replicas):
        raise ImpossibleRecordError(_unmatched(record.partition_id, replicas, directories))
    directories = _known_or_migrating(directories, len(replicas))
    if len(directories) != len(replicas):
        raise ImpossibleRecordError(_unmatched(record.partition_id, replicas, directories))
    recovery_state = record.leader_recovery_state
    if recovery_state == _NO_RECOVERY_CHANGE:
        recovery_state = partition.leader_recovery_state
    _check_recovery_state(recovery_state)
    leader, leader_epoch = partition.leader, partition.leader_epoch
    if record.leader != _NO_LEADER_CHANGE:
        leader, leader_epoch = record.leader, leader_epoch + 1
    return PartitionImage(
        partition_id=partition.partition_id,
        replicas=replicas,
        directories=directories,
        isr=_given(record.isr, partition.isr),
        removing=_given(record.removing_replicas, partition.removing),
        adding=_given(record.adding_replicas, partition.adding),
        leader=leader,
        leader_recovery_state=recovery_state,
        leader_epoch=leader_epoch,
        partition_epoch=partition.partition_epoch + 1,
        elr=_given(record.eligible_leader_replicas, partition.elr),
        last_known_elr=_given(record.last_known_elr, partition.last_known_elr),
    )


def _given(new: tuple[NodeId, ...] | None, old: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
    return old if new is None else share(new)


def _known_or_migrating(directories: tuple[DirectoryId, ...], count: int) -> tuple[DirectoryId, ...]:
    """Return `directories`, or one "migrating" directory for each replica if all are unknown."""
    if directories and directories[0] != MIGRATING_DIRECTORY_ID:
        return share(directories)
    if all(directory == MIGRATING_DIRECTORY_ID for directory in directories):
        return share((MIGRATING_DIRECTORY_ID,) * count)
    return share(directories)


def _check_recovery_state(state: int) -> None:
    if state not in (RECOVERED, RECOVERING):
        raise ImpossibleRecordError(f"{state} is no leader recovery state")


def _unmatched(partition_id: int, replicas: tuple[NodeId, ...], directories: tuple[DirectoryId, ...]) -> str:
    return f"partition {partition_id} has {len(directories)} directories for {len(replicas)} replicas"


def _index_of(partitions: list[PartitionImage], partition_id: int) -> int:
    """Return the partition's index in `partitions`, or the index for its insertion."""
    if 0 <= partition_id < len(partitions) and partitions[partition_id].partition_id == partition_id:
        return partition_id
    return bisect_left(partitions, partition_id, key=partition_key)
