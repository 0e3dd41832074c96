"""The batch by which a follower's Fetch names its history; the leader looks for it in its own log.

An agent names the newest committed one in each Fetch, or the first of its log while it knows of none. A controller
names its last one until a leader has shown to have it. A right log that has our end and its epoch has each of our
batches.

Raft compares two logs by offset and epoch. That is not enough beside controllers that were restored to an older copy.
They use the epochs after that copy a second time, for other records. The CRC of a batch, which covers its timestamps,
tells these records apart.

Decides: which batch is named, and when a log has it. Must not know: what follows where it is missing.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from metadata_log.format.batch import BatchHeader, parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.file_log import FileLog
from quorum.api.raft_messages import CommittedBatch, FetchRequest

_MOST_LATER: Final = 64
"""So many batches past the committed end are remembered; of more, the newest."""


class NamedBatch(Protocol):
    """A follower's side: the batch that its next Fetch names."""

    @property
    def is_committed(self) -> bool:
        """Return True if it is known to be committed."""

    def for_fetch(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        """Return the batch to name in this Fetch to this node, or None."""

    def on_shown(self, leader_id: int, epoch: Epoch) -> None:
        """Note that the leader of this epoch has the batch."""

    def on_appended(self, header: BatchHeader) -> None:
        """Note the last batch of an append."""

    def on_truncated(self, end_offset: Offset) -> None:
        """Forget the batches past the new end of the log."""

    def on_replaced(self) -> None:
        """Forget all: a snapshot takes the log's place."""


class CommittedBatches:
    """An agent's: batches as they are appended, until they are committed."""

    def __init__(self, newest: CommittedBatch | None, first: BatchHeader | None = None) -> None:
        """`first` is the log's first batch, if none is known to be committed."""
        self._newest = newest
        self._later: deque[tuple[Offset, CommittedBatch]] = deque(maxlen=_MOST_LATER)
        """Each with the offset that it ends at."""
        if first is not None:
            self.on_appended(first)

    @property
    def is_committed(self) -> bool:
        """Implements `NamedBatch`."""
        return self._newest is not None

    def for_fetch(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        """Return the newest that ends at or before the high watermark.

        Without one, the first after it: a leader that has it has all before it, too.
        """
        while self._later and self._later[0][0] <= request.high_watermark:
            _, self._newest = self._later.popleft()
        if self._newest is None and self._later:
            return self._later[0][1]
        return self._newest

    def on_shown(self, leader_id: int, epoch: Epoch) -> None:
        """Implements `NamedBatch`: the next Fetch names it all the same."""

    def on_appended(self, header: BatchHeader) -> None:
        """Implements `NamedBatch`."""
        self._later.append((header.next_offset, _named(header)))

    def on_truncated(self, end_offset: Offset) -> None:
        """Implements `NamedBatch`."""
        while self._later and self._later[-1][0] > end_offset:
            self._later.pop()

    def on_replaced(self) -> None:
        """Implements `NamedBatch`."""
        self._newest = None
        self._later.clear()


class LastBatch:
    """A controller's: the last batch of its log, until the leader that it asks has shown to have it."""

    is_committed = False

    def __init__(self, last: CommittedBatch | None = None) -> None:
        self._last = last
        """None: it is not known, or the log has none."""
        self._shown_by: tuple[int, Epoch] | None = None

    def for_fetch(self, request: FetchRequest, destination_id: int) -> CommittedBatch | None:
        """Implements `NamedBatch`."""
        return None if self._shown_by == (destination_id, request.current_leader_epoch) else self._last

    def on_shown(self, leader_id: int, epoch: Epoch) -> None:
        """Implements `NamedBatch`."""
        self._shown_by = (leader_id, epoch)

    def on_appended(self, header: BatchHeader) -> None:
        """Implements `NamedBatch`."""
        self._last = _named(header)

    def on_truncated(self, end_offset: Offset) -> None:
        """Implements `NamedBatch`."""
        self._last = None

    def on_replaced(self) -> None:
        """Implements `NamedBatch`."""
        self._last = None


def named_batch_of(log: FileLog, high_watermark: Offset, *, is_agents: bool) -> NamedBatch:
    """Return the batch that names a log which was just opened, as far as `high_watermark` it is committed.

    Raises:
        CorruptBatchError, OSError: the log cannot be read.
    """
    start, end = log.start_offset, log.log_end_offset
    if start >= end:
        return CommittedBatches(None) if is_agents else LastBatch()
    if not is_agents:
        return LastBatch(_named(_header_at(log, end - 1)))
    committed_end = min(high_watermark, end)
    header = _header_at(log, max(committed_end - 1, start))
    if header.next_offset <= committed_end:
        return CommittedBatches(_named(header))
    return CommittedBatches(None, header)


def first_is(data: bytes, batch: CommittedBatch) -> bool:
    """Return True if these whole batches begin with that one."""
    return len(data) > 0 and _named(parse_header(data)) == batch


def _header_at(log: FileLog, offset: int) -> BatchHeader:
    return parse_header(log.read(Offset(offset), 1))


def _named(header: BatchHeader) -> CommittedBatch:
    return CommittedBatch(base_offset=header.base_offset, crc=header.crc)
