"""Undo a repair: another repair that restores the files from the backup.

Decides: which repair is meant, and when an undo is still possible. Must not know: what the repair was for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import MetadataLogError
from metadata_log.files.port import Files
from quorum.recovery.advice.commands import undo_line
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.changes import Content, FileChange, Rewrite, sha256_of
from quorum.recovery.journal.errors import RefusedError, WrongOptionError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.next_steps import command
from quorum.recovery.journal.orphaned_files import staged, undecided
from quorum.recovery.journal.repair_facts import RepairFacts
from quorum.recovery.journal.repair_record import (
    BACKUP_DIRECTORY,
    DONE,
    Audits,
    ChangedFile,
    RepairRecord,
    audits,
    mark_of,
    of_directory,
    pending,
    refuse_lost_work,
    refuse_pending,
    standing,
    work_root_of,
)

UNDO: Final = "undo"


def propose_undo(files: Files, log_dir: str, work_root: str) -> Proposal:
    """Undo the latest repair of a log directory.

    Raises:
        RefusedError: there is no repair, a node has run since, or the backup is damaged.
    """
    if not files.exists(log_dir):
        raise WrongOptionError(f"{log_dir} does not exist: give the log directory that was repaired")
    waiting = pending(files, log_dir)
    if waiting is not None and waiting.undoes is None:
        return _foreseen(files, msgspec.structs.replace(waiting, log_dir=log_dir), work_root)
    refuse_pending(files, log_dir)
    found = audits(files, work_root)
    known = [record for record in found.records if record.state == DONE]
    own = of_directory(files, known, log_dir)
    left = standing(own)
    never_begun = _of_the_undecided(files, log_dir, work_root, has_earlier=bool(left))
    if never_begun is not None:
        return never_begun
    _refuse_unreadable(found, own, left, log_dir)
    if not left:
        raise RefusedError(_nothing_to_undo(known, own, log_dir, work_root))
    record = msgspec.structs.replace(left[-1], log_dir=log_dir)
    _refuse_grown(files, record)
    changes = tuple(_back(files, record, file) for file in record.files)
    facts = RepairFacts(undone_action=record.action, undone_at=record.at)
    rewrite = Rewrite(
        action=UNDO, log_dir=log_dir, changes=changes, facts=facts, undoes=record.work_dir, unmakes=record.made
    )
    return Proposal(
        action=UNDO,
        rewrites=(rewrite,),
        says=(f"`kraft recover {record.action}` of {record.at} by {record.who} is taken back",),
        warnings=(*_warnings(record, left[:-1]), *_told_together(files, left[-1], work_root), *found.notes),
    )


def is_undoable(files: Files, log_dir: str, root: str | None = None, work_dir: str | None = None) -> bool:
    """Return True if the latest repair of a log directory can be undone: no node has run since.

    Args:
        root: the directory of its backup; None: next to the log directory.
        work_dir: of the repair that is meant; None: the latest.
    """
    try:
        proposal = propose_undo(files, log_dir, work_root_of(log_dir) if root is None else root)
    except (MetadataLogError, OSError):
        return False
    return any(work_dir in (None, rewrite.undoes) for rewrite in proposal.rewrites)


def with_undoable(files: Files, known: RepairEvidence) -> RepairEvidence:
    """Return the evidence with the directories whose last repair can be undone."""
    dirs = [copy.place.log_dir for copy in known.copies]
    return msgspec.structs.replace(known, undoable=frozenset(path for path in dirs if is_undoable(files, path)))


def _of_the_undecided(files: Files, log_dir: str, work_root: str, *, has_earlier: bool) -> Proposal | None:
    """Return the removal of files that an undecided repair left behind, or None.

    Such a repair changed nothing. The user means this repair, and not an earlier one that could be undone.
    """
    begun = undecided(files, log_dir, work_root)
    if UNDO in begun.values():  # an interrupted undo: the same command begins it again
        return None
    left = [*staged(files, log_dir), *begun]
    if not begun and (not left or has_earlier):
        return None
    action = next((f"`kraft recover {name}`" for name in reversed(begun.values())), "a repair")
    return Proposal(
        action=UNDO,
        rewrites=(),
        leavings=(log_dir,),
        says=(
            f"{action} was interrupted before it was decided: {log_dir} is as it was, and nothing is taken back",
            f"what it left is removed: {', '.join(left)}",
        ),
    )


def _foreseen(files: Files, record: RepairRecord, work_root: str) -> Proposal:
    """Return the undo of an interrupted repair. The repair is finished first: an undo needs a complete directory."""
    refuse_lost_backup(files, record, work_root)
    changes = tuple(_from_backup(files, record, file) for file in record.files)
    rewrite = Rewrite(action=UNDO, log_dir=record.log_dir, changes=changes, undoes=record.work_dir, unmakes=record.made)
    return Proposal(
        action=UNDO,
        rewrites=(rewrite,),
        says=(
            f"`kraft recover {record.action}` of {record.at} by {record.who}, which was interrupted, is finished, and "
            "then taken back",
        ),
        warnings=(*_warnings(record, []), *_told_together(files, record, work_root)),
    )


def refuse_lost_backup(files: Files, record: RepairRecord, work_root: str) -> None:
    """Refuse to finish an interrupted repair for an undo that would then fail: the finished repair would stay.

    Raises:
        RefusedError: its backup is elsewhere, gone or damaged; with the next step.
    """
    if work_root != record.root:
        raise RefusedError(
            f"the backup of the repair that was interrupted in {record.log_dir} lies in {record.root}, not in "
            f"{work_root}: {undo_line(record.log_dir, record.root)}"
        )
    refuse_lost_work(files, record)
    for file in record.files:
        _from_backup(files, record, file)


def _refuse_unreadable(found: Audits, own: list[RepairRecord], left: list[RepairRecord], log_dir: str) -> None:
    """Refuse if both audit files of a later repair are damaged: nothing proves its backup, or lists the files it added.

    Raises:
        RefusedError: there is one; with the steps by hand.
    """
    marks = tuple({mark_of(path) for path in (log_dir, *(record.log_dir for record in own))})
    since = os.path.basename(left[-1].work_dir) if left else ""
    for unread in reversed(found.unreadable):
        work_dir, problem = unread.work_dir, unread.why
        name = os.path.basename(work_dir)
        if name < since or not (name.endswith(marks) or not own):
            continue
        if unread.is_newer:
            raise RefusedError(
                f"{problem}. So nothing was changed. Undo that repair with the kraft that did it, or a later one"
            )
        backup, aside = f"{work_dir}/{BACKUP_DIRECTORY}", f"{log_dir}.before-undo"
        raise RefusedError(
            f"{problem}. So nothing says which files that repair wrote, or proves the backup, and nothing was changed. "
            f"With the node stopped, undo it by hand: {command('cp', '-a', log_dir, aside)}; then remove "
            f"the newest .log of {log_dir}/{METADATA_DIRECTORY} unless {backup} has one of that name, "
            f"then {command('cp', '-a', backup + '/.', log_dir)}; then see what `kraft check` says of {log_dir}"
        )


def _nothing_to_undo(known: list[RepairRecord], own: list[RepairRecord], log_dir: str, work_root: str) -> str:
    last = own[-1] if own else None
    if last is not None and last.undoes is not None:
        return f"{log_dir}: already undone at {last.at} by {last.who}: there is nothing more to take back"
    others = ", ".join(sorted({record.log_dir for record in known}))
    holds = f" (but of {others})" if others else ""
    return (
        f"{work_root} holds no repair of {log_dir}{holds} that could be undone: if its backup is elsewhere, say --work"
    )


def _warnings(record: RepairRecord, earlier: list[RepairRecord]) -> tuple[str, ...]:
    said = [f"the directory is then as it was before {record.at}, with the fault that the repair removed"]
    said += [] if record.facts.not_checked is None else [record.facts.not_checked]
    if earlier:
        said.append(
            f"an earlier repair remains, `kraft recover {earlier[-1].action}` of {earlier[-1].at}: run the same "
            "command again to undo it, too"
        )
    return tuple(said)


def _told_together(files: Files, record: RepairRecord, work_root: str) -> Iterator[str]:
    """Yield the advice to undo the repair also in the other directories of the same command, unless that is done."""
    others = [path for path in record.facts.log_dirs if path != record.log_dir]
    root = None if work_root == work_root_of(record.log_dir) else work_root
    others = [path for path in others if not _was_taken_back(files, record, path, root or work_root_of(path))]
    if others:
        lines = [str(undo_line(path, root)) for path in others]
        yield (
            "one command repaired several directories: before anything starts, take it back in the others, too: "
            + "; ".join(lines)
        )


def _was_taken_back(files: Files, record: RepairRecord, log_dir: str, root: str) -> bool:
    """Return True if the same command repaired this directory and that was undone; False if this cannot be read."""
    try:
        known = audits(files, root).records if files.exists(root) and files.is_dir(root) else ()
    except OSError:
        return False
    own = of_directory(files, [one for one in known if one.state == DONE], log_dir)
    same = [one for one in own if one.command == record.command and one.facts.log_dirs == record.facts.log_dirs]
    return bool(same) and same[-1] not in standing(own)


def _refuse_grown(files: Files, record: RepairRecord) -> None:
    """Refuse if the log has grown since the repair: a node has run.

    The hashes of `_back` do not show this: a node may have appended to a file that the repair did not change.
    """
    left = record.facts.kept_end_offset
    if left is None or record.facts.new_epoch is not None:
        return
    end = int(read_copy(files, find_place(files, record.log_dir)).end.offset)
    if end != left:
        raise RefusedError(
            f"the log of {record.log_dir} ends at offset {end}, and the repair left it at {left}: a node has run "
            f"since, and undoing would take back what it wrote. The files from before are in {record.work_dir}/"
            f"{BACKUP_DIRECTORY}, to be put back by hand"
        )


def _back(files: Files, record: RepairRecord, file: ChangedFile) -> FileChange:
    path = f"{record.log_dir}/{file.name}"
    # A changed hash means that a node has run since: an undo would discard the records that it wrote.
    if sha256_of(files, path) != file.after:
        raise RefusedError(
            f"{path} is not as the repair left it: a node has run since, and undoing would take back what it wrote. "
            f"The files from before are in {record.work_dir}/{BACKUP_DIRECTORY}, to be put back by hand"
        )
    return _from_backup(files, record, file)


def _from_backup(files: Files, record: RepairRecord, file: ChangedFile) -> FileChange:
    if file.before is None:
        return FileChange(name=file.name, content=None)
    backup = f"{record.work_dir}/{BACKUP_DIRECTORY}/{file.name}"
    if sha256_of(files, backup) != file.before:
        raise RefusedError(
            f"{backup} is missing or damaged: it is not what was backed up. Nothing was changed: bring the backup "
            "back, if it is on another disk"
        )
    handle = files.open(backup, read_only=True)
    try:
        return FileChange(name=file.name, content=Content(source=backup, size=handle.size()))
    finally:
        handle.close()
