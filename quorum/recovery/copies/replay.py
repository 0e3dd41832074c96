"""The metadata that the safe part of a copy amounts to.

Decides: what replay makes of batches that follow one another. Must not know: which batches are safe.
"""

from __future__ import annotations

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.format.batch import BatchHeader
from metadata_log.image import MetadataImage, Replayer, ReplayError
from metadata_log.storage.no_ops import is_no_op
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.fast_scan import NoOpRun
from metadata_log.tools.read.history import State
from metadata_log.tools.read.quorum import Quorum


class PrefixReplay:
    """Replays batches in order. NoOps are replayed at once: an idle leader writes two a second.

    Without a `state` the metadata cannot be known; `problem` says why.
    """

    def __init__(self) -> None:
        self.state: State | None = None
        self.problem: str | None = None
        self.failed: BatchHeader | None = None
        self._noops: tuple[int, int, int] | None = None
        """End offset, epoch and time of the last NoOp that is yet to be replayed."""

    def begin_empty(self) -> None:
        """Begin at offset 0."""
        self.state = State(replayer=Replayer.start(MetadataImage.empty()), quorum=Quorum())

    def on_batch(self, batch: LocatedBatch) -> None:
        """Take the next batch."""
        header = batch.header
        if self.state is None or header.base_offset < self.state.replayer.end.offset:
            return
        if header.base_offset == self._due and is_no_op(batch.buffer, batch.at, header):
            self._noops = int(header.next_offset), int(header.partition_leader_epoch), int(header.max_timestamp)
            return
        self.finish()
        if self.state is None:
            return
        try:
            self.state = self.state.after(batch)
        except (MetadataLogError, ReplayError) as error:
            self.problem, self.failed, self.state = str(error), header, None

    def on_run(self, run: NoOpRun) -> None:
        """Take a run of NoOps. It does not go on across the beginning."""
        if self.state is not None and run.base_offset >= self.state.replayer.end.offset:
            self._noops = run.end_offset, run.epoch, run.last_timestamp

    @property
    def _due(self) -> int:
        if self._noops is not None:
            return self._noops[0]
        return -1 if self.state is None else int(self.state.replayer.end.offset)

    def finish(self) -> None:
        """Replay the NoOps since the last other batch."""
        state, last = self.state, self._noops
        if state is None or last is None:
            return
        self._noops = None
        end, epoch, time_ms = last
        replayer = state.replayer.on_records(
            (), base_offset=int(state.replayer.end.offset), next_offset=end, epoch=epoch, timestamp_ms=time_ms
        )
        self.state = msgspec.structs.replace(state, replayer=replayer)
