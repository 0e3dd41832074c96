"""Partitions as the values of PartitionRecords, for whoever writes many: what describes a partition is encoded once.

Decides: which bytes of a value are its topic's, and which its partition's. Must not know: where the values go. The way
back is `known_partitions`.
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
"""Bounds the table. When it is full it starts anew."""


class PartitionValues:
    """Of one level. Topics share their partitions' images, so that these are looked up by identity: the table keeps
    each, and so no other takes its place."""

    __slots__ = ("_around_ids", "_level", "_version", "_with_elr")

    def __init__(self, level: int, *, with_elr: bool) -> None:
        self._level = level
        self._version = write_version(PartitionRecord, level)
        self._with_elr = with_elr
        self._around_ids: dict[int, tuple[bytes, bytes, PartitionImage]] = {}

    def of(self, topic_id: TopicId, partition: PartitionImage) -> bytes:
        """The value of the record that says all of a partition.

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
