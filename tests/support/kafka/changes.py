"""The records that a controller writes while brokers fail, batch by batch, with names in place of ids.

Must not know: which implementation the controller is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from metadata_log.directory.meta_properties import read_meta_properties
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_values, check_batch, parse_header
from metadata_log.ids import DirectoryId
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    decode_record,
)

_HEADER_BYTES: Final = 61

Change = tuple[str, int, dict[str, Any]]
"""A topic's name (`broker` for a registration), partition or broker id, and the fields that are not at their
default."""


def batches(metadata_dir: Path) -> Iterator[list[MetadataRecord]]:
    """Yield the records of each batch of a log from offset 0; an unfinished last batch is left for the next call."""
    data = b"".join(segment.read_bytes() for segment in sorted(metadata_dir.glob("*.log")))
    position = 0
    while len(data) - position >= _HEADER_BYTES:
        if position + parse_header(data, position).size_in_bytes > len(data):
            return
        header = check_batch(data, position)
        if not header.is_control:
            yield [decode_record(value) for value in batch_values(data, header, position)]
        position += header.size_in_bytes


def directory_ids(log_dirs: list[Path]) -> dict[DirectoryId, str]:
    """Return the name of each log directory by the id in its meta.properties."""
    return {read_meta_properties(OsFiles(), str(path)).directory_id: path.name for path in log_dirs}


def placed(metadata_dir: Path, topic: str) -> dict[int, tuple[DirectoryId, ...]]:
    """Return the directories of a topic's replicas, by partition, as far as the controller knows them."""
    names: dict[Any, str] = {}
    found: dict[int, tuple[DirectoryId, ...]] = {}
    for record in (record for batch in batches(metadata_dir) for record in batch):
        if isinstance(record, TopicRecord):
            names[record.topic_id] = record.name
        elif not isinstance(record, PartitionRecord | PartitionChangeRecord) or names[record.topic_id] != topic:
            continue
        elif record.directories:
            found[record.partition_id] = record.directories
    return found


def changes(metadata_dir: Path) -> Iterator[list[Change]]:
    """Yield the changes of partitions and of brokers' registrations in each batch that has any."""
    names: dict[Any, str] = {}
    for batch in batches(metadata_dir):
        told: list[Change] = []
        for record in batch:
            if isinstance(record, TopicRecord):
                names[record.topic_id] = record.name
            elif isinstance(record, PartitionChangeRecord):
                default: MetadataRecord = PartitionChangeRecord(
                    topic_id=record.topic_id, partition_id=record.partition_id
                )
                told.append((names[record.topic_id], record.partition_id, _set(record, default)))
            elif isinstance(record, BrokerRegistrationChangeRecord):
                default = BrokerRegistrationChangeRecord(broker_id=record.broker_id, broker_epoch=record.broker_epoch)
                told.append(("broker", record.broker_id, _set(record, default)))
        if told:
            yield told


def _set(record: MetadataRecord, default: MetadataRecord) -> dict[str, Any]:
    usual = msgspec.structs.asdict(default)
    return {name: value for name, value in msgspec.structs.asdict(record).items() if value != usual[name]}
