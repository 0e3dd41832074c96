"""Records of topics, directories and times that look odd, but that controllers write, have no finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metadata_log.format.batch import parse_header
from metadata_log.ids import (
    LOST_DIRECTORY_ID,
    METADATA_TOPIC_NAME,
    MIGRATING_DIRECTORY_ID,
    UNASSIGNED_DIRECTORY_ID,
    DirectoryId,
)
from metadata_log.records import (
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    TopicRecord,
    ZkMigrationStateRecord,
    encode_record,
)
from metadata_log.tools.check.check import check_paths
from tests.support.damage import Cluster, append, copy_cluster, split
from tests.support.damage_records import LEADER, NEW_ID, broker_record, partition_record
from tests.support.damage_topics import NOWHERE, TOPIC
from tests.support.damage_values import directory_of_broker

Records = Callable[[Cluster], Sequence[Sequence[MetadataRecord]]]
"""Of one batch after another; `_end` is the offset of the first."""


def _end(cluster: Cluster) -> int:
    return int(parse_header(split(cluster.segment(LEADER))[-1]).next_offset)


def _partition(number: int, *directories: DirectoryId) -> MetadataRecord:
    return partition_record(NEW_ID, partition_id=number, directories=directories)


def _change(*directories: DirectoryId) -> MetadataRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=NEW_ID, directories=directories)


LEGAL: dict[str, Records] = {
    "reserved": lambda c: [
        [TOPIC, _partition(0, UNASSIGNED_DIRECTORY_ID, LOST_DIRECTORY_ID)],
        [_change(LOST_DIRECTORY_ID, MIGRATING_DIRECTORY_ID)],
    ],
    "own": lambda c: [[TOPIC, _partition(0, directory_of_broker(c, 11), directory_of_broker(c, 12))]],
    "lost_since": lambda c: [
        [TOPIC, _partition(0, UNASSIGNED_DIRECTORY_ID, UNASSIGNED_DIRECTORY_ID)],
        [broker_record(11, _end(c) + 2, (NOWHERE,))],
        [_change(directory_of_broker(c, 11), UNASSIGNED_DIRECTORY_ID)],
    ],
    "transaction_of_two_batches": lambda c: [
        [BeginTransactionRecord(), TOPIC],
        [_partition(1)],
        [_partition(0)],
        [EndTransactionRecord()],
    ],
    "the_metadata_topic": lambda c: [[TopicRecord(name=METADATA_TOPIC_NAME, topic_id=NEW_ID)]],
    "from_zookeeper": lambda c: [
        [ZkMigrationStateRecord(zk_migration_state=2)],
        [TOPIC, partition_record(NEW_ID, leader_epoch=12, partition_epoch=40)],
    ],
}


@pytest.mark.parametrize("records", LEGAL.values(), ids=LEGAL)
def test_what_controllers_write_is_no_finding(records: Records, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for batch in records(cluster):
        versions = {RegisterBrokerRecord: 3, PartitionChangeRecord: 2}
        values = [
            encode_record(record, versions.get(type(record), 2 if getattr(record, "directories", None) else 0))
            for record in batch
        ]
        append(cluster.segment(LEADER), values)

    report = check_paths([cluster.root])

    assert [found for found in report.findings if found.counts] == []


def test_a_replica_on_its_way_to_another_disk_is_not_misplaced(clusters: Path, tmp_path: Path) -> None:
    """The copy grows on the disk that the log names already; its directory ends in -future until it takes over."""
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    path = next(path.parent for path in sorted((cluster.node(11) / "data").glob("[a-z]*-0/partition.metadata")))
    moved = cluster.node(11) / "data1" / path.name
    path.rename(moved)
    growing = path.with_name(f"{path.name}.{'0' * 32}-future")
    growing.mkdir()
    (growing / "partition.metadata").write_bytes((moved / "partition.metadata").read_bytes())

    assert "partition_on_other_disk" not in {found.kind for found in check_paths([cluster.root]).findings}
