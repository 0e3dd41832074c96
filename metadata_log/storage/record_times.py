"""The place of a record in a log by its time, for a checkpoint that says when its last record was appended.

Must not know: where the batches come from, and what follows for the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.format.batch import BatchHeader
from metadata_log.offsets import Offset, OffsetAndEpoch


def end_before(headers: Iterable[BatchHeader], end: OffsetAndEpoch, time_ms: int) -> Offset | None:
    """Return the end of a batch of that time, if a later batch of the epoch follows it before `end`, or None.

    An epoch has one leader, whose batches have times that never fall. So the record of that time is not the last before
    `end`, and a checkpoint that claims so has a wrong name. Several batches may have the same time.

    `headers`: the batches of the epoch of `end`, in order, from its first one in the log. Others may follow.
    """
    found = None
    for header in headers:
        if header.partition_leader_epoch != end.epoch or header.base_offset >= end.offset:
            break
        if found is not None and header.max_timestamp > time_ms:
            return found
        if header.max_timestamp == time_ms:
            found = header.next_offset
    return None
