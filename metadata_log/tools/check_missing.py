"""Partition directories that a broker must have, by the log, and has not.

Decides: when a broker certainly had, or had the time to make, one. Must not know: what the directories hold.

A broker makes the directory of a replica as soon as it reads of it (KIP-858). So one that is gone is told only where
all of this holds: all of its log directories are named, by the ids that it is registered with; the replica is assigned
to one of them; its own copy of the log says so, and did already `SETTLED_MS` before its end; and the broker was
unfenced then, in the registration that it still has, so that it had caught up.

Where the log ends too soon for that, the disk itself may prove it: `replication-offset-checkpoint` has a line for each
partition that the broker had there, written every few seconds (Kafka: `replica.high.watermark.checkpoint.interval.ms`)
and at its end. It is no proof of a topic that was made again under its name: the line may be of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from metadata_log.ids import LOST_DIRECTORY_ID, DirectoryId, NodeId, TopicId, id_text, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage
from metadata_log.tools.finding_sink import FindingSink
from metadata_log.tools.findings import Finding
from metadata_log.tools.partition_directories import HeldPartitions
from metadata_log.tools.quorum_view import QuorumView, Replica
from metadata_log.tools.sources import LogDirectory

_OFFSETS_FILE: Final = "replication-offset-checkpoint"
_LINE: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249}) (?P<partition>\d{1,9}) \d+", re.ASCII)


def check_missing(held: HeldPartitions, view: QuorumView, odd: frozenset[int]) -> Iterator[Finding]:
    """A finding for each directory that is gone; `odd` replicas' logs go another way, and tell nothing."""
    for index, replica in enumerate(view.replicas):
        if index not in odd and replica.report.is_sound:
            yield from _of_broker(held, replica)


def _of_broker(held: HeldPartitions, replica: Replica) -> Iterator[Finding]:
    now, node_id = replica.report.image, replica.source.node_id
    if now is None or node_id is None:
        return
    broker_id = NodeId(node_id)
    disks = _all_disks(replica, broker_id, now)
    if not disks:
        return
    listed = [one for disk in replica.source.log_directories for one in held.get(disk.path, ()) if one.is_in_use]
    present = {(one.facts.topic_name, one.facts.partition) for one in listed}
    sink = FindingSink(node_id)
    proofs = _proofs(disks.values(), sink)
    had_time = _at_work(replica, broker_id, now)
    for topic_id, topic in now.topics.by_id.items():
        for partition in topic.partitions:
            key = (topic.name, partition.partition_id)
            if key in present or broker_id not in partition.replicas:
                continue
            disk = disks.get(_assigned(partition, broker_id))
            proof = proofs.get(key)
            if had_time is not None and disk is not None and _was_settled(had_time, topic_id, partition, broker_id):
                because = "and the broker went on long after that"
            elif proof is not None and not _may_be_older(replica, partition, broker_id, topic.name, disks):
                disk, because = proof, f"and {proof.path / _OFFSETS_FILE} says that the broker had it there"
            else:
                continue
            name = f"{topic.name}-{partition.partition_id}"
            if any((other.path / name).exists() for other in disks.values()):
                continue  # made since they were listed
            what = (
                f"{name} is not there, nor on another disk of the broker: the log has the broker as its replica in "
                f"directory {id_text(_assigned(partition, broker_id))}, {because}"
            )
            sink.add("partition_missing", what, file=str(disk.path / name), topic_id=id_text(topic_id))
    yield from sink.findings


def _proofs(disks: Collection[LogDirectory], sink: FindingSink) -> dict[tuple[str, int], LogDirectory]:
    """The partitions that the disks' own files list, with the disk. A line that is none proves nothing."""
    found: dict[tuple[str, int], LogDirectory] = {}
    for disk in disks:
        path = disk.path / _OFFSETS_FILE
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        except OSError as error:
            sink.add("unreadable_file", f"it cannot be read: {error.strerror or error}", file=str(path))
            continue
        lines = (_LINE.fullmatch(line) for line in text.split("\n"))
        found |= {(line["topic"], int(line["partition"])): disk for line in lines if line is not None}
    return found


def _may_be_older(
    replica: Replica, partition: PartitionImage, broker_id: NodeId, name: str, disks: Collection[DirectoryId]
) -> bool:
    """Whether the line may be of an earlier topic of the name, or the replica on a disk that is not here."""
    assigned = _assigned(partition, broker_id)
    elsewhere = assigned not in disks and (assigned == LOST_DIRECTORY_ID or not is_reserved_directory_id(assigned))
    return elsewhere or replica.report.rules.was_name_removed(name)


def _was_settled(then: MetadataImage, topic_id: TopicId, partition: PartitionImage, broker_id: NodeId) -> bool:
    """Whether the replica was assigned to a directory already then."""
    earlier = then.topics.partition(topic_id, partition.partition_id)
    if earlier is None or broker_id not in earlier.replicas:
        return False
    return not is_reserved_directory_id(_assigned(earlier, broker_id))


def _at_work(replica: Replica, broker_id: NodeId, now: MetadataImage) -> MetadataImage | None:
    """The metadata as it was a while before the log's end, if the broker was at work then; else None."""
    then = replica.report.settled
    if then is None:
        return None
    registered, earlier = now.cluster.brokers.get(broker_id), then.cluster.brokers.get(broker_id)
    if registered is None or earlier is None or earlier.epoch != registered.epoch or earlier.fenced:
        return None
    return then


def _all_disks(replica: Replica, broker_id: NodeId, now: MetadataImage) -> Mapping[DirectoryId, LogDirectory]:
    """The broker's disks by their ids, if all of them are here; else none."""
    registered = now.cluster.brokers.get(broker_id)
    if registered is None:
        return {}
    disks = {
        disk.identity.directory_id: disk
        for disk in replica.source.log_directories
        if disk.identity is not None and disk.identity.directory_id is not None
    }
    return disks if registered.directories and set(registered.directories) <= disks.keys() else {}


def _assigned(partition: PartitionImage, broker_id: NodeId) -> DirectoryId:
    return partition.directories[partition.replicas.index(broker_id)]
