"""The batch by which a follower's Fetch names its history; the leader looks for it in its own log.

An agent names the newest committed one in each Fetch. A controller names its last one until a leader has shown to have
it: in a right log nothing else can stand where the leader finds our last offset and epoch.

Raft compares two logs by offset and epoch. That is not enough beside controllers that were restored to an older copy.
They use the epochs after that copy a second time, for other records. The CRC of a batch, which covers its timestamps,
tells these records apart.

Decides: which batch is named, and when a log has it. Must not know: what follows where it is missing.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from metadata_log.format.batch import BatchHeader, parse_header
from metadata_log.offsets import Offset
from metadata_log.storage.file_log import FileLog
from quorum.api.raft_messages import CommittedBatch

_MOST_LATER: Final = 64
"""So many batches past the committed end are remembered; of more, the newest."""


class _Later(msgspec.Struct, frozen=True, gc=False):
    end_offset: Offset
    batch: CommittedBatch


class CommittedBatches:
    """A follower's side: batches as they are appended, until they are committed."""

    def __init__(self, newest: CommittedBatch | None, first: BatchHeader | None = None) -> None:
        """`first` is the log's first batch, if none is known to be committed."""
        self._newest = newest
        self._later: deque[_Later] = deque(maxlen=_MOST_LATER)
        if first is not None:
            self.on_appended(first)

    @property
    def are_known(self) -> bool:
        """Return True if a committed batch is known."""
        return self._newest is not None

    def on_appended(self, header: BatchHeader) -> None:
        """Note the last batch of an append."""
        self._later.append(_Later(header.next_offset, _named(header)))

    def on_truncated(self, end_offset: Offset) -> None:
        """Forget the batches past the new end of the log."""
        while self._later and self._later[-1].end_offset > end_offset:
            self._later.pop()

    def on_replaced(self) -> None:
        """Forget all: a snapshot takes the log's place."""
        self._newest = None
        self._later.clear()

    def newest(self, high_watermark: Offset) -> CommittedBatch | None:
        """Return the newest batch that ends at or before `high_watermark`.

        Without one, the first after it: a leader that has it has all before it, too. None if the log has no batch.
        """
        while self._later and self._later[0].end_offset <= high_watermark:
            self._newest = self._later.popleft().batch
        if self._newest is None and self._later:
            return self._later[0].batch
        return self._newest


class LastBatch:
    """A controller's side: the last batch of its log."""

    def __init__(self, last: CommittedBatch | None) -> None:
        self.last = last
        """None: it is not known, or the log has none."""

    def on_appended(self, header: BatchHeader) -> None:
        """Note the last batch of an append."""
        self.last = _named(header)

    def on_cut(self) -> None:
        """Forget it: the log was cut, or a snapshot takes its place."""
        self.last = None


def last_batch_of(log: FileLog) -> LastBatch:
    """Return the last batch of a log that was just opened.

    Raises:
        CorruptBatchError, OSError: the log cannot be read.
    """
    if log.start_offset >= log.log_end_offset:
        return LastBatch(None)
    return LastBatch(_named(parse_header(log.read(Offset(log.log_end_offset - 1), 1))))


def batches_of(log: FileLog, high_watermark: Offset) -> CommittedBatches:
    """Return the batches of a log that was just opened.

    Raises:
        CorruptBatchError, OSError: the log cannot be read.
    """
    end = min(high_watermark, log.log_end_offset)
    if log.start_offset >= log.log_end_offset:
        return CommittedBatches(None)
    header = parse_header(log.read(Offset(max(end - 1, log.start_offset)), 1))
    return CommittedBatches(_named(header)) if header.next_offset <= end else CommittedBatches(None, header)


def first_is(data: bytes, batch: CommittedBatch) -> bool:
    """Return True if these whole batches begin with that one."""
    return len(data) > 0 and _named(parse_header(data)) == batch


def _named(header: BatchHeader) -> CommittedBatch:
    return CommittedBatch(base_offset=header.base_offset, crc=header.crc)
