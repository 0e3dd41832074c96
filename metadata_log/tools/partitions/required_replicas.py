"""The replicas that a broker must already hold, by its own log and its own disks.

Decides: when a broker certainly had a partition's directory, or had enough time to create it. Must not know: which
directories exist.

A broker creates the directory of a replica as soon as it reads its assignment (KIP-858). So the directory must exist
only if all of this holds:
- All log directories with which the broker is registered are named, and the replica is assigned to one of them.
- The broker's own replica of the log says so, and did already `SETTLED_MS` before its end.
- The broker was unfenced then, in the registration that it still has: so it had caught up.

If the log ends too soon for that, the disk may prove it. `replication-offset-checkpoint` has a line for each partition
that the broker had there. A broker writes it every few seconds (Kafka: `replica.high.watermark.checkpoint.interval.ms`)
and at its end. For a topic that was created again under its name the line proves nothing, because it may be of the
earlier topic. But after a clean shutdown it does (`clean_shutdown`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.ids import LOST_DIRECTORY_ID, DirectoryId, NodeId, TopicId, is_reserved_directory_id
from metadata_log.image import MetadataImage, PartitionImage
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.partitions.clean_shutdown import given_since_shutdown, was_stopped_cleanly
from metadata_log.tools.read.sources import LogDirectory
from metadata_log.tools.replicas.replica import Replica

OFFSETS_FILE: Final = "replication-offset-checkpoint"
_LINE: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249}) (?P<partition>\d{1,9}) \d+", re.ASCII)


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """A replica that the broker must hold: on which disk, and why, as the end of a sentence."""

    disk: LogDirectory
    because: str


class OwnLog(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's own log, and all of its disks.

    Attributes:
        now: the metadata at its end.
        then: the metadata a while before that, if the broker was at work then.
        listed: the partitions that the disks' offset files list.
        newer: returns the partitions for which the lines of a clean shutdown prove nothing; None without such a
            shutdown.
    """

    replica: Replica
    broker_id: NodeId
    now: MetadataImage
    then: MetadataImage | None
    disks: Mapping[DirectoryId, LogDirectory]
    listed: Mapping[tuple[str, int], LogDirectory]
    newer: Callable[[], frozenset[tuple[TopicId, int]] | None]

    def due(self, topic_id: TopicId, name: str, partition: PartitionImage) -> Due | None:
        """Return why the broker must hold its replica of this partition, or None if it need not."""
        disk = self.disks.get(self.assigned(partition))
        listed = self.listed.get((name, partition.partition_id))
        if disk is not None and self._was_settled(topic_id, partition):
            return Due(disk=disk, because="and the broker went on long after that")
        if listed is not None and not self._may_be_older(topic_id, partition, name):
            return Due(disk=listed, because=f"and {listed.path / OFFSETS_FILE} says that the broker had it there")
        return None

    def assigned(self, partition: PartitionImage) -> DirectoryId:
        """Return the directory to which the log assigns the broker's replica."""
        return _assigned(partition, self.broker_id)

    def _was_settled(self, topic_id: TopicId, partition: PartitionImage) -> bool:
        """Return True if the replica was assigned to a directory already in the image `then`."""
        earlier = None if self.then is None else self.then.topics.partition(topic_id, partition.partition_id)
        if earlier is None or self.broker_id not in earlier.replicas:
            return False
        return not is_reserved_directory_id(self.assigned(earlier))

    def _may_be_older(self, topic_id: TopicId, partition: PartitionImage, name: str) -> bool:
        """Return True if the line may be of an earlier topic of the name, or the replica on a disk that is not here."""
        assigned = self.assigned(partition)
        elsewhere = assigned not in self.disks and (
            assigned == LOST_DIRECTORY_ID or not is_reserved_directory_id(assigned)
        )
        if elsewhere or not self.replica.facts.rules.was_name_removed(name):
            return elsewhere
        newer = self.newer()
        return newer is None or (topic_id, partition.partition_id) in newer


def own_log(replica: Replica, sink: FindingSink) -> OwnLog | None:
    """Return the broker's own log, or None if it cannot be replayed to its end or a disk of the broker is missing.

    Faults of the disks' files are added to `sink`.
    """
    now, node_id = replica.facts.image, replica.source.node_id
    if now is None or node_id is None:
        return None
    broker_id = NodeId(node_id)
    disks = _all_disks(replica, broker_id, now)
    if not disks:
        return None
    then, listed = _at_work(replica, broker_id, now), _listed(disks.values(), sink)
    newer = cache(partial(_newer, replica, now.cluster.brokers[broker_id].epoch, tuple(disks.values())))
    return OwnLog(replica=replica, broker_id=broker_id, now=now, then=then, disks=disks, listed=listed, newer=newer)


def _newer(
    replica: Replica, broker_epoch: int, disks: Collection[LogDirectory]
) -> frozenset[tuple[TopicId, int]] | None:
    """Return the partitions assigned to the broker after it had asked to shut down, or None without a clean
    shutdown."""
    node_id = replica.source.node_id
    if node_id is None or not was_stopped_cleanly([disk.path for disk in disks], broker_epoch):
        return None
    return given_since_shutdown(replica.facts.segments, NodeId(node_id), broker_epoch)


def _listed(disks: Collection[LogDirectory], sink: FindingSink) -> dict[tuple[str, int], LogDirectory]:
    """Return the partitions in the disks' offset files, with the disk. An invalid line proves nothing."""
    found: dict[tuple[str, int], LogDirectory] = {}
    for disk in disks:
        path = disk.path / OFFSETS_FILE
        try:
            text = read_small_file(OsFiles(), str(path)).decode("utf-8", "replace")
        except (FileNotFoundError, CorruptFileError):
            continue  # a file that is too large proves nothing; `broker_files` reports it
        except OSError as error:
            sink.add_unreadable(str(path), error)
            continue
        lines = (_LINE.fullmatch(line) for line in text.split("\n"))
        found |= {(line["topic"], int(line["partition"])): disk for line in lines if line is not None}
    return found


def _at_work(replica: Replica, broker_id: NodeId, now: MetadataImage) -> MetadataImage | None:
    """Return the metadata a while before the log's end if the broker was at work then, otherwise None."""
    then = replica.facts.settled
    if then is None:
        return None
    registered, earlier = now.cluster.brokers.get(broker_id), then.cluster.brokers.get(broker_id)
    if registered is None or earlier is None or earlier.epoch != registered.epoch or earlier.fenced:
        return None
    return then


def _all_disks(replica: Replica, broker_id: NodeId, now: MetadataImage) -> Mapping[DirectoryId, LogDirectory]:
    """Return the broker's disks by their directory ids if all are here, otherwise none."""
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
