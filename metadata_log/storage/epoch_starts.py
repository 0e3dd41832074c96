"""The begin of an epoch: the record of its leader, which every leader writes first, and a repair in its place.

Decides: whether a batch may begin an epoch. Must not know: what becomes of a log in which one may not.

A batch's epoch is outside its checksum. One bit of it makes a log seem to have come further than any other.

One epoch begins otherwise. On an empty log of several voters, Kafka 3.3 to 3.5 appended the batch of the bootstrap
records before that of the LeaderChange (KAFKA-15345).
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError, UnknownRecordError
from metadata_log.format.batch import batch_records, parse_header
from metadata_log.records import LeaderChangeMessage, decode_control
from metadata_log.storage.segment import LocatedBatch


def leads(batch: LocatedBatch) -> bool:
    """Return True if it begins with a LeaderChange, of a later release's version, too."""
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
    """Why this batch cannot be of its epoch, or None.

    Args:
        batch: goes on where the one before it ended, or is the log's first.
        before: the epoch of the one before; -1 for the log's first, which may stand within its epoch unless at offset
            0: what was before it may have been trimmed away.
        is_led: whether it begins with a LeaderChange.
    """
    epoch, offset = int(batch.header.partition_leader_epoch), int(batch.header.base_offset)
    if is_led or epoch <= before or (before < 0 and (offset > 0 or _is_led_later(batch))):
        return None
    return f"epoch {epoch} begins here without a LeaderChange"


def _is_led_later(first: LocatedBatch) -> bool:
    """Return True if a LeaderChange of its epoch or of a later one follows the log's first batch, or nothing does.

    A leader that stopped after its first batch was replicated, and before its LeaderChange was, leaves the later one.
    """
    end = first.at + first.header.size_in_bytes
    if end >= len(first.buffer):
        return True
    try:
        header = parse_header(first.buffer, end)
    except MetadataLogError:
        return True  # damage, which is found by itself
    position = first.position + first.header.size_in_bytes
    following = LocatedBatch(position=position, header=header, buffer=first.buffer, at=end)
    return 0 < first.header.partition_leader_epoch <= header.partition_leader_epoch and leads(following)
