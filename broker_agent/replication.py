"""The leader's side of partition replication: reads fenced by topic id, and proposals of a larger ISR. Pure.

Decides: the response to a follower's read, and which followers the leader proposes for the ISR. Must not know: gRPC, or
when a follower reads. Partitions hold no records yet: a follower is out of sync only if it does not read at all. The
controller fences a broker that stays away, and removes it from every ISR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage, PartitionImage
from quorum.api.error_codes import Error

LOG_END_OFFSET = 0
"""The log end offset of every partition: no request writes records yet."""


class FetchedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One partition's part of the response."""

    partition_index: int
    error: Error = Error.NONE
    leader_id: int = -1
    leader_epoch: int = -1
    log_end_offset: int = -1


class IsrProposal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A new ISR that a leader proposes, based on the partition's state in the image."""

    topic_id: TopicId
    partition: PartitionImage
    new_isr: tuple[NodeId, ...]


class Leadership:
    """The followers that have read from the partitions that this broker leads."""

    def __init__(self, broker_id: NodeId, local_topic_id: Callable[[str], TopicId | None]) -> None:
        """`local_topic_id` returns the topic id in the local directory `{topic}-{partition}`, or None."""
        self._broker_id = broker_id
        self._local_topic_id = local_topic_id
        self._waiting: dict[tuple[TopicId, int, int], set[NodeId]] = {}
        """In-sync readers that the ISR lacks, by topic id, partition and leader epoch."""

    @property
    def has_waiting(self) -> bool:
        """True if a reader waits to be proposed."""
        return bool(self._waiting)

    def on_fetch(
        self,
        image: MetadataImage,
        follower: NodeId,
        topic_id: TopicId,
        partition_index: int,
        current_leader_epoch: int,
        fetch_offset: int,
    ) -> FetchedPartition:
        """Return the response to a read of one partition; remember an in-sync reader that the ISR lacks."""
        topic = image.topics.topic(topic_id)
        if topic is None:
            return FetchedPartition(partition_index=partition_index, error=Error.UNKNOWN_TOPIC_ID)
        partition = topic.partition(partition_index)
        if partition is None:
            return FetchedPartition(partition_index=partition_index, error=Error.UNKNOWN_TOPIC_OR_PARTITION)
        name = f"{topic.name}-{partition_index}"
        error = self._fence(partition, name, topic_id, current_leader_epoch, fetch_offset)
        if error is Error.NONE and follower in partition.replicas and follower not in partition.isr:
            self._waiting.setdefault((topic_id, partition_index, partition.leader_epoch), set()).add(follower)
        return FetchedPartition(
            partition_index=partition_index,
            error=error,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            log_end_offset=LOG_END_OFFSET if error is Error.NONE else -1,
        )

    def _fence(self, partition: PartitionImage, name: str, topic_id: TopicId, epoch: int, offset: int) -> Error:
        if partition.leader != self._broker_id:
            return Error.NOT_LEADER_OR_FOLLOWER
        if epoch < partition.leader_epoch:
            return Error.FENCED_LEADER_EPOCH
        if epoch > partition.leader_epoch:
            return Error.UNKNOWN_LEADER_EPOCH
        local = self._local_topic_id(name)
        if local is None:
            return Error.KAFKA_STORAGE_ERROR
        if local != topic_id:
            return Error.INCONSISTENT_TOPIC_ID
        return Error.NONE if offset == LOG_END_OFFSET else Error.OFFSET_OUT_OF_RANGE

    def proposals(self, image: MetadataImage) -> Iterator[IsrProposal]:
        """Yield larger ISRs: with each replica that has read, is registered, and is neither fenced nor shutting down.

        Afterwards all readers are forgotten; the next read of a reader that was left out enters it again.
        """
        for (topic_id, index, leader_epoch), readers in self._waiting.items():
            partition = image.topics.partition(topic_id, index)
            if partition is None or partition.leader != self._broker_id or partition.leader_epoch != leader_epoch:
                continue
            fit = {reader for reader in readers if _is_active(image, reader)}
            wanted = tuple(each for each in partition.replicas if each in partition.isr or each in fit)
            if set(wanted) != set(partition.isr):
                yield IsrProposal(topic_id=topic_id, partition=partition, new_isr=wanted)
        self._waiting.clear()


def _is_active(image: MetadataImage, broker_id: NodeId) -> bool:
    broker = image.cluster.brokers.get(broker_id)
    return broker is not None and not broker.fenced and not broker.in_controlled_shutdown
