"""Carrying out a repair so that a crash, a full disk or a failing one leaves the directory old or new, never between.

Decides: the order of every write. Must not know: what is repaired. The caller holds the directory's lock.

1. Backup: what will change is copied to the work directory, synced, read again and compared.
2. Staging: each new file is written beside its place, synced, read again and compared.
3. The audit file, and then the journal: from here on the repair is decided. Before it, the directory is the old one.
4. meta.properties is moved aside: from here on neither Kafka nor we start from the directory.
5. New files are renamed into place, others removed, and the directories synced.
6. meta.properties comes back: the directory is the new one. The audit file says so, and the journal is removed.

Whoever finds a journal goes on from 4 (`finish`); each step finds out whether it was done.
"""

from __future__ import annotations

import contextlib
import errno

import msgspec

from metadata_log.directory import LOCK_FILE, META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.directory.repair_files import HELD_SUFFIX
from metadata_log.files.port import Files, parent_of, replace_file
from metadata_log.tools.times import time_text
from quorum.recovery.journal.adopt import adopt
from quorum.recovery.journal.changes import (
    FileChange,
    Rewrite,
    chunks,
    make_directories,
    pieces,
    sha256_of,
    write_durably,
)
from quorum.recovery.journal.errors import RecoveryError
from quorum.recovery.journal.orphaned_files import sweep
from quorum.recovery.journal.repair_record import (
    BACKUP_DIRECTORY,
    DONE,
    JOURNAL_FILE,
    NEW_SUFFIX,
    PREPARED,
    ChangedFile,
    RepairRecord,
    encode,
    mark_of,
    refuse_lost_work,
    refuse_pending,
    save_audit,
    work_root_of,
)


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """Who repairs, with which command, and when."""

    who: str
    command: str
    now_ms: int


def carry_out(
    files: Files, rewrite: Rewrite, *, author: Author, work_root: str, made: tuple[str, ...] = ()
) -> RepairRecord:
    """Do it. When this returns, all of it is durable. `made`: what the caller had to make for it, see `RepairRecord`.

    Raises:
        RecoveryError: a call failed; the message says whether the directory is the old one or waits to be finished.
    """
    log_dir = rewrite.log_dir
    work_dir = work_root
    refuse_pending(files, log_dir)
    try:
        sweep(files, log_dir, work_root)
        made += () if files.exists(f"{log_dir}/{METADATA_DIRECTORY}") else (METADATA_DIRECTORY,)
        work_dir = _new_work_dir(files, rewrite, author, work_root)
        record = RepairRecord(
            state=PREPARED,
            action=rewrite.action,
            log_dir=log_dir,
            work_dir=work_dir,
            who=author.who,
            command=author.command,
            at=time_text(author.now_ms),
            at_ms=author.now_ms,
            files=tuple(_prepared(files, rewrite, work_dir, change) for change in rewrite.changes),
            facts=rewrite.facts,
            undoes=rewrite.undoes,
            made=made,
            unmakes=rewrite.unmakes,
            meta_sha256=sha256_of(files, f"{log_dir}/{META_PROPERTIES_FILE}"),
        )
        for directory in sorted({parent_of(f"{log_dir}/{change.name}") for change in rewrite.changes}):
            files.fsync_dir(directory)
        save_audit(files, record)
        replace_file(files, f"{log_dir}/{JOURNAL_FILE}", encode(record))
    except OSError as error:
        if files.exists(f"{log_dir}/{JOURNAL_FILE}"):  # its rename was done, its sync was not
            raise _unfinished(log_dir, work_dir, error) from error
        with contextlib.suppress(OSError):  # what stays is removed by the next run
            sweep(files, log_dir, work_root)
        raise RecoveryError(
            f"{error.filename or work_dir}: {error.strerror or error}. Nothing was changed in {log_dir}: "
            f"{remedy(error)} (--work names another place for the backup), and run the command again"
        ) from error
    return _finish(files, record)


