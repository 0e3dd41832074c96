"""The batch by which a follower's Fetch names its history; the leader looks for it in its own log.

An agent names the newest committed batch in each Fetch, or the last of its log while none is known to be committed. A
controller names its last batch until a leader has shown to have it. Before a log is cut, the batch before the cut is
named. A correct log with this log's end and its epoch has each of its batches.

Raft compares two logs by offset and epoch. That is not enough if other controllers were restored to an older copy. They
use the epochs after that copy a second time, for other records. The CRC of a batch, which covers its timestamps,
distinguishes these records.

Decides: which batch is named, and when a log has it. Must not know: the consequence if it is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Final

from metadata_log.errors import MetadataLogError
from metadata_log.format.batch import BatchHeader, parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.file_log import FileLog
from quorum.api.raft_messages import CommittedBatch, FetchRequest

_MOST_LATER: Final = 64
"""The most batches past the committed end that are kept; of more, the newest."""


class NamedBatch(ABC):
    """A follower's side: the batch that its next Fetch names."""

    def __init__(self) -> None:
        self.sent: CommittedBatch | None = None
        """The batch in the Fetch that was sent last."""
        self.wanted: CommittedBatch | None = None
        """The batch to name in place of the usual one, until a leader responds."""

    def for_fetch(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        """Return the batch to name in this Fetch to this node, or None."""
        self.sent = self.wanted or self._usual(request, destination_id)
        return self.sent

    @abstractmethod
    def _usual(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        """Return the batch to name if no other is wanted."""

    @abstractmethod
    def is_committed(self, batch: CommittedBatch | None) -> bool:
        """Return True if this is the newest batch that is known to be committed."""

    @abstractmethod
    def on_shown(self, leader_id: int, epoch: Epoch) -> None:
        """Note that the leader of this epoch has the batch that was sent."""

    @abstractmethod
    def on_appended(self, header: BatchHeader) -> None:
        """Note the last batch of an append."""

    def on_truncated(self, end_offset: Offset, last: BatchHeader | None) -> None:
        """Discard the batches past the new end of the log, whose last one is now `last`."""
        self.wanted = None

    def on_replaced(self) -> None:
        """Discard all batches: a snapshot replaces the log."""
        self.wanted = None


class CommittedBatches(NamedBatch):
    """An agent's batches, from their append until they commit."""

    def __init__(self, newest: CommittedBatch | None, last: BatchHeader | None = None) -> None:
        """`last` is the log's last batch, if none is known to be committed."""
        super().__init__()
        self._newest = newest
        self._later: deque[tuple[Offset, CommittedBatch]] = deque(maxlen=_MOST_LATER)
        """Each batch with its end offset."""
        if last is not None:
            self.on_appended(last)

    def _usual(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        """Return the newest batch that ends at or before the high watermark, or the last one if none does."""
        while self._later and self._later[0][0] <= request.high_watermark:
            _, self._newest = self._later.popleft()
        if self._newest is None and self._later:
            return self._later[-1][1]
        return self._newest

    def is_committed(self, batch: CommittedBatch | None) -> bool:
        """Implements `NamedBatch`."""
        return batch is not None and batch == self._newest

    def on_shown(self, leader_id: int, epoch: Epoch) -> None:
        """Implements `NamedBatch`: the next Fetch names it again."""

    def on_appended(self, header: BatchHeader) -> None:
        """Implements `NamedBatch`."""
        self._later.append((header.next_offset, _named(header)))

    def on_truncated(self, end_offset: Offset, last: BatchHeader | None) -> None:
        """Implements `NamedBatch`."""
        super().on_truncated(end_offset, last)
        while self._later and self._later[-1][0] > end_offset:
            self._later.pop()
        if self._newest is None and not self._later and last is not None:
            self.on_appended(last)

    def on_replaced(self) -> None:
        """Implements `NamedBatch`."""
        super().on_replaced()
        self._newest = None
        self._later.clear()


class LastBatch(NamedBatch):
    """A controller's last batch, which its Fetches name until the leader has shown to have it."""

    def __init__(self, last: CommittedBatch | None = None) -> None:
        super().__init__()
        self._last = last
        """None if the batch is unknown, or the log is empty."""
        self._shown_by: tuple[int, Epoch] | None = None

    def _usual(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        return None if self._shown_by == (destination_id, request.current_leader_epoch) else self._last

    def is_committed(self, batch: CommittedBatch | None) -> bool:
        """Implements `NamedBatch`."""
        return False

    def on_shown(self, leader_id: int, epoch: Epoch) -> None:
        """Implements `NamedBatch`."""
        if self.sent == self._last:
            self._shown_by = (leader_id, epoch)

    def on_appended(self, header: BatchHeader) -> None:
        """Implements `NamedBatch`."""
        self._last = _named(header)

    def on_truncated(self, end_offset: Offset, last: BatchHeader | None) -> None:
        """Implements `NamedBatch`."""
        super().on_truncated(end_offset, last)
        self._last = None if last is None else _named(last)
        self._shown_by = None

    def on_replaced(self) -> None:
        """Implements `NamedBatch`."""
        super().on_replaced()
        self._last = None


def named_batch_of(log: FileLog, high_watermark: Offset, *, is_agents: bool) -> NamedBatch:
    """Return the named batch of a log that was just opened and is known to be committed up to `high_watermark`.

    Raises:
        CorruptBatchError, OSError: the log cannot be read.
    """
    start, end = log.start_offset, log.log_end_offset
    if start >= end:
        return CommittedBatches(None) if is_agents else LastBatch()
    if is_agents and (committed_end := min(high_watermark, end)) > start:
        header = _header_before(log, committed_end)
        if header.next_offset <= committed_end:
            return CommittedBatches(_named(header))
    last = _header_before(log, end)
    return CommittedBatches(None, last) if is_agents else LastBatch(_named(last))


def batch_at_cut(log: FileLog, end_offset: Offset, epoch: Epoch) -> tuple[CommittedBatch | None, bool]:
    """Return the last batch of a log that is cut to this offset, and True if the cut is inside that batch.

    `epoch` is the leader's before the cut. The batch is `None` if the log has another epoch there, since the leader may
    lack the batch. It is also None if no batch is left, or it cannot be read.
    """
    last = last_before(log, end_offset)
    if last is None or last.partition_leader_epoch != epoch:
        return None, False
    return _named(last), last.next_offset > end_offset


def last_before(log: FileLog, end_offset: Offset) -> BatchHeader | None:
    """Return the batch that holds the record before this offset, or None if it is missing or cannot be read."""
    if not log.start_offset < end_offset <= log.log_end_offset:
        return None
    try:
        return _header_before(log, end_offset)
    except (MetadataLogError, OSError):
        return None  #   # a read that needs the log reports the failure


def first_is(data: bytes, batch: CommittedBatch) -> bool:
    """Return True if these whole batches begin with that one."""
    return len(data) > 0 and _named(parse_header(data)) == batch


def _header_before(log: FileLog, end_offset: Offset) -> BatchHeader:
    """Return the header of the batch that holds the record before this offset.

    Raises:
        CorruptBatchError, OSError: it cannot be read.
    """
    return parse_header(log.read(Offset(end_offset - 1), 1))


def _named(header: BatchHeader) -> CommittedBatch:
    return CommittedBatch(base_offset=header.base_offset, crc=header.crc)
