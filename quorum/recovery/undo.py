"""Taking a repair back: the files as they were, from the backup, as another repair.

Decides: which repair is meant, and when that is still possible. Must not know: what the repair was for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.files import Files
from quorum.recovery.advice import command
from quorum.recovery.changes import Content, FileChange, Rewrite, sha256_of
from quorum.recovery.copies import read_copy
from quorum.recovery.errors import RefusedError
from quorum.recovery.journal import BACKUP_DIRECTORY, DONE, ChangedFile, Record, audits, refuse_pending, work_root_of
from quorum.recovery.places import find_place
from quorum.recovery.request import Proposal

TOGETHER: Final = "log_dirs"
"""Among a record's facts: all directories that one command has repaired."""


def propose_undo(files: Files, log_dir: str, work_root: str) -> Proposal:
    """Take the latest repair of a log directory back.

    Raises:
        RefusedError: there is none, a node has run since, or the backup is damaged.
    """
    if not files.exists(log_dir):
        raise RefusedError(f"{log_dir} does not exist: give the log directory that was repaired")
    refuse_pending(files, log_dir)
    known = [record for record in audits(files, work_root) if record.state == DONE]
    own = _of_directory(files, known, log_dir)
    undone = {os.path.basename(record.undoes) for record in own if record.undoes is not None}
    standing = [record for record in own if record.undoes is None and os.path.basename(record.work_dir) not in undone]
    if not standing:
        raise RefusedError(_nothing_to_undo(known, own, log_dir, work_root))
    record = msgspec.structs.replace(standing[-1], log_dir=log_dir)
    _refuse_grown(files, record)
    changes = tuple(_back(files, record, file) for file in record.files)
    facts: dict[str, object] = {"undone_action": record.action, "undone_at": record.at}
    rewrite = Rewrite(action="undo", log_dir=log_dir, changes=changes, facts=facts, undoes=record.work_dir)
    return Proposal(
        action="undo",
        rewrites=(rewrite,),
        says=(f"`kraft recover {record.action}` of {record.at} by {record.who} is taken back",),
        warnings=(*_warnings(record, standing[:-1]), *_told_together(standing[-1], work_root)),
    )


def undo_command(record: Record, default_root: str) -> str:
    """The line that takes a repair back."""
    root = os.path.dirname(record.work_dir)
    work = () if root == default_root else ("--work", root)
    return command("kraft", "recover", "undo", "--dir", record.log_dir, *work, "--apply")


def _of_directory(files: Files, known: list[Record], log_dir: str) -> list[Record]:
    """By the path; where that has changed (moved, copied, a symbolic link), by the meta.properties that it has."""
    named = [record for record in known if record.log_dir == log_dir]
    if named:
        return named
    meta = sha256_of(files, f"{log_dir}/{META_PROPERTIES_FILE}")
    if meta is None:
        return []
    last = next((record for record in reversed(known) if _left_meta(record) == meta), None)
    return [] if last is None else [record for record in known if record.log_dir == last.log_dir]


def _left_meta(record: Record) -> str | None:
    return record.meta_sha256 if record.identity is None else record.identity.after


def _nothing_to_undo(known: list[Record], own: list[Record], log_dir: str, work_root: str) -> str:
    last = own[-1] if own else None
    if last is not None and last.undoes is not None:
        return f"{log_dir}: already undone at {last.at} by {last.who}: there is nothing more to take back"
    others = ", ".join(sorted({record.log_dir for record in known}))
    holds = f" (but of {others})" if others else ""
    return (
        f"{work_root} holds no repair of {log_dir}{holds} that could be undone: if its backup is elsewhere, say --work"
    )


def _warnings(record: Record, earlier: list[Record]) -> tuple[str, ...]:
    said = [f"the directory is then as it was before {record.at}: what was wrong with it is wrong again"]
    if earlier:
        said.append(
            f"an earlier repair is still there, `kraft recover {earlier[-1].action}` of {earlier[-1].at}: the same "
            "command once more takes it back, too"
        )
    return tuple(said)


def _told_together(record: Record, work_root: str) -> Iterator[str]:
    """What was repaired together is taken back together."""
    together = record.facts.get(TOGETHER)
    others = [path for path in together if path != record.log_dir] if isinstance(together, list) else []
    if others:
        work = () if work_root == work_root_of(record.log_dir) else ("--work", work_root)
        lines = [command("kraft", "recover", "undo", "--dir", path, *work, "--apply") for path in others]
        yield (
            "one command repaired several directories: before anything starts, take it back in the others, too: "
            + "; ".join(lines)
        )


def _refuse_grown(files: Files, record: Record) -> None:
    """A repair that appended nothing may have left the file alone that a node then wrote to: look at the log's end."""
    left = record.facts.get("kept_end_offset")
    if not isinstance(left, int) or record.facts.get("new_epoch") is not None:
        return
    end = int(read_copy(files, find_place(files, record.log_dir)).end.offset)
    if end != left:
        raise RefusedError(
            f"the log of {record.log_dir} ends at offset {end}, and the repair left it at {left}: a node has run "
            f"since, and undoing would take back what it wrote. The files from before are in {record.work_dir}/"
            f"{BACKUP_DIRECTORY}, to be put back by hand"
        )


def _back(files: Files, record: Record, file: ChangedFile) -> FileChange:
    path = f"{record.log_dir}/{file.name}"
    if sha256_of(files, path) != file.after:
        raise RefusedError(
            f"{path} is not as the repair left it: a node has run since, and undoing would take back what it wrote. "
            f"The files from before are in {record.work_dir}/{BACKUP_DIRECTORY}, to be put back by hand"
        )
    if file.before is None:
        return FileChange(name=file.name, content=None)
    backup = f"{record.work_dir}/{BACKUP_DIRECTORY}/{file.name}"
    if sha256_of(files, backup) != file.before:
        raise RefusedError(f"{backup} is missing or damaged: it is not what was backed up. Nothing was changed")
    handle = files.open(backup, read_only=True)
    try:
        return FileChange(name=file.name, content=Content(source=backup, size=handle.size()))
    finally:
        handle.close()
