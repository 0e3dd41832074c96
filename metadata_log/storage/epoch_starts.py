"""The start of an epoch: the LeaderChange record that every leader, or a repair in its place, writes first.

Decides: whether a batch may start an epoch.

The checksum leaves out a batch's epoch. One flipped bit of it makes a log look more up to date than all others. There
is one exception: on an empty log of several voters, Kafka 3.3 to 3.5 appended the bootstrap records before the
LeaderChange (KAFKA-15345).
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError, UnknownRecordError
from metadata_log.format.batch import batch_records, parse_header
from metadata_log.records import LeaderChangeMessage, decode_control
from metadata_log.storage.segment import LocatedBatch


def leads(batch: LocatedBatch) -> bool:
    """Return True if the batch begins with a LeaderChange, possibly of a later version."""
    if not batch.header.is_control:
        return False
    try:
        first = next(iter(batch_records(batch.buffer, batch.header, batch.at)), None)
        return first is not None and isinstance(
            decode_control(first.key or b"", first.value or b""), LeaderChangeMessage
        )
    except UnknownRecordError as error:
        return error.api_key == LeaderChangeMessage.CONTROL_TYPE
    except MetadataLogError:
        return False


def unled_epoch(batch: LocatedBatch, before: int, *, is_led: bool) -> str | None:
    """Return why this batch cannot have its epoch, or None.

    Args:
        batch: follows the batch before it without a gap, or is the log's first.
        before: the epoch of the batch before; -1 for the log's first. Unless that is at offset 0, it may be within its
            epoch: the records before it may have been trimmed.
        is_led: True if the batch begins with a LeaderChange.
    """
    epoch, offset = int(batch.header.partition_leader_epoch), int(batch.header.base_offset)
    if is_led or epoch <= before or (before < 0 and (offset > 0 or _is_led_later(batch))):
        return None
    return f"epoch {epoch} begins here without a LeaderChange"


def _is_led_later(first: LocatedBatch) -> bool:
    """Return True if the log's first batch is the last, or a LeaderChange of the same or a later epoch follows.

    It is of a later epoch if the leader stopped between the replication of its first batch and of its LeaderChange.
    """
    end = first.at + first.header.size_in_bytes
    if end >= len(first.buffer):
        return True
    try:
        header = parse_header(first.buffer, end)
    except MetadataLogError:
        return True  # corruption, which reading the next batch reports
    position = first.position + first.header.size_in_bytes
    following = LocatedBatch(position=position, header=header, buffer=first.buffer, at=end)
    return 0 < first.header.partition_leader_epoch <= header.partition_leader_epoch and leads(following)
