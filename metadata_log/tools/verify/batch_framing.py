"""Checks that a batch's header fields, offset deltas and timestamps are what a controller writes.

The batch's length and checksum are already verified. Must not know: what the values mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metadata_log.errors import CorruptBatchError
from metadata_log.format.batch import BatchHeader, Record, batch_records, build_batch
from metadata_log.storage.segment import LocatedBatch

_LOG_APPEND_TIME: Final = 0x08
_CONTROL: Final = 0x20
_NAMED_BITS: Final = {_LOG_APPEND_TIME: "LogAppendTime", 0x10: "transactional", 0x40: "delete horizon"}
_UNSET: Final = -1


def foreign_fields(header: BatchHeader) -> str | None:
    """Return a phrase that names the fields of this header that no controller sets, or None.

    Controllers write attributes 0, or 0x20 for control batches, and neither a producer nor a sequence (Kafka's
    BatchBuilder).
    """
    bits = header.attributes & ~_CONTROL
    if not bits and header.producer_id == header.producer_epoch == header.base_sequence == _UNSET:
        return None
    found = [name for bit, name in _NAMED_BITS.items() if bits & bit]
    rest = bits & ~sum(_NAMED_BITS)
    if rest:
        found.append(f"unknown bits {rest & 0xFFFF:#06x}")
    parts = [f"the attributes {', '.join(found)}"] if found else []
    for what, value in (
        ("producer id", header.producer_id),
        ("producer epoch", header.producer_epoch),
        ("base sequence", header.base_sequence),
    ):
        if value != _UNSET:
            parts.append(f"{what} {value}")
    return " and ".join(parts)


def inner_fault(batch: LocatedBatch, values: Sequence[bytes]) -> str | None:
    """Return the first fault within the batch, as the end of a sentence, or None."""
    header = batch.header
    # Fast path: a batch that equals the one built from its own values has no fault. Nearly all batches do.
    built = build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        values=values,
    )
    if batch.buffer[batch.at : batch.at + header.size_in_bytes] == built:
        return None
    try:
        records = batch_records(batch.buffer, header, batch.at)
    except CorruptBatchError as error:
        return error.what
    for index, record in enumerate(records):
        if record.key is not None or record.headers:
            return f"record {index} of it has a key or headers, where metadata records have neither"
    return record_fault(header, records)


def record_fault(header: BatchHeader, records: Sequence[Record]) -> str | None:
    """Return how the records' offsets or timestamps contradict the batch's header, or None."""
    for index, record in enumerate(records):
        if record.offset != header.base_offset + index:
            return f"record {index} of it has offset {record.offset}, where {header.base_offset + index} is due"
    newest = max(record.timestamp_ms for record in records)
    if newest != header.max_timestamp and not header.attributes & _LOG_APPEND_TIME:
        return f"its greatest timestamp is {newest}, and its header says {header.max_timestamp}"
    return None
