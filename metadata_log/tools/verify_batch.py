"""Whether what stands around a batch's values fits its header: offset deltas, timestamps.

Decides: exactly that, for data batches whose framing was found sound. Must not know: what the values mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metadata_log.batch import BatchHeader, Record, batch_records, build_batch
from metadata_log.errors import CorruptBatchError
from metadata_log.segment import LocatedBatch

_LOG_APPEND_TIME: Final = 0x08


def inner_fault(batch: LocatedBatch, values: Sequence[bytes]) -> str | None:
    """What is wrong within the batch, or None.

    Nearly every batch is what its values, built again, would be: then nothing can be wrong, and the records need not
    be looked at one by one.
    """
    header = batch.header
    built = build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        values=values,
    )
    if batch.buffer[batch.at : batch.at + header.size_in_bytes] == built:
        return None
    try:
        return record_fault(header, batch_records(batch.buffer, header, batch.at))
    except CorruptBatchError as error:
        return error.what


def record_fault(header: BatchHeader, records: Sequence[Record]) -> str | None:
    """What a batch's records say that its header does not, or None."""
    for index, record in enumerate(records):
        if record.offset != header.base_offset + index:
            return f"record {index} of it has offset {record.offset}, where {header.base_offset + index} is due"
    newest = max(record.timestamp_ms for record in records)
    if newest != header.max_timestamp and not header.attributes & _LOG_APPEND_TIME:
        return f"its greatest timestamp is {newest}, and its header says {header.max_timestamp}"
    return None
