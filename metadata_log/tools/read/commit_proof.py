"""The proof, by one log alone, that the first batch of an epoch was committed: its leader wrote metadata behind it.

Decides: how much metadata proves it. Must not know: files, and other replicas.

A leader's high watermark is known once it is past its epoch's start, and a controller writes metadata once it is known
(Kafka: LeaderState.updateHighWatermark, maybeFireLeaderChange). So metadata of an epoch proves that the LeaderChange
before it was on a majority. But nothing proves that the leader wrote a batch. One that was forged, or brought from
elsewhere, may be in order, have the right checksum and be possible. No other log says anything of the end that one log
has alone. So one batch proves nothing there; of several, one is the leader's, unless two faults are in one epoch.
A leader without work writes a NoOp each half second, so that a log lacks the proof of an epoch's first second alone.
"""

from __future__ import annotations

from typing import Final

_PROVING: Final = 2


def is_proof(batches: int) -> bool:
    """Return True if so many batches of metadata of one epoch prove that its first batch was committed."""
    return batches >= _PROVING


class ProvedEpochs:
    """Counts batches of metadata by epoch, which rise. `last`: the last epoch that they prove something of, or -1."""

    def __init__(self) -> None:
        self.last = -1
        self._epoch = -1
        self._batches = 0

    def on_metadata(self, epoch: int, batches: int = 1) -> None:
        """Take batches of this epoch, in order, that hold metadata that a leader may have written there."""
        self._batches = self._batches + batches if epoch == self._epoch else batches
        self._epoch = epoch
        if is_proof(self._batches):
            self.last = max(self.last, epoch)
