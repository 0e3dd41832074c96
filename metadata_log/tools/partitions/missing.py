"""Partition directories that a broker must have, by the log, and lacks.

Decides: which are missing. Must not know: the content of directories, and when a broker must have one
(`required_replicas` does).

A directory that a quarantine moved away is not lost: the journal beside the partitions states where it is. A copy of
the metadata log alone lacks nothing: it holds no partition and no file that a broker leaves on its disks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import id_text
from metadata_log.image import PartitionImage
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.partitions.directories import HeldPartitions
from metadata_log.tools.partitions.missing_everywhere import (
    Absent,
    TopicAndPartition,
    absent_partitions,
    lost_everywhere,
)
from metadata_log.tools.partitions.partition_advice import JOURNAL, QUARANTINED
from metadata_log.tools.partitions.quarantine import JOURNAL_FILE, Move, QuarantineError, moved_away
from metadata_log.tools.partitions.required_replicas import own_log
from metadata_log.tools.read.disks import is_brokers_disk
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.times import time_text


def check_missing(held: HeldPartitions, view: ReplicaSet, odd: frozenset[int]) -> Iterator[Finding]:
    """Yield a finding for each missing directory. The logs of `odd` replicas diverge and prove nothing."""
    absent: list[tuple[TopicAndPartition, Absent]] = []
    for index, replica in enumerate(view.replicas):
        if index not in odd and replica.facts.is_sound and _has_partitions(held, replica.source):
            yield from _of_broker(held, replica, absent)
    yield from lost_everywhere(absent)


def _has_partitions(held: HeldPartitions, node: NodeSource) -> bool:
    """Return True if these directories hold, or once held, a broker's partitions. A copy of the log alone does not."""
    return any(
        held.get(disk.path) or (disk.path / JOURNAL_FILE).exists() or is_brokers_disk(OsFiles(), str(disk.path))
        for disk in node.log_directories
        if not is_export(disk.path)
    )


def _of_broker(
    held: HeldPartitions, replica: Replica, absent: list[tuple[TopicAndPartition, Absent]]
) -> Iterator[Finding]:
    """Yield the directories that this broker must have and lacks. Others that it lacks are added to `absent`."""
    sink = FindingSink(replica.source.node_id)
    own = own_log(replica, sink)
    if own is None:
        return
    listed = [one for disk in replica.source.log_directories for one in held.get(disk.path, ()) if one.is_in_use]
    present = {(one.facts.topic_name, one.facts.partition) for one in listed}
    quarantined = _quarantined(own.disks.values(), sink)
    missing: dict[TopicAndPartition, tuple[str, PartitionImage]] = {}
    for topic_id, topic in own.now.topics.by_id.items():
        for partition in topic.partitions:
            if (topic.name, partition.partition_id) in present or own.broker_id not in partition.replicas:
                continue
            due = own.due(topic_id, topic.name, partition)
            name = f"{topic.name}-{partition.partition_id}"
            if any((other.path / name).is_dir() for other in own.disks.values()):
                continue  # created since the directories were listed
            if due is None:
                if name not in quarantined:
                    missing[topic_id, partition.partition_id] = topic.name, partition
                continue
            what = (
                f"{name} is not there, nor on another disk of the broker: the log has the broker as its replica in "
                f"directory {id_text(own.assigned(partition))}, {due.because}"
            )
            file, away = str(due.disk.path / name), quarantined.get(name)
            if away is None:
                sink.add("partition_missing", what, file=file, topic_id=id_text(topic_id))
            else:
                _add_quarantined(sink, away, file, id_text(topic_id))
    absent += absent_partitions(own, missing, listed)
    yield from sink.findings


def _add_quarantined(sink: FindingSink, away: tuple[LogDirectory, Move], file: str, topic_id: str) -> None:
    """Report a directory that `kraft storage audit --quarantine` moved, as the journal states."""
    disk, move = away
    name = file.rsplit("/", 1)[-1]
    what = (
        f"{name} is not there: kraft storage audit --quarantine moved it to {move.target} at {time_text(move.at_ms)}, "
        f"for it was {move.kind!r} ({move.why}); {disk.path / JOURNAL_FILE} has the entry"
    )
    sink.add("partition_missing", what, severity=Severity.WARNING, file=file, topic_id=topic_id, advice=QUARANTINED)


def _quarantined(disks: Collection[LogDirectory], sink: FindingSink) -> dict[str, tuple[LogDirectory, Move]]:
    """Return the moves away from these disks, by the directory's name, with the disk whose journal has the move."""
    found: dict[str, tuple[LogDirectory, Move]] = {}
    for disk in disks:
        path = disk.path / JOURNAL_FILE
        try:
            found |= {name: (disk, move) for name, move in moved_away(disk.path).items()}
        except QuarantineError as error:
            sink.add("corrupt_file", str(error), file=str(path), advice=JOURNAL)
        except OSError as error:
            sink.add_unreadable(str(path), error)
    return found
