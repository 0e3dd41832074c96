"""What a repair that goes on from one copy keeps, loses and begins: the same for every repair that appends.

Decides: the new epoch, and the words for it. Must not know: whose directory is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.files import Files
from metadata_log.voters import VoterSet
from quorum.recovery.advice import Step
from quorum.recovery.changes import Rewrite
from quorum.recovery.copies import Copy
from quorum.recovery.facts import facts_of
from quorum.recovery.liveness import Answer, silence
from quorum.recovery.plan import may_lose
from quorum.recovery.request import Proposal, Request, refuse_loss, refuse_unsafe, strange_missing
from quorum.recovery.survey import Excess, Survey, beyond_repair, excess, new_epoch, shortfalls


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What is known, what is kept, and what that means."""

    known: Survey
    kept: Copy
    epoch: int
    lost: tuple[Excess, ...]
    may_lose: str | None
    asked: tuple[Answer, ...]
    notes: tuple[str, ...] = ()

    def facts(self, voters: VoterSet | None = None) -> dict[str, object]:
        """For the audit file."""
        return facts_of(
            self.known,
            self.kept,
            lost=self.lost,
            may_lose=self.may_lose,
            asked=self.asked,
            epoch=self.epoch,
            voters=voters,
        )

    def others(self, staying: Sequence[int]) -> list[int]:
        """Nodes that vote so far, and are not among those."""
        return sorted({int(key.node_id) for key in self.known.voters} - set(staying))

    def proposal(
        self,
        action: str,
        rewrites: tuple[Rewrite, ...],
        *,
        says: Sequence[str],
        warnings: Sequence[str],
        steps: Sequence[Step],
    ) -> Proposal:
        """The repair, with what all such repairs say."""
        end = self.kept.end
        epoch = (
            f"epoch {self.epoch} begins at offset {end.offset} with that (the greatest known epoch is "
            f"{self.known.greatest_epoch})"
        )
        return Proposal(
            action=action,
            rewrites=rewrites,
            says=(*says, epoch),
            keeps=f"everything up to offset {end.offset} of epoch {end.epoch}",
            loses=self.lost,
            may_lose=self.may_lose,
            warnings=(*warnings, *beyond_repair(self.known, self.kept), *silence(self.asked), *self.notes),
            steps=tuple(steps),
            asked=self.asked,
        )


def look_ahead(files: Files, known: Survey, kept: Copy, request: Request, *, instead: str) -> Outlook:
    """What going on from `kept` means, once nothing forbids it. `instead`: what to do where it would lose something.

    Raises:
        RefusedError: a controller runs, copies are not here, or a loss is not accepted.
    """
    asked = refuse_unsafe(known, request)
    lost = (*excess(files, known, kept), *shortfalls(known))
    refuse_loss([found for found in lost if found.records or found.proof is not None], request, instead)
    return Outlook(
        known=known,
        kept=kept,
        epoch=new_epoch(known, request.epoch_gap),
        lost=lost,
        may_lose=may_lose(known, kept),
        asked=asked,
        notes=strange_missing(known, request),
    )
