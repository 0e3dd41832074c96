"""The context of a repair that goes on from one copy: what it keeps, what it loses, and the epoch that it begins.

Every repair that appends to a log uses it. Must not know: whose directory is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from metadata_log.directory import QuorumState
from metadata_log.files.port import Files
from metadata_log.ids import ReplicaKey
from metadata_log.voters import Endpoint, VoterSet
from quorum.recovery.advice.clones import clone_notes
from quorum.recovery.advice.commands import check_result
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.advice.possible_repairs import may_lose
from quorum.recovery.advice.unable_to_follow import left_behind, set_aside, warning_of, who_holds
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.lost_records import lost_records, shortfalls
from quorum.recovery.evidence.repair_evidence import RepairEvidence, with_audited_repairs
from quorum.recovery.guards.epoch_gap import new_epoch
from quorum.recovery.guards.liveness import ProbeResult, silence
from quorum.recovery.guards.request import (
    Proposal,
    Request,
    files_in,
    refuse_loss,
    refuse_lost_votes,
    refuse_other_repair,
    refuse_unsafe,
    strange_missing,
    unlisted,
)
from quorum.recovery.journal.audited_repairs import audited_repairs
from quorum.recovery.journal.changes import FileChange, Rewrite
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_facts import LostRecords, MayLose, RepairFacts, kept_words
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.audit_facts import facts_of
from quorum.recovery.repairs.conflicting_repairs import conflicting_repairs_of, refuse_conflicting_repairs
from quorum.recovery.repairs.new_log import merged, whole_log
from quorum.recovery.repairs.undo import is_undoable


class RepairContext(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence, the kept copy, and the conclusions.

    Attributes:
        epoch: the epoch in which the kept log goes on.
        is_begun: an earlier run has already appended that epoch to the kept log; only other directories get it now.
    """

    known: RepairEvidence
    kept: Copy
    epoch: int
    lost: tuple[LostRecords, ...]
    may_lose: MayLose | None
    asked: tuple[ProbeResult, ...]
    notes: tuple[str, ...] = ()
    is_begun: bool = False

    def facts(self, voters: VoterSet | None = None, *, own: ReplicaKey | None) -> RepairFacts:
        """Return the facts for the audit file of the directory of `own`."""
        return facts_of(
            self.known,
            self.kept,
            lost=self.lost,
            may_lose=self.may_lose,
            asked=self.asked,
            epoch=self.epoch,
            voters=voters,
            own=own,
        )

    def log_into(self, files: Files, copy: Copy, batch: bytes, state: QuorumState) -> tuple[FileChange, ...]:
        """Return the changes that give the directory of `copy` the kept log, followed by `batch` unless `is_begun`."""
        changes = whole_log(
            self.kept,
            None if self.is_begun else batch,
            files_in(files, copy.place.log_dir),
            in_place=copy is self.kept,
            epoch=self.epoch,
            state=state,
        )
        return merged(changes)

    def lacks(self, copy: Copy) -> bool:
        """Return True if a directory still has to get the log."""
        return not self.is_begun or copy.rank != self.kept.rank

    def others(self, staying: Sequence[int]) -> list[int]:
        """Return the present voters' nodes that are not in `staying`."""
        return sorted(set(self.known.in_force.ids) - set(staying))

    def proposal(
        self,
        action: str,
        rewrites: tuple[Rewrite, ...],
        *,
        says: Sequence[str],
        warnings: Sequence[str],
        steps: Sequence[Step],
    ) -> Proposal:
        """Return the proposal, with the warnings and steps that all such repairs have in common."""
        end = self.kept.end
        changed = [rewrite.log_dir for rewrite in rewrites]
        left = left_behind(self.known, self.kept, changed=changed)
        return Proposal(
            action=action,
            rewrites=rewrites,
            says=(*says, *self._begins_later(), self._epoch_line()),
            keeps=kept_words(end),
            loses=self.lost,
            may_lose=self.may_lose,
            warnings=(*warnings, *self._holders(), *map(warning_of, left), *silence(self.asked), *self.notes),
            steps=(check_result(changed), *set_aside(left), *steps),
            asked=self.asked,
        )

    def _holders(self) -> Iterator[str]:
        if self.lost or self.may_lose is not None:
            yield who_holds(int(self.kept.end.offset))

    def _begins_later(self) -> Iterator[str]:
        damage = self.kept.passed_over
        if damage is not None:
            yield (
                f"the log before offset {self.kept.start_offset} is dropped: it is damaged at {damage}; "
                f"{damage.held_by} holds the same metadata"
            )

    def _epoch_line(self) -> str:
        if self.is_begun:
            return f"nothing is appended: epoch {self.epoch} has begun with that, and no copy knows of a greater one"
        return (
            f"epoch {self.epoch} begins at offset {self.kept.end.offset} with that (the greatest known epoch is "
            f"{self.known.greatest_epoch}{', of what can be read' if self.known.lost_votes else ''})"
        )


