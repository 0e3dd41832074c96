"""The accepted data loss of a log directory, by the audit files next to it, and the cluster that it was cloned from.

Must not know: logs, and whether another copy still holds the lost records.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.files.port import Files
from metadata_log.ids import id_text
from quorum.recovery.journal.log_directories import Place
from quorum.recovery.journal.repair_facts import MayLose, RepairFacts
from quorum.recovery.journal.repair_record import RepairRecord, audits, of_directory, standing, work_root_of


class AcceptedLoss(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Offsets `start` to `end` (exclusive) that `label` held. `epoch`: of the last record, None if unknown.

    `committed`: as in `repair_facts.LostRecords`, judged at the time of the repair; never `never`. `held_by`: the
    voters that held the records then, if that proved that cutting them was no loss.
    """

    label: str
    node_id: int | None
    start: int
    end: int
    epoch: int | None
    committed: str
    held_by: tuple[int, ...] = ()


class NeverCommitted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A proof from when a log was cut: no epoch up to `epoch` had committed a record from offset `start` on."""

    start: int
    epoch: int


class Accepted(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A repair that was not undone, and the records that its user gave up or proved to be no loss.

    Attributes:
        new_epoch: the epoch that it began; None if it appended nothing.
        kept_epoch: of the last record that it kept.
        greatest_epoch: the latest epoch known at that time. A record of a later epoch was written after the repair.
        may_lose: the possible loss that no copy could show then.
        never: the proof that a part of the log was never committed.
    """

    action: str
    at: str
    new_epoch: int | None
    kept_epoch: int
    greatest_epoch: int
    lost: tuple[AcceptedLoss, ...]
    may_lose: MayLose | None
    never: NeverCommitted | None = None


class Cloned(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The cluster id was changed at `at`. `first`: the id before the first such change.

    `epoch`: of the log's last record at that time; None if the repair did not record it.
    """

    first: str
    at: str
    epoch: int | None


class Audited(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All accepted repairs, the latest last. `unread`: sentences about audit files that do not show what was lost."""

    accepted: tuple[Accepted, ...] = ()
    unread: tuple[str, ...] = ()
    cloned: Cloned | None = None


def audited_of(files: Files, place: Place) -> Audited:
    """Return the accepted repairs by the audit files next to the log directory of `place`."""
    root, identity = work_root_of(place.log_dir), place.identity
    if identity is None or not files.exists(root) or not files.is_dir(root):
        return Audited()
    try:
        found = audits(files, root)
    except OSError as error:
        return Audited(unread=(f"{root}: {error.strerror or error}: which records repairs discarded is not known",))
    unread = [
        f"{one.work_dir}: {one.why}: which records that repair discarded is not known" for one in found.unreadable
    ]
    accepted = []
    cloned: dict[str | None, Cloned] = {}
    for record in standing(of_directory(files, found.records, place.log_dir)):
        facts = record.facts
        if facts.cluster_id_before is not None:
            before = cloned.get(facts.cluster_id_before)
            first = facts.cluster_id_before if before is None else before.first
            cloned[facts.cluster_id_after] = Cloned(first=first, at=record.at, epoch=facts.last_epoch)
        own = None if identity.directory_id is None else id_text(identity.directory_id)
        # A new directory.id on the same path: the audit file describes the disk that was here before.
        is_formatted_anew = facts.new_epoch is None and own != facts.directory_id
        if facts.cluster_id == identity.cluster_id and not is_formatted_anew:
            accepted.append(_accepted(record))
    return Audited(
        accepted=tuple(one for one in accepted if one.lost or one.new_epoch is not None or one.never is not None),
        unread=tuple(unread),
        cloned=cloned.get(identity.cluster_id),
    )


def _accepted(record: RepairRecord) -> Accepted:
    facts = record.facts
    return Accepted(
        action=record.action,
        at=record.at,
        new_epoch=facts.new_epoch,
        kept_epoch=facts.kept_epoch,
        greatest_epoch=facts.greatest_known_epoch,
        lost=(*_accepted_losses(facts), *_held_elsewhere(facts)),
        may_lose=facts.may_lose,
        never=_never_committed(facts),
    )


def _accepted_losses(facts: RepairFacts) -> Iterator[AcceptedLoss]:
    """Yield the records whose loss was accepted."""
    for lost in facts.offsets_lost:
        if lost.committed != "never" and (lost.records or lost.proof is not None):
            yield AcceptedLoss(
                label=lost.label,
                node_id=lost.node_id,
                start=lost.start,
                end=lost.end,
                epoch=lost.epoch,
                committed=lost.committed,
            )


def _held_elsewhere(facts: RepairFacts) -> Iterator[AcceptedLoss]:
    """Yield the records that a majority held when they were cut: no loss then, but a loss if that majority is gone."""
    cut = facts.proven
    if cut is not None and cut.reason == "held":
        yield AcceptedLoss(
            label=f"node {facts.node_id}",
            node_id=facts.node_id,
            start=cut.start,
            end=cut.end,
            epoch=cut.epoch,
            committed="was",
            held_by=cut.voters,
        )


def _never_committed(facts: RepairFacts) -> NeverCommitted | None:
    cut = facts.proven
    if cut is None or not cut.never_committed or cut.fork is None or cut.epoch is None:
        return None
    return NeverCommitted(start=cut.fork, epoch=cut.epoch)