def _new_work_dir(files: Files, rewrite: Rewrite, author: Author, work_root: str) -> str:
    stamp = time_text(author.now_ms).replace(":", "").replace("-", "")
    path = f"{work_root}/{stamp}-{rewrite.action}{mark_of(rewrite.log_dir)}"
    number = 2
    while files.exists(path):
        path = f"{work_root}/{stamp}.{number}-{rewrite.action}{mark_of(rewrite.log_dir)}"
        number += 1
    make_directories(files, path, like=rewrite.log_dir)
    files.keep_private(path)
    return path


def _prepared(files: Files, rewrite: Rewrite, work_dir: str, change: FileChange) -> ChangedFile:
    """Back the old file up, and write the new one beside it."""
    log_dir = rewrite.log_dir
    path = f"{log_dir}/{change.name}"
    before = sha256_of(files, path)
    if before is not None:
        backup = f"{work_dir}/{BACKUP_DIRECTORY}/{change.name}"
        make_directories(files, parent_of(backup), like=log_dir)
        write_durably(files, backup, chunks(files, path), like=path)
        files.fsync_dir(parent_of(backup))
        _check_copy(files, backup, before)
    after = None
    if change.content is not None:
        make_directories(files, parent_of(path), like=log_dir)
        model, owner = _models(files, rewrite, change)
        after = write_durably(files, path + NEW_SUFFIX, pieces(files, change.content), like=model, owner_of=owner)
        _check_copy(files, path + NEW_SUFFIX, after)
    return ChangedFile(name=change.name, before=before, after=after)


def _models(files: Files, rewrite: Rewrite, change: FileChange) -> tuple[str, str]:
    """Whose mode and whose owner a file gets: both the replaced one's. Else its source's mode, or a neighbour's, and
    the owner of meta.properties, or of the directory: a copy that it is made from may be anybody's."""
    path, own = f"{rewrite.log_dir}/{change.name}", f"{rewrite.log_dir}/{META_PROPERTIES_FILE}"
    if files.exists(path):
        return path, path
    sources = [one.content.source for one in (change, *rewrite.changes) if one.content is not None]
    wished = [sources[0] if change.content is not None else None, own, *sources]
    model = next((name for name in wished if name is not None and files.exists(name)), rewrite.log_dir)
    return model, own if files.exists(own) else rewrite.log_dir


def _check_copy(files: Files, path: str, expected: str) -> None:
    if sha256_of(files, path) != expected:
        raise OSError(f"{path} does not hold what was written to it: the disk is failing")


def finish(files: Files, log_dir: str) -> RepairRecord | None:
    """Bring a repair of this directory that was decided to its end, from wherever it stands; None where none waits.

    It goes on here, where its journal lies, also when the directory had another path then.

    Raises:
        RecoveryError: a call failed, somebody changed the directory meanwhile, or the journal is another one's.
    """
    try:
        record = adopt(files, log_dir)
    except OSError as error:
        raise _unfinished(log_dir, work_root_of(log_dir), error) from error
    return None if record is None else _finish(files, record)


def _finish(files: Files, record: RepairRecord) -> RepairRecord:
    log_dir = record.log_dir
    refuse_lost_work(files, record)
    try:
        if _is_complete(files, record):
            return _close(files, record)
        _take_out_of_use(files, record)
        for file in record.others:
            _put_in_place(files, log_dir, file)
        for directory in sorted({parent_of(f"{log_dir}/{file.name}") for file in record.others}):
            if files.exists(directory):
                files.fsync_dir(directory)
        _give_back(files, record)
        return _close(files, record)
    except OSError as error:
        raise _unfinished(log_dir, record.work_dir, error) from error


def remedy(error: OSError) -> str:
    """What a person does about a call that failed."""
    if isinstance(error, PermissionError):
        return "run this as the user that the node runs as, or as root"
    if error.errno == errno.EROFS:
        return "mount the file system for writing"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room"
    return "make room or mend the disk"


