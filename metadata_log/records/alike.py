"""Encoding of many PartitionRecords that differ only in their ids, as a request for many topics makes them.

Decides: which bytes of a value are the record's ids. The other bytes are encoded once.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from metadata_log.records.declarations.topics import PartitionRecord
from metadata_log.records.serde import encode_record

TOPIC_ID_AT, TOPIC_ID_END = 7, 23
"""The position of the topic id in every version: it follows frame, version and partition id."""
_IDS: Final = Struct(">i16s")
_IDS_AT: Final = TOPIC_ID_END - _IDS.size
_ID_BYTES: Final = 16
_LARGEST_ID: Final = (1 << 31) - 1
_MOST: Final = 1 << 12
"""The largest number of entries; a full table is cleared."""


class PartitionEncoder:
    """The encoder of one version. Its results equal those of `encode_record`."""

    __slots__ = ("_around_ids", "_version")

    def __init__(self, version: int) -> None:
        self._version = version
        self._around_ids: dict[object, tuple[bytes, bytes]] = {}

    def encode(self, record: PartitionRecord) -> bytes:
        """Return the record's value.

        Raises:
            InvariantViolation, MalformedRecordError: as `encode_record`.
        """
        rest = (
            record.replicas,
            record.isr,
            record.removing_replicas,
            record.adding_replicas,
            record.leader,
            record.leader_recovery_state,
            record.leader_epoch,
            record.partition_epoch,
            record.directories,
            record.eligible_leader_replicas,
            record.last_known_elr,
        )
        around = self._around_ids.get(rest)
        if around is None or len(record.topic_id) != _ID_BYTES or not 0 <= record.partition_id <= _LARGEST_ID:
            return self._encode(rest, record)
        return around[0] + _IDS.pack(record.partition_id, record.topic_id) + around[1]

    def _encode(self, rest: object, record: PartitionRecord) -> bytes:
        value = encode_record(record, self._version)
        if len(self._around_ids) >= _MOST:
            self._around_ids.clear()
        self._around_ids[rest] = (value[:_IDS_AT], value[TOPIC_ID_END:])
        return value