def look_ahead(
    files: Files,
    known: RepairEvidence,
    kept: Copy,
    request: Request,
    *,
    instead: str,
    writes: Sequence[Endpoint],
    makes: Sequence[str] = (),
    is_begun: bool = False,
) -> RepairContext:
    """Return the context of going on from `kept`, once nothing forbids it. `instead`: the advice if records are lost.

    `writes`: the voters' endpoints by this repair. `makes`: log directories that the repair creates, without a copy.
    `is_begun`: `kept` is the result of this repair's first run, and the other directories get it now.

    Raises:
        RefusedError: a controller runs, copies are not here, or a loss is not accepted.
    """
    asked = refuse_unsafe(known, request, writes=writes)
    roots = [work_root_of(path) for path in (*(copy.place.log_dir for copy in known.copies), *makes)]
    chosen = [] if request.work_root is None else [request.work_root]
    known = with_audited_repairs(known, audited_repairs(files, [*roots, *chosen], known.cluster_id))
    rivals = conflicting_repairs_of(files, known, makes)
    refuse_conflicting_repairs(files, rivals, accept_data_loss=request.accept_data_loss)
    known = msgspec.structs.replace(known, audited=(*known.audited, *rivals.repairs))
    refuse_lost_votes(known, request)
    refuse_other_repair(known, kept, request, partial(is_undoable, files))
    lost = (*lost_records(files, known, kept), *shortfalls(known))
    refuse_loss([found for found in lost if found.says_something], request, instead)
    # After the repairs by audit files have joined the evidence: the new epoch must be above theirs, too.
    epoch = int(kept.end.epoch) if is_begun else new_epoch(known, request.epoch_gap)
    return RepairContext(
        known=known,
        kept=kept,
        epoch=epoch,
        lost=lost,
        may_lose=may_lose(known, kept),
        asked=asked,
        notes=(
            *strange_missing(known, request),
            *unlisted(known),
            *_notes(known, epoch),
            *rivals.unread,
            *clone_notes(known, writes),
            *not_checked(known.copies),
        ),
        is_begun=is_begun,
    )


def _forgotten(known: RepairEvidence) -> Iterator[str]:
    """Yield sentences about epochs and votes that no file holds any more: the new epoch may not be above them."""
    for path, why in known.lost_votes:
        yield f"{path}: {why}: an epoch and a vote that only this file held are forgotten"


def _notes(known: RepairEvidence, epoch: int) -> Iterator[str]:
    yield from () if known.undecided is None else (known.undecided,)
    yield from _forgotten(known)
    yield from _other_repairs(known, epoch)


def _other_repairs(known: RepairEvidence, epoch: int) -> Iterator[str]:
    """Yield sentences about repairs that other directories had, or may have had: two repairs make two quorums."""
    for one in known.audited:
        yield (
            f"{one.work_dir} records a repair of {one.log_dir} at {one.at}, which began epoch {one.epoch}, and no copy "
            "here shows that repair. Name that directory with --copy, or make sure that nothing starts from it"
        )
    if known.absent_voters:
        many, names = len(known.absent_voters) > 1, ", ".join(map(str, known.absent_voters))
        absent = f"voters {names} are" if many else f"voter {names} is"
        yield (
            f"only one copy may be repaired, of all on all hosts: another one ({absent} not here) would "
            f"begin epoch {epoch}, too, with other records. If one was repaired already, stop here, and name its "
            "directory with --copy"
        )
