"""A test of bad bytes at the end of a log: one interrupted write, or destroyed records.

A node, here and in Kafka, appends at most 8 MiB in one write: a leader's batch, or a follower's Fetch response. It
allocates no space ahead in a segment. So an interrupted write begins as the expected batch, and ends with the file.
After a power cut, the file may have its new length, but lack whole sectors: these read as zeros from a sector's start.
"""

from __future__ import annotations

from typing import Final

from metadata_log.files.port import ReadHandle
from metadata_log.format.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC
from metadata_log.offsets import LARGEST_OFFSET

LARGEST_WRITE: Final = 8 << 20
"""KafkaRaftClient's MAX_BATCH_SIZE_BYTES and MAX_FETCH_SIZE_BYTES; `max_batch_bytes` and `fetch_max_bytes` here."""
_SECTOR: Final = 512
_OWN_ZEROS: Final = 16
"""A sound record may end with so many zeros."""
_EPOCHS_AHEAD: Final = 1 << 20
_MAGIC_AT: Final = 16


def may_be_one_write(handle: ReadHandle, position: int, size: int, *, offset: int, epoch: int) -> bool:
    """Return True if bytes `position` to `position + size`, the file's last, may be an interrupted write.

    Args:
        offset: the expected base offset.
        epoch: the least epoch.
    """
    if size > LARGEST_WRITE:
        return False
    data = handle.pread(size, position)
    written = len(data.rstrip(b"\0"))
    if written == 0:
        return True
    if not _begins_batch(data, written, offset, epoch):
        return False
    zeros = size - written
    if zeros < _SECTOR:
        return True
    return -(position + written) % _SECTOR <= _OWN_ZEROS


def _begins_batch(data: bytes, written: int, offset: int, epoch: int) -> bool:
    """Return True if the first bytes can be the header of the next batch; False if `offset` is impossible."""
    if not 0 <= offset <= LARGEST_OFFSET or data[:8] != offset.to_bytes(8, "big")[: len(data)]:
        return False
    if written >= LOG_OVERHEAD:
        length = int.from_bytes(data[8:12], "big", signed=True)
        if not HEADER_SIZE - LOG_OVERHEAD <= length <= LARGEST_WRITE:
            return False
    if written > _MAGIC_AT:
        found = int.from_bytes(data[12:16], "big", signed=True)
        return data[_MAGIC_AT] == MAGIC and epoch <= found <= epoch + _EPOCHS_AHEAD
    return True
