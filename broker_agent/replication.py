"""What leaders and followers say to each other: reads fenced by topic id, and the in-sync replicas that follow. Pure.

Decides: what a follower's read of a partition is answered, and which followers the leader proposes for the ISR. Must
not know: gRPC, or when a follower reads. Partitions hold no records yet, so that a follower's only way to be out of
sync is not to read at all; one that stays away is fenced by the controller, which takes it out of every ISR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage, PartitionImage
from quorum.api.error_codes import Error

LOG_END_OFFSET = 0
"""Of every partition: there is no way yet to write to one."""


class FetchedPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One partition's part of the answer."""

    partition_index: int
    error: Error = Error.NONE
    leader_id: int = -1
    leader_epoch: int = -1
    log_end_offset: int = -1


class IsrProposal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ISR that a leader asks for, based on the partition's state in the image."""

    topic_id: TopicId
    partition: PartitionImage
    new_isr: tuple[NodeId, ...]


class Leadership:
    """The partitions that this broker leads, as their followers see it."""

    def __init__(self, broker_id: NodeId, local_topic_id: Callable[[str], TopicId | None]) -> None:
        """`local_topic_id` tells the id in the local directory `{topic}-{partition}`, None when there is none."""
        self._broker_id = broker_id
        self._local_topic_id = local_topic_id
        self._waiting: dict[tuple[TopicId, int, int], set[NodeId]] = {}
        """Readers in sync that the ISR lacks, by topic, partition and leader epoch."""

    @property
    def has_waiting(self) -> bool:
        """Whether anybody may be proposed."""
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
        """Answer a follower's read of one partition, and remember it when it is in sync and the ISR lacks it."""
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
        """ISRs that may grow: a replica that reads, is registered and not fenced belongs to it.

        Who is left out for now is forgotten, and remembered again by its next read.
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
