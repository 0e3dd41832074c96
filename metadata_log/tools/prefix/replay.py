"""The metadata in the valid prefix of a log.

Decides: the result of replaying consecutive batches. Must not know: which batches belong to the prefix.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.format.batch import BatchHeader, batch_values
from metadata_log.image import MetadataImage, Replayer, ReplayError
from metadata_log.image.known_partitions import Replayable, read_for_replay
from metadata_log.records import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from metadata_log.storage.no_ops import is_no_op
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.fast_scan import NoOpRun
from metadata_log.tools.read.history import State
from metadata_log.tools.read.quorum import Quorum

_AT_ONCE: Final = 1 << 20
"""Bytes of batches that are replayed in one step. Each image costs time, even if it differs little from the one
before."""
_TRANSACTION_RECORDS: Final = frozenset({BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord})


class PrefixReplay:
    """Replays batches in order, many in one step. NoOps are only counted: an idle leader writes one every 500 ms.

    Without a `state` the metadata cannot be known. `problem` is the reason, and `failed` the batch that cannot be
    replayed, if that is the reason. All three are as of the last `finish`. The quorum is known even then: control
    records need no metadata.
    """

    def __init__(self) -> None:
        self.state: State | None = None
        self.problem: str | None = None
        self.failed: BatchHeader | None = None
        self.before: State | None = None
        """The state before `failed`."""
        self._quorum: Quorum | None = None
        """The quorum after `failed`; None if a control batch cannot be read."""
        self._waiting: list[LocatedBatch] = []
        """Consecutive data batches that are yet to be replayed."""
        self._size = 0
        self._noops: tuple[int, int, int] | None = None
        """End offset, epoch and time of the last NoOp after `_waiting`, yet to be replayed."""

    def begin_empty(self) -> None:
        """Begin at offset 0."""
        self.state = State(replayer=Replayer.start(MetadataImage.empty()), quorum=Quorum())

    @property
    def quorum(self) -> Quorum | None:
        """The quorum as of the last `finish`; None if it cannot be known."""
        return self._quorum if self.state is None else self.state.quorum

    def on_batch(self, batch: LocatedBatch) -> None:
        """Take the next batch."""
        header = batch.header
        if header.base_offset != self._due:
            self.finish()
        if self.failed is not None and header.is_control:
            self._quorum = _quorum_after(self._quorum, batch)
        if self.state is None or header.base_offset < self.state.replayer.end.offset:
            return
        if header.base_offset == self._due and is_no_op(batch.buffer, batch.at, header):
            self._noops = int(header.next_offset), int(header.partition_leader_epoch), int(header.max_timestamp)
            return
        if self._noops is not None or header.is_control or self._size >= _AT_ONCE:
            self.finish()
        self._waiting.append(batch)
        self._size += header.size_in_bytes
        if header.is_control:
            self.finish()

    def on_run(self, run: NoOpRun) -> None:
        """Take a run of NoOps. It never crosses the offset at which replay begins."""
        if self.state is not None and run.base_offset >= self.state.replayer.end.offset:
            self._noops = run.end_offset, run.epoch, run.last_timestamp

    @property
    def _due(self) -> int:
        if self._noops is not None:
            return self._noops[0]
        if self._waiting:
            return int(self._waiting[-1].header.next_offset)
        return -1 if self.state is None else int(self.state.replayer.end.offset)

    def finish(self) -> None:
        """Replay all batches so far."""
        waiting, last = self._waiting, self._noops
        self._waiting, self._size, self._noops = [], 0, None
        at_once = _after_all(self.state, waiting) if self.state is not None and len(waiting) > 1 else None
        if at_once is not None:
            self.state = at_once
        else:
            self._replay_each(waiting)
        state = self.state
        if state is None or last is None:
            return
        end, epoch, time_ms = last
        replayer = state.replayer.on_records(
            (), base_offset=int(state.replayer.end.offset), next_offset=end, epoch=epoch, timestamp_ms=time_ms
        )
        self.state = msgspec.structs.replace(state, replayer=replayer)

    def _replay_each(self, batches: list[LocatedBatch]) -> None:
        for batch in batches:
            if self.state is None:
                return
            try:
                self.state = self.state.after(batch)
            except (MetadataLogError, ReplayError) as error:
                self.before, self._quorum = self.state, None if batch.header.is_control else self.state.quorum
                self.problem, self.failed, self.state = str(error), batch.header, None


def _quorum_after(quorum: Quorum | None, batch: LocatedBatch) -> Quorum | None:
    """Return the quorum after a control batch, or None if the batch cannot be read."""
    try:
        return None if quorum is None else quorum.after(batch)
    except MetadataLogError:
        return None


def _after_all(state: State, batches: list[LocatedBatch]) -> State | None:
    """Return the state after these data batches, or None if they must be replayed one by one.

    That is so if a record cannot be read or replayed, or belongs to a transaction.
    """
    records: list[Replayable] = []
    try:
        for batch in batches:
            records += map(read_for_replay, batch_values(batch.buffer, batch.header, batch.at))
        if not _TRANSACTION_RECORDS.isdisjoint(map(type, records)):
            return None
        last = batches[-1].header
        replayer = state.replayer.on_records(
            records,
            base_offset=int(batches[0].header.base_offset),
            next_offset=int(last.next_offset),
            epoch=int(last.partition_leader_epoch),
            timestamp_ms=int(last.max_timestamp),
        )
    except (MetadataLogError, ReplayError):
        return None
    return msgspec.structs.replace(state, replayer=replayer)
