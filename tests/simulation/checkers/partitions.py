"""Partitions are valid at the end of each committed batch.

The ISR is within the replicas. The leader is in the ISR, registered and unfenced, or there is no leader. Epochs never
fall. Checked are the topics in a batch's records; all topics if a broker has come, gone or changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metadata_log.ids import TopicId
from metadata_log.image import NO_LEADER, MetadataImage, PartitionImage
from metadata_log.records import MetadataRecord, PartitionChangeRecord, PartitionRecord
from tests.simulation.checkers.invariant_failure import InvariantFailure


def check_partitions(before: MetadataImage, after: MetadataImage, records: Sequence[MetadataRecord]) -> None:
    """Check a committed batch."""
    for topic_id in _concerned(before, after, records):
        topic = after.topics.topic(topic_id)
        if topic is None:
            continue
        for partition in topic.partitions:
            was = before.topics.partition(topic_id, partition.partition_id)
            why = _why_unsound(partition, after) or _why_fallen(was, partition)
            if why is not None:
                which = f"{topic.name}-{partition.partition_id} before offset {after.offset_and_epoch.offset}"
                raise InvariantFailure("partitions", f"{which}: {why}: {partition}")


def _concerned(before: MetadataImage, after: MetadataImage, records: Sequence[MetadataRecord]) -> Iterable[TopicId]:
    if before.cluster.brokers is not after.cluster.brokers:
        return sorted(after.topics.by_id)
    changes = (record for record in records if isinstance(record, PartitionRecord | PartitionChangeRecord))
    return dict.fromkeys(record.topic_id for record in changes)


def _why_unsound(partition: PartitionImage, image: MetadataImage) -> str | None:
    replicas, isr, elr = set(partition.replicas), set(partition.isr), set(partition.elr)
    leader = image.cluster.brokers.get(partition.leader)
    has_leader = partition.leader != NO_LEADER
    faults = {
        "a broker occurs twice": len(replicas) != len(partition.replicas) or len(isr) != len(partition.isr),
        "no replica, but in the ISR": not isr <= replicas,
        "a broker that is no replica is in the ELR or is reassigned": not {*partition.adding, *partition.removing, *elr}
        <= replicas,
        "a broker is in the ISR and in the ELR": bool(isr & elr),
        "its leader is not in sync": has_leader and partition.leader not in isr,
        "its leader is not registered, or fenced": has_leader and (leader is None or leader.fenced),
    }
    return next((fault for fault, is_there in faults.items() if is_there), None)


def _why_fallen(before: PartitionImage | None, after: PartitionImage) -> str | None:
    if before is None:
        return None
    was, now = (before.leader_epoch, before.partition_epoch), (after.leader_epoch, after.partition_epoch)
    return None if now[0] >= was[0] and now[1] >= was[1] else f"its epochs fell from {was}"
