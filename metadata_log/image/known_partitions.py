"""A table of partition states by their bytes, so that equal states are decoded, and kept in memory, once.

Decides: which PartitionRecords need no decoding: those that differ from an earlier one only in the topic id, as most
new partitions do. Must not know: the effect of a record (`topics_builder`), or batches.

The table has only states that decoded without error, byte for byte. Any other record is decoded, and raises there.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from metadata_log.ids import TopicId
from metadata_log.image.errors import ImpossibleRecordError
from metadata_log.image.topics import PartitionImage
from metadata_log.image.topics_builder import partition_of
from metadata_log.records import MetadataRecord, PartitionRecord, decode_record
from metadata_log.records.alike import TOPIC_ID_AT, TOPIC_ID_END

_FRAME: Final = bytes((1, PartitionRecord.API_KEY))
_MOST: Final = 1 << 14
"""The largest number of entries; a full table is cleared."""

_known: dict[bytes, PartitionImage] = {}


class KnownPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A PartitionRecord, read as far as replay needs it."""

    topic_id: TopicId
    partition: PartitionImage


Replayable: TypeAlias = MetadataRecord | KnownPartition
"""The input of replay."""


def read_for_replay(value: bytes) -> Replayable:
    """Decode a record for replay, with a look-up in place of decoding if its state is known.

    Raises:
        UnknownRecordError, MalformedRecordError: as `decode_record`.
    """
    if value[:2] != _FRAME:
        return decode_record(value)
    partition = _known.get(value[2:TOPIC_ID_AT] + value[TOPIC_ID_END:])
    if partition is None:
        record = decode_record(value)
        return for_replay(record, value)
    return KnownPartition(topic_id=TopicId(value[TOPIC_ID_AT:TOPIC_ID_END]), partition=partition)


def for_replay(record: MetadataRecord, value: bytes) -> Replayable:
    """Return the same for a decoded record; `value` is its encoding."""
    if type(record) is not PartitionRecord or value[:2] != _FRAME:
        return record
    described = value[2:TOPIC_ID_AT] + value[TOPIC_ID_END:]
    partition = _known.get(described)
    if partition is None:
        try:
            partition = partition_of(record)
        except ImpossibleRecordError:
            return record  # replay raises the error with its offset
        if len(_known) >= _MOST:
            _known.clear()
        _known[described] = partition
    return KnownPartition(topic_id=record.topic_id, partition=partition)
