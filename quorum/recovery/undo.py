"""Taking a repair back: the files as they were, from the backup, as another repair.

Decides: when that is still possible. Must not know: what the repair was for.
"""

from __future__ import annotations

from metadata_log.files import Files
from quorum.recovery.carry_out import last_repair
from quorum.recovery.changes import Content, FileChange, Rewrite, sha256_of
from quorum.recovery.copies import read_copy
from quorum.recovery.errors import RefusedError
from quorum.recovery.journal import BACKUP_DIRECTORY, ChangedFile, Record, refuse_pending
from quorum.recovery.places import find_place
from quorum.recovery.request import Proposal


def propose_undo(files: Files, log_dir: str, work_root: str) -> Proposal:
    """Take the latest repair of a log directory back.

    Raises:
        RefusedError: there is none, a node has run since, or the backup is damaged.
    """
    if not files.exists(log_dir):
        raise RefusedError(f"{log_dir} does not exist: give the log directory that was repaired")
    refuse_pending(files, log_dir)
    record = last_repair(files, log_dir, work_root)
    if record is None:
        raise RefusedError(
            f"{work_root} holds no repair of {log_dir} that could be undone: if its backup is elsewhere, say --work"
        )
    _refuse_grown(files, record)
    changes = tuple(_back(files, record, file) for file in record.files)
    facts: dict[str, object] = {"undone_action": record.action, "undone_at": record.at}
    rewrite = Rewrite(action="undo", log_dir=log_dir, changes=changes, facts=facts, undoes=record.work_dir)
    return Proposal(
        action="undo",
        rewrites=(rewrite,),
        says=(f"`kraft recover {record.action}` of {record.at} by {record.who} is taken back",),
        warnings=(f"the directory is then as it was before {record.at}: what was wrong with it is wrong again",),
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
