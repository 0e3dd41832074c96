"""The epochs of a log by its sidecar files, which may deny an epoch that the log seems to have.

Decides: which file is believed if they differ. Must not know: the consequences for the log.

No checksum covers a batch's epoch, and one flipped bit makes an election later than all others. But a node writes an
epoch to quorum-state before its log has it (KIP-595), and leader-epoch-checkpoint lists each epoch's start. If the node
was killed just then, that file may lack the last epoch; this does not deny it. If other nodes' logs have the epoch too,
no bit has flipped: then the sidecar files are those of an older copy.
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
    """A log's epochs by other files.

    Attributes:
        latest: the epoch of quorum-state; None if unknown.
        starts: by offset, the epoch that begins there by leader-epoch-checkpoint.
        reached: the epochs in which checkpoints here end.
        confirmed: epoch starts that other nodes' logs have, too.
        misnamed: checkpoints whose names other nodes' logs deny, with the reason.
    """

    latest: int | None
    starts: Mapping[int, int]
    reached: frozenset[int] = frozenset()
    confirmed: frozenset[EpochStart] = frozenset()
    misnamed: Mapping[str, str] = MappingProxyType({})

    def denial(self, epoch: int, offset: int) -> str | None:
        """Return why no epoch begins at that offset, or None if no file denies it."""
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
