"""Whether the small files beside a log deny an epoch that the log seems to have.

Decides: which of them is believed where they differ. Must not know: what a copy is, and what becomes of it.

No checksum covers a batch's epoch, and one bit of it makes an election later than all others. But a node's quorum-state
is of an epoch before its log is (KIP-595), and its leader-epoch-checkpoint says where each began; where the node was
killed just then, that may lack the last one, and does not contradict it. What other nodes' logs have as well was no bit
of this one's: then the files are those of an older copy.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Epoch, Offset


class OwnEpochs(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of epochs besides the log.

    Attributes:
        latest: the epoch of quorum-state; None: it does not tell.
        starts: by offset, the epoch that begins there by leader-epoch-checkpoint.
        reached: epochs in which checkpoints here end.
        confirmed: what other nodes' logs have as well.
    """

    latest: int | None
    starts: Mapping[int, int]
    reached: frozenset[int] = frozenset()
    confirmed: frozenset[EpochStart] = frozenset()

    def denial(self, epoch: int, offset: int) -> str | None:
        """Why no epoch begins at that offset; None where nothing denies it."""
        there, start = self.starts.get(offset), EpochStart(epoch=Epoch(epoch), start_offset=Offset(offset))
        if there == epoch or start in self.confirmed:
            return None
        if there is None:
            is_known = epoch in self.reached or epoch in self.starts.values()
            is_denied = self.latest is not None and epoch > self.latest and not is_known
        else:
            is_denied = self.latest in (None, there) or (self.latest is not None and epoch > self.latest)
        if not is_denied:
            return None
        return f"epoch {epoch} begins here, and the node's own files deny it: {self._said(there)}"

    def _said(self, there: int | None) -> str:
        said = [] if self.latest is None else [f"{QUORUM_STATE_FILE} is of epoch {self.latest}"]
        said += [] if there is None else [f"{EPOCH_FILE} has epoch {there} begin here"]
        return ", ".join(said)