def _unfinished(log_dir: str, work_dir: str, error: OSError) -> RecoveryError:
    return RecoveryError(
        f"{error.filename or log_dir}: {error.strerror or error}. The repair is decided and not finished, and "
        f"{log_dir} must not be used until it is: {remedy(error)}, and run the same command again. The backup is "
        f"in {work_dir}"
    )


def _is_complete(files: Files, record: RepairRecord) -> bool:
    """Whether all is in place, and only the journal was left: a node may have run since, and changed what it owns."""
    meta = f"{record.log_dir}/{META_PROPERTIES_FILE}"
    removes_it = record.identity is not None and record.identity.after is None
    if files.exists(meta + HELD_SUFFIX) or files.exists(meta) == removes_it:
        return False
    written = [file for file in record.files if file.after is not None]
    return bool(written) and not any(files.exists(f"{record.log_dir}/{file.name}{NEW_SUFFIX}") for file in written)


def _close(files: Files, record: RepairRecord) -> RepairRecord:
    done = msgspec.structs.replace(record, state=DONE)
    save_audit(files, done)
    files.unlink(f"{record.log_dir}/{JOURNAL_FILE}")
    files.fsync_dir(record.log_dir)
    return done


def _take_out_of_use(files: Files, record: RepairRecord) -> None:
    """Without meta.properties neither Kafka nor we start from a directory. One rename alone needs no such care."""
    if not record.others:
        return
    meta = f"{record.log_dir}/{META_PROPERTIES_FILE}"
    changed = record.identity
    found = sha256_of(files, meta)
    if found is None or (changed is not None and found == changed.after and changed.after != changed.before):
        return
    if files.exists(meta + HELD_SUFFIX) or (changed is not None and found != changed.before):
        raise RecoveryError(
            f"{meta} was written by somebody else while a repair was under way: remove it if it was formatted anew by "
            "mistake, and finish the repair"
        )
    files.rename(meta, meta + HELD_SUFFIX)
    files.fsync_dir(record.log_dir)


def _put_in_place(files: Files, log_dir: str, file: ChangedFile) -> None:
    path = f"{log_dir}/{file.name}"
    if file.after is None:
        if files.exists(path):
            files.unlink(path)
    elif files.exists(path + NEW_SUFFIX):
        files.rename(path + NEW_SUFFIX, path)
    elif sha256_of(files, path) != file.after:
        raise RecoveryError(
            f"{path} was changed by somebody else while a repair was under way: put its backup back by hand, or "
            "restore the directory"
        )


def _give_back(files: Files, record: RepairRecord) -> None:
    meta = f"{record.log_dir}/{META_PROPERTIES_FILE}"
    held = meta + HELD_SUFFIX
    changed = record.identity
    if changed is None:
        if files.exists(held):
            files.rename(held, meta)
            files.fsync_dir(record.log_dir)
        return
    _put_in_place(files, record.log_dir, changed)
    files.fsync_dir(record.log_dir)
    if files.exists(held):
        files.unlink(held)
        files.fsync_dir(record.log_dir)


def clear_away(files: Files, record: RepairRecord) -> None:
    """Remove what a repair that was taken back had made besides files, where nothing else has come into it since.

    The caller holds the lock, and nobody starts from the directory: what stays after a crash hinders nothing.
    """
    if record.undoes is None:
        return
    log_dir = record.log_dir
    gone = {*record.made, *record.unmakes}
    metadata = f"{log_dir}/{METADATA_DIRECTORY}"
    if METADATA_DIRECTORY in gone and files.exists(metadata) and not files.listdir(metadata):
        files.rmdir(metadata)
    if LOCK_FILE in gone and files.exists(f"{log_dir}/{LOCK_FILE}"):
        files.unlink(f"{log_dir}/{LOCK_FILE}")
    files.fsync_dir(log_dir)
    if "." in gone and not files.listdir(log_dir):
        files.rmdir(log_dir)
        files.fsync_dir(parent_of(log_dir))
