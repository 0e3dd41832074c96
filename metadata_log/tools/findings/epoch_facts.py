"""Facts about epochs in batch headers: an epoch that falls, and one that was changed.

Must not know: how a fault is detected, and the advice.
"""

from __future__ import annotations

from typing import ClassVar, Final

from metadata_log.tools.findings.facts import Facts

ONE_BATCH: Final = "it is one batch, for its checksum is the same, which does not cover the epoch in its header"


class EpochWentBack(Facts, frozen=True, kw_only=True):
    """A batch whose epoch is lower than that of a batch before it."""

    kind: ClassVar[str] = "epoch_went_back"
    epoch: int
    after: int

    def meaning(self) -> str:
        """Return the sentence."""
        return f"epoch {self.epoch} comes after epoch {self.after}"


class ChangedEpoch(Facts, frozen=True, kw_only=True):
    """A batch that other logs have with another epoch, though its checksum is the same.

    `right`: the epoch that it has in the logs that are believed. `where`: a phrase with the epoch in each other log.
    `also`: a clause with the number of such batches, or empty.
    """

    kind: ClassVar[str] = "log_mismatch"
    offset: int
    epoch: int
    right: int
    where: str
    also: str = ""

    def meaning(self) -> str:
        """Return the sentence."""
        return (
            f"the batch at offset {self.offset} is of epoch {self.epoch} here, and {self.where}: {ONE_BATCH}; "
            f"nothing that was committed is lost{self.also}"
        )


class LeaderWithoutEpoch(Facts, frozen=True, kw_only=True):
    """A `quorum-state` that names a leader whose own directory knows nothing of that epoch.

    `holder`, `leader`: the names of both nodes. `log_epoch`, `own_epoch`: of the leader's log, and its `quorum-state`.
    """

    kind: ClassVar[str] = "leader_without_epoch"
    holder: str
    leader: str
    leader_id: int
    epoch: int
    log_epoch: int
    own_epoch: int | None

    def meaning(self) -> str:
        """Return the sentence, whose subject is the file."""
        return f"it says that {self.leader} leads epoch {self.epoch}, which {self.leader} {self._lack()}"

    def of_leader(self) -> str:
        """Return the sentence, whose subject is the leader."""
        return f"the quorum-state of {self.holder} says that it leads epoch {self.epoch}, which it {self._lack()}"

    def _lack(self) -> str:
        knows = "" if self.own_epoch is None else f", and its own quorum-state is of epoch {self.own_epoch}"
        return (
            f"knows nothing of: its log ends in epoch {self.log_epoch}{knows}; a leader begins with a record in its "
            "own log"
        )
