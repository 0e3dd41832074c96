"""Whether the times of a log's batches go back.

Decides: from how far back on that is worth a note. Must not know: offsets' order, and what the records say.

A leader gives a batch the time of its own clock when it appends it, and nothing in Kafka goes by these times' order: a
clock that was set back, or the next leader's that lags behind, leaves a sound log. But whoever asks for a time (`--at`,
`--since`) should know, and a snapshot's age (metadata.max.snapshot.interval.ms, metadata.max.retention.ms) is told by
them.
"""

from __future__ import annotations

from typing import Final

from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.fast_scan import CLOCK_STEP_MS
from metadata_log.tools.times import time_text

_SECOND_MS: Final = 1000


class ClockCheck:
    """Is told of all batches in order, of runs as a whole: `fast_scan` ends a run where the time goes back so far."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink
        self.time_ms = -1
        """Of the last batch."""
        self._epoch = -1

    def on_run(self, time_ms: int, epoch: int) -> None:
        """A run of batches whose last has this time."""
        self.time_ms, self._epoch = time_ms, epoch

    def on_batch(self, time_ms: int, epoch: int, offset: int, file: str, position: int) -> None:
        """A batch."""
        back = self.time_ms - time_ms
        if back > CLOCK_STEP_MS:
            is_new = epoch != self._epoch
            what = (
                f"the batch at offset {offset} is of {time_text(time_ms)}, {back // _SECOND_MS} s before the batch in "
                f"front of it ({time_text(self.time_ms)}): "
            )
            what += (
                "the next leader's clock lags behind" if is_new else "the leader's clock was set back, or ahead before"
            )
            self._sink.add(
                "time_went_back", what, group=is_new, file=file, position=position, offset=offset, epoch=epoch
            )
        self.time_ms, self._epoch = time_ms, epoch
