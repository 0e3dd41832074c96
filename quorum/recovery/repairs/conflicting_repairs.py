"""Conflicting repairs, by the audit files next to other log directories in the same parent directory.

Decides: which repairs made a quorum that no copy here knows. Must not know: the repair that is proposed now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.port import Files, parent_of
from quorum.recovery.advice.commands import undo_line
from quorum.recovery.advice.possible_repairs import Plan
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.audited_repairs import AuditedRepair, finished_repairs, unfinished_repairs
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.next_steps import Command, Step, command, step_of
from quorum.recovery.journal.repair_record import AUDIT_FILE, WORK_SUFFIX, audits, work_root_of
from quorum.recovery.repairs.undo import is_undoable


class ConflictingRepairs(msgspec.Struct, frozen=True, kw_only=True):
    """`repairs`: of this cluster, and not undone. `unread`: sentences about directories that may record more."""

    repairs: tuple[AuditedRepair, ...]
    unread: tuple[str, ...]


def conflicting_repairs_of(files: Files, known: RepairEvidence, makes: Iterable[str] = ()) -> ConflictingRepairs:
    """Return the conflicting repairs next to the copies and to `makes`, log directories that the repair creates."""
    own = {os.path.realpath(path) for path in (*(copy.place.log_dir for copy in known.copies), *makes)}
    seen = {work_root_of(path) for path in own}
    repairs: list[AuditedRepair] = []
    unread: list[str] = []
    for parent in sorted(map(parent_of, own)):
        if parent in seen or not files.exists(parent):
            continue
        seen.add(parent)
        try:
            roots = [f"{parent.rstrip('/')}/{name}" for name in sorted(files.listdir(parent))]
        except OSError as error:
            unread.append(_not_known(parent, error.strerror or str(error)))
            continue
        for root in roots:
            if root.endswith(WORK_SUFFIX) and root not in seen and files.is_dir(root):
                repairs += _below(files, root, known, unread)
    strange = [one for one in repairs if os.path.realpath(one.log_dir) not in own and not _is_here(known, one)]
    return ConflictingRepairs(repairs=tuple(strange), unread=tuple(unread))


def _below(files: Files, root: str, known: RepairEvidence, unread: list[str]) -> Iterator[AuditedRepair]:
    try:
        found = audits(files, root)
    except OSError as error:
        unread.append(_not_known(root, error.strerror or str(error)))
        return
    unread += [_not_known(one.work_dir, one.why) for one in found.unreadable]
    moved = root.removesuffix(WORK_SUFFIX)
    for one in finished_repairs(found.records, known.cluster_id):
        was_moved = moved != one.log_dir and files.exists(f"{moved}/{METADATA_DIRECTORY}")
        yield msgspec.structs.replace(one, log_dir=moved) if was_moved else one
    yield from unfinished_repairs(files, found.records, known.cluster_id)


def _not_known(path: str, why: str) -> str:
    return f"{path}: {why}: whether another directory of this cluster was repaired there is not known"


def _is_here(known: RepairEvidence, one: AuditedRepair) -> bool:
    """Return True if a copy goes on from the records of that repair.

    If a copy begins after the repair's offset, its epoch alone decides.
    """
    return any(
        copy.end.epoch >= one.epoch and (copy.start_offset > one.offset or copy.epoch_at(one.offset) == one.epoch)
        for copy in known.copies
    )


def refuse_conflicting_repairs(files: Files, rivals: ConflictingRepairs, *, accept_data_loss: bool) -> None:
    """Refuse a repair that would make a second quorum of one cluster.

    Raises:
        RefusedError: another directory was repaired already. `accept_data_loss` permits this if that directory is gone.
    """
    for one in rivals.repairs:
        if one.unfinished is not None:
            raise RefusedError(
                f"{_words(one)}. Take it back: {undo_line(one.log_dir, parent_of(one.work_dir))}; or finish it, and go "
                f"on from that directory: {one.unfinished}"
            )
        is_there = _is_there(files, one)
        if accept_data_loss and not is_there:
            continue
        if not is_there:
            raise RefusedError(
                f"{_words(one)}. {one.log_dir} holds no metadata log now: name the directory that it was moved to with "
                "--copy, so that it is compared; or, if nothing ever starts from that again, say --accept-data-loss"
            )
        back = _back(files, one)
        or_back = f"; or take its repair back, while nothing has started from it: {back[0]}" if back else ""
        raise RefusedError(f"{_words(one)}. Name it, --copy {one.log_dir}, so that it is compared{or_back}")


def with_conflicting_repairs(files: Files, rivals: ConflictingRepairs, plan: Plan, paths: Sequence[str]) -> Plan:
    """Return the plan for copies at `paths`, with conflicting repairs first: until then every repair refuses."""
    if not rivals.repairs:
        return plan
    unfinished = [one for one in rivals.repairs if one.unfinished is not None]
    there = [one for one in rivals.repairs if one.unfinished is None and _is_there(files, one)]
    situation = f"{'. '.join(map(_words, rivals.repairs))}. {plan.situation}"
    if unfinished:
        return msgspec.structs.replace(
            plan, is_whole=False, situation=situation, steps=tuple(map(_finish_or_take_back, unfinished))
        )
    if not there:
        names = ", ".join(one.log_dir for one in rivals.repairs)
        look = Step(
            text=f"{names} holds no metadata log now: look for the directory that it was moved to, and inspect all "
            "with it. Go on here only if nothing ever starts from that again, and add --accept-data-loss then"
        )
        return msgspec.structs.replace(plan, is_whole=False, situation=situation, steps=(look, *plan.steps))
    again = command("kraft", "recover", "inspect", *paths, *(one.log_dir for one in there))
    steps = [step_of(text="Start nothing, and inspect all with what was repaired", commands=(again,))]
    lines = tuple(line for one in there for line in _back(files, one))
    if lines:
        text = "Or take it back, where nothing has started from it and it is not wanted"
        steps.append(step_of(text=text, commands=lines))
    return msgspec.structs.replace(plan, is_whole=False, situation=situation, steps=tuple(steps))


def _finish_or_take_back(one: AuditedRepair) -> Step:
    lines = (undo_line(one.log_dir, parent_of(one.work_dir)), *([] if one.unfinished is None else [one.unfinished]))
    return step_of(
        text="Start nothing. Take it back by the first of these lines, or finish it by the second", commands=lines
    )


def _words(one: AuditedRepair) -> str:
    if one.unfinished is not None:
        return (
            f"a repair of {one.log_dir} at {one.at} was interrupted there, and begins epoch {one.epoch} once it is "
            "finished. Two repairs of one cluster make two quorums"
        )
    return (
        f"{one.work_dir}/{AUDIT_FILE} records a repair of {one.log_dir} at {one.at}, which began epoch {one.epoch}, "
        "and no copy here shows that repair. Two repairs of one cluster make two quorums"
    )


def _is_there(files: Files, one: AuditedRepair) -> bool:
    return files.exists(f"{one.log_dir}/{METADATA_DIRECTORY}")


def _back(files: Files, one: AuditedRepair) -> tuple[Command, ...]:
    """Return the command that undoes the repair, if that is possible."""
    root = parent_of(one.work_dir)
    return (undo_line(one.log_dir, root),) if is_undoable(files, one.log_dir, root, one.work_dir) else ()
