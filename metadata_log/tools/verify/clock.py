"""Notes where the times of a log's batches go back.

Decides: how large a step is worth a note. Must not know: the order of offsets, and metadata records.

A batch has the time of its leader's clock at the append, and nothing in Kafka needs these times to rise. If a clock is
corrected, or the next leader's lags, the log is still sound. But options such as `--at` and `--since` search by these
times. So does a node for the age of a snapshot (metadata.max.snapshot.interval.ms, metadata.max.retention.ms).
"""

from __future__ import annotations

from typing import Final

from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.fast_scan import CLOCK_STEP_MS
from metadata_log.tools.times import time_text

_SECOND_MS: Final = 1000


class ClockCheck:
    """Compares the time of each batch with the one before. `fast_scan` ends a NoOp run where the time goes back."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink
        self.time_ms = -1
        """The time of the last batch; -1 before the first."""
        self._epoch = -1

    def on_run(self, time_ms: int, epoch: int) -> None:
        """Take a NoOp run by the time and epoch of its last batch."""
        self.time_ms, self._epoch = time_ms, epoch

    def on_batch(self, time_ms: int, epoch: int, offset: int, file: str, position: int) -> None:
        """Take one batch; add a finding if its time is more than `CLOCK_STEP_MS` before the last."""
        back = self.time_ms - time_ms
        if back > CLOCK_STEP_MS:
            is_new = epoch != self._epoch
            what = (
                f"the batch at offset {offset} is of {time_text(time_ms)}, {back // _SECOND_MS} s before the batch in "
                f"front of it ({time_text(self.time_ms)}): "
            )
            what += (
                "the next leader's clock lags behind" if is_new else "the leader's clock went back, or was ahead before"
            )
            self._sink.add(
                "time_went_back", what, group=is_new, file=file, position=position, offset=offset, epoch=epoch
            )
        self.time_ms, self._epoch = time_ms, epoch
