"""A new own id for the metadata topic in a log that becomes another cluster's.

Decides: the new id, the same on every node, and which records contain it. Must not know: files. A restored backup and
`kraft recover cluster-id` use it. With the new id, replicas of the former log hold instead of following the new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

from metadata_log.errors import InvariantViolation
from metadata_log.format.batch import CRC_COVERS_FROM, CRC_POSITION, BatchHeader, batch_values
from metadata_log.format.crc import crc32c
from metadata_log.ids import ID_BYTES, METADATA_TOPIC_NAME, TopicId, as_random_uuids, is_assignable
from metadata_log.records import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode_record,
)

NewIds = Mapping[TopicId, TopicId]
"""Former topic id → new topic id."""

_NAME: Final = METADATA_TOPIC_NAME.encode()
_NAMING: Final = (TopicRecord, PartitionRecord, PartitionChangeRecord, RemoveTopicRecord)


def own_id_in_cluster(former: TopicId, cluster_id: str) -> TopicId:
    """Return the new own id, in cluster `cluster_id`, of a log that had the id `former`. Every node gets the same."""
    for salt in count():
        drawn = hashlib.blake2b(former + cluster_id.encode(), digest_size=ID_BYTES, salt=b"%d" % salt).digest()
        own_id = as_random_uuids(drawn)
        if is_assignable(own_id) and own_id != former:
            return TopicId(own_id)
    raise InvariantViolation("no id was found")


def own_ids_named(values: Iterable[bytes]) -> list[TopicId]:
    """Return the ids that these records (TopicRecord) assign to the metadata topic.

    Raises:
        RecordError: a record that contains the topic's name cannot be read.
    """
    records = [decode_record(value) for value in values if value.find(_NAME) >= 0]
    return [one.topic_id for one in records if isinstance(one, TopicRecord) and one.name == METADATA_TOPIC_NAME]


def with_new_ids(value: bytes, new_ids: NewIds) -> bytes:
    """Return the record with its topic id replaced if that is a former one. The length does not change.

    Raises:
        RecordError: the record contains the bytes of a former id, and cannot be read.
    """
    for former, new in new_ids.items():
        at = value.find(former)
        if at >= 0:
            record = decode_record(value)
            if isinstance(record, _NAMING) and record.topic_id == former:
                return value[:at] + new + value[at + ID_BYTES :]
    return value


def batch_patches(batch: bytes, header: BatchHeader, new_ids: NewIds) -> list[tuple[int, bytes]]:
    """Return the changes to a whole, sound batch, as (position, bytes): the checksum and each replaced id.

    Raises:
        RecordError: a record contains the bytes of a former id, and cannot be read.
        CorruptBatchError: a record's framing is wrong.
    """
    if header.is_control or not any(batch.find(former) >= 0 for former in new_ids):
        return []
    changed = bytearray(batch)
    at = 0
    for value in batch_values(batch, header):
        new = with_new_ids(value, new_ids)
        if new != value:
            at = batch.index(value, at)
            changed[at : at + len(value)] = new
            at += len(value)
    if changed == batch:
        return []
    checksum = crc32c(memoryview(changed)[CRC_COVERS_FROM:]).to_bytes(4, "big")
    changed[CRC_POSITION:CRC_COVERS_FROM] = checksum
    patches = [(CRC_POSITION, checksum)]
    for former, new_id in new_ids.items():
        start = batch.find(former)
        while start >= 0:
            if changed.startswith(new_id, start):
                patches.append((start, bytes(new_id)))
            start = batch.find(former, start + 1)
    return sorted(patches)
