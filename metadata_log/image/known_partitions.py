"""Partitions by the bytes that describe them, so that the same state is worked out, and kept in memory, once.

Decides: which PartitionRecords need not be decoded to be replayed: those that differ from an earlier one in nothing but
the topic. Most new partitions do. Must not know: what a record does (`topics_builder` does), and batches.

Only what was understood once is remembered, byte for byte, so whatever cannot be read or makes no sense takes the long
way and is refused there.
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
"""Bounds the table. When it is full it starts anew."""

_known: dict[bytes, PartitionImage] = {}


class KnownPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A PartitionRecord, read as far as replay needs it."""

    topic_id: TopicId
    partition: PartitionImage


Replayable: TypeAlias = MetadataRecord | KnownPartition
"""What replay takes."""


def read_for_replay(value: bytes) -> Replayable:
    """`decode_record`, or what replay makes of it.

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
    """The same for whoever has the record already; `value` is what it was encoded to."""
    if type(record) is not PartitionRecord or value[:2] != _FRAME:
        return record
    described = value[2:TOPIC_ID_AT] + value[TOPIC_ID_END:]
    partition = _known.get(described)
    if partition is None:
        try:
            partition = partition_of(record)
        except ImpossibleRecordError:
            return record  # replay says what is wrong with it, and where
        if len(_known) >= _MOST:
            _known.clear()
        _known[described] = partition
    return KnownPartition(topic_id=record.topic_id, partition=partition)
