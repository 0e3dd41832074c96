"""Encoding of many partitions as PartitionRecords: the bytes of equal partition states are encoded once.

Decides: which bytes of a value are the topic id, and which the partition. `known_partitions` is the inverse.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from metadata_log.image.to_records import partition_record
from metadata_log.image.topics import PartitionImage
from metadata_log.records import PartitionRecord, encode_record
from metadata_log.records.alike import TOPIC_ID_AT, TOPIC_ID_END
from metadata_log.records.levels import write_version

_MOST: Final = 1 << 14
"""The largest number of entries; a full table is cleared."""


class PartitionValues:
    """The encoder for one level.

    Topics share equal partition images, so the table looks them up by identity. It keeps a reference to each, so that
    no other object can get the same id.
    """

    __slots__ = ("_around_ids", "_level", "_version", "_with_elr")

    def __init__(self, level: int, *, with_elr: bool) -> None:
        self._level = level
        self._version = write_version(PartitionRecord, level)
        self._with_elr = with_elr
        self._around_ids: dict[int, tuple[bytes, bytes, PartitionImage]] = {}

    def of(self, topic_id: TopicId, partition: PartitionImage) -> bytes:
        """Return the encoded record that describes a partition.

        Raises:
            UnwritableMetadataError: as `to_records.partition_record`.
        """
        around = self._around_ids.get(id(partition))
        if around is None:
            around = self._remember(partition)
        return around[0] + topic_id + around[1]

    def _remember(self, partition: PartitionImage) -> tuple[bytes, bytes, PartitionImage]:
        record = partition_record(ZERO_TOPIC_ID, partition, self._level, with_elr=self._with_elr)
        value = encode_record(record, self._version)
        if len(self._around_ids) >= _MOST:
            self._around_ids.clear()
        around = self._around_ids[id(partition)] = (value[:TOPIC_ID_AT], value[TOPIC_ID_END:], partition)
        return around
