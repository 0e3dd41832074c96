"""Topics and partitions as no controller makes them: left out, made twice, with impossible epochs or directories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from metadata_log.format.batch import batch_values, parse_header
from metadata_log.ids import UNASSIGNED_DIRECTORY_ID, DirectoryId
from metadata_log.records import (
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    decode_record,
)
from tests.support.damage import Cluster, Damage, Planted, split, with_values, write
from tests.support.damage_records import NEW_ID, appended, live_topic, made_topic, partition_record
from tests.support.damage_values import directory_of_broker

NOWHERE = DirectoryId(b"some directory..")
TOPIC = TopicRecord(name="new", topic_id=NEW_ID)


def _made(*partition_ids: int) -> list[MetadataRecord]:
    return [TOPIC, *(partition_record(NEW_ID, partition_id=number) for number in partition_ids)]


def _moved_to(directory: Callable[[Cluster], DirectoryId]) -> Callable[[Cluster], list[MetadataRecord]]:
    """Assign the first replica of a new partition to a directory."""

    def records(cluster: Cluster) -> list[MetadataRecord]:
        directories = (directory(cluster), UNASSIGNED_DIRECTORY_ID)
        return [*_made(0), PartitionChangeRecord(partition_id=0, topic_id=NEW_ID, directories=directories)]

    return records


def gap_in_checkpoint(cluster: Cluster) -> Planted:
    """A valid checkpoint that leaves out the first partition of a topic."""
    path = max(cluster.metadata(11).glob("*.checkpoint"))
    batches = split(path)
    values = batch_values(batches[1], parse_header(batches[1]))
    records = [decode_record(value) for value in values]
    numbers = [number for number, record in enumerate(records) if isinstance(record, PartitionRecord)]
    left_out = next(number for number in numbers if (records[number].partition_id, number + 1 in numbers) == (0, True))  # type: ignore[union-attr]
    batches[1] = with_values(batches[1], values[:left_out] + values[left_out + 1 :])
    header = parse_header(batches[1])
    position = len(batches[0])
    batches[2] = _later(batches[2], -1)
    write(path, batches)
    return Planted("partition_gap", 11, path, int(header.base_offset) + left_out, position)


def _later(batch: bytes, by: int) -> bytes:
    return (int.from_bytes(batch[:8], "big") + by).to_bytes(8, "big") + batch[8:]


def _disk_of_topic(cluster: Cluster, node_id: int) -> Path:
    """Return the directory of a partition on the first disk of a broker that has two."""
    return next(path.parent for path in sorted((cluster.node(node_id) / "data").glob("[a-z]*-0/partition.metadata")))


def on_other_disk(cluster: Cluster) -> Planted:
    """A partition's directory that was moved by hand to the broker's other disk."""
    path = _disk_of_topic(cluster, 11)
    target = cluster.node(11) / "data1" / path.name
    path.rename(target)
    return Planted("partition_on_other_disk", 11, target)


TOPIC_DAMAGE = [
    appended("first_partition_left_out", "partition_gap", lambda c: _made(1), index=1),
    appended("partition_left_out", "partition_gap", lambda c: _made(0, 1, 3), index=3),
    appended(
        "partition_left_out_in_transaction",
        "partition_gap",
        lambda c: [BeginTransactionRecord(), *_made(1), EndTransactionRecord()],
        index=2,
    ),
    appended(
        "partition_left_out_later",
        "partition_gap",
        lambda c: [partition_record(live_topic(c)[1], partition_id=99)],
    ),
    appended("no_partition_at_all", "topic_without_partitions", lambda c: [TOPIC]),
    appended("partition_twice_in_batch", "partition_repeated", lambda c: _made(0, 0), index=2),
    appended(
        "partition_made_again",
        "partition_repeated",
        lambda c: [partition_record(live_topic(c)[1], partition_epoch=99, leader_epoch=99)],
    ),
    appended("leader_epoch_jumps", "partition_epoch_not_zero", made_topic(leader_epoch=5000), index=1),
    appended("partition_epoch_jumps", "partition_epoch_not_zero", made_topic(partition_epoch=7), index=1),
    appended(
        "directory_of_nowhere", "unknown_directory", made_topic(directories=(NOWHERE, UNASSIGNED_DIRECTORY_ID)), index=1
    ),
    appended("directory_of_other", "unknown_directory", _moved_to(lambda c: directory_of_broker(c, 12)), index=2),
    appended("directory_changed_to_nowhere", "unknown_directory", _moved_to(lambda c: NOWHERE), index=2),
    Damage("partition_left_out_of_checkpoint", "failovers", gap_in_checkpoint),
    Damage("partition_moved_by_hand", "every-record", on_other_disk),
]
