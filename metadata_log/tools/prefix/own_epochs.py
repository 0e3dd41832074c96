"""The epochs of a log, by the small files beside it: they may deny one that the log seems to have.

Decides: which of them is believed where they differ. Must not know: what becomes of such a log.

No checksum covers a batch's epoch, and one bit of it makes an election later than all others. But a node's quorum-state
is of an epoch before its log is (KIP-595). Its leader-epoch-checkpoint says where each epoch began. Where the node was
killed just then, that file may lack the last one, and does not contradict it. What other nodes' logs have as well was
no bit of this one's: then the files are those of an older copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Epoch, Offset


class OwnEpochs(msgspec.Struct, frozen=True, kw_only=True):
    """Epochs of a log by other files than its own.

    Attributes:
        latest: the epoch of quorum-state; None: it is not known.
        starts: by offset, the epoch that begins there by leader-epoch-checkpoint.
        reached: epochs in which checkpoints here end.
        confirmed: what other nodes' logs have as well.
        misnamed: checkpoints whose name other nodes' logs deny, with the reason.
    """

    latest: int | None
    starts: Mapping[int, int]
    reached: frozenset[int] = frozenset()
    confirmed: frozenset[EpochStart] = frozenset()
    misnamed: Mapping[str, str] = MappingProxyType({})

    def denial(self, epoch: int, offset: int) -> str | None:
        """Return why no epoch begins at that offset; None where nothing denies it."""
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
