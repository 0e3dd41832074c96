"""The proof, by one log alone, that the first batch of an epoch was committed: the epoch's leader wrote metadata after
it.

Decides: how much metadata proves it. Must not know: files, and other replicas.

A leader knows its high watermark once that is past its epoch's start, and a controller writes metadata only then
(Kafka: LeaderState.updateHighWatermark, maybeFireLeaderChange). So metadata of an epoch proves that a majority had the
LeaderChange before it. But nothing proves that the leader wrote a given batch. A forged or copied batch may continue
the log, have the right checksum and hold valid records. If only one log reaches so far, no other log can contradict it.
So one batch there proves nothing. Of several batches at least one is the leader's, unless an epoch has two such faults.

An idle leader writes a NoOp every 500 ms, so only the first second of an epoch lacks the proof.
"""

from __future__ import annotations

from typing import Final

_PROVING: Final = 2


def is_proof(batches: int) -> bool:
    """Return True if this number of metadata batches of one epoch proves that the epoch's first batch was committed."""
    return batches >= _PROVING


class ProvedEpochs:
    """Counts metadata batches by epoch; epochs ascend. `last`: the last epoch that the batches prove, or -1."""

    def __init__(self) -> None:
        self.last = -1
        self._epoch = -1
        self._batches = 0

    def on_metadata(self, epoch: int, batches: int = 1) -> None:
        """Count the next batches, of this epoch. The caller has checked that a leader may have written their metadata
        there."""
        self._batches = self._batches + batches if epoch == self._epoch else batches
        self._epoch = epoch
        if is_proof(self._batches):
            self.last = max(self.last, epoch)
