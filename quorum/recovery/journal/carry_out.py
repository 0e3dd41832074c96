"""Carry out a repair: after a crash or disk error the directory is the old or the new one, or no node starts from it.

Decides: the order of every write. Must not know: what is repaired. The caller holds the directory's lock.

1. Backup: copy the files that will change to the work directory, sync, read them again and compare.
2. Staging: write each new file next to its place, sync, read it again and compare.
3. Write the audit file, then the journal. The journal decides the repair: before it, the directory is the old one.
4. Move meta.properties aside. From here on neither Kafka nor `kraft` starts from the directory.
5. Rename new files into place, remove others, and sync the directories.
6. Put meta.properties back: the directory is the new one. Record that in the audit file, then remove the journal.

`finish` goes on from step 4 if it finds a journal. Each step recognises whether it was done.
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
    """The user and command of a repair, and its time."""

    who: str
    command: str
    now_ms: int


def carry_out(
    files: Files, rewrite: Rewrite, *, author: Author, work_root: str, made: tuple[str, ...] = ()
) -> RepairRecord:
    """Carry out a repair; when this returns, it is durable. `made`: see `RepairRecord`.

    Raises:
        RecoveryError: a call failed. The message says whether the directory is unchanged or the repair must be
        finished.
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
        # The staged files must be durable before the journal: the journal promises that the repair can be finished.
        for directory in sorted({parent_of(f"{log_dir}/{change.name}") for change in rewrite.changes}):
            files.fsync_dir(directory)
        # The audit file first: if the journal is damaged later, this file has the same content (see `pending`).
        save_audit(files, record)
        replace_file(files, f"{log_dir}/{JOURNAL_FILE}", encode(record))
    except OSError as error:
        if files.exists(f"{log_dir}/{JOURNAL_FILE}"):  # the rename succeeded, a later sync failed
            raise _unfinished(log_dir, work_dir, error) from error
        with contextlib.suppress(OSError):  # the next run removes the rest
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
    """Back up the old file, and stage the new one next to it."""
    log_dir = rewrite.log_dir
    path = f"{log_dir}/{change.name}"
    before = sha256_of(files, path)
    if before is not None:
        backup = f"{work_dir}/{BACKUP_DIRECTORY}/{change.name}"
        make_directories(files, parent_of(backup), like=log_dir)
        write_durably(files, backup, chunks(files, path), like=path)
        files.fsync_dir(parent_of(backup))
        _check_copy(files, backup, before)
    # The backup is verified before anything is staged: a disk that corrupts writes must stop the repair here.
    after = None
    if change.content is not None:
        make_directories(files, parent_of(path), like=log_dir)
        model, owner = _models(files, rewrite, change)
        after = write_durably(files, path + NEW_SUFFIX, pieces(files, change.content), like=model, owner_of=owner)
        _check_copy(files, path + NEW_SUFFIX, after)
    return ChangedFile(name=change.name, before=before, after=after)


def _models(files: Files, rewrite: Rewrite, change: FileChange) -> tuple[str, str]:
    """Return the path whose mode a file gets, and the path whose owner it gets.

    Both are the replaced file, if there is one. Otherwise the mode is that of its source or of meta.properties. The
    owner is that of meta.properties or of the directory, since any user may own the copy that the file is made from.
    """
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
    """Finish a decided repair of this directory, from any step; return None without one.

    The directory may have been moved since: the repair goes on where the journal is.

    Raises:
        RecoveryError: a call failed, another process changed the directory, or the journal is of another directory.
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
        # While the log is partly old and partly new, no node may start from the directory.
        _take_out_of_use(files, record)
        for file in record.others:
            _put_in_place(files, log_dir, file)
        for directory in sorted({parent_of(f"{log_dir}/{file.name}") for file in record.others}):
            if files.exists(directory):
                files.fsync_dir(directory)
        # Only after the sync: meta.properties must not become durable before the files that it lets a node start from.
        _give_back(files, record)
        return _close(files, record)
    except OSError as error:
        raise _unfinished(log_dir, record.work_dir, error) from error


def remedy(error: OSError) -> str:
    """Return what an operator does about a failed call."""
    if isinstance(error, PermissionError):
        return "run this as the user that the node runs as, or as root"
    if error.errno == errno.EROFS:
        return "mount the file system for writing"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room"
    return "make room or replace the disk"


def _unfinished(log_dir: str, work_dir: str, error: OSError) -> RecoveryError:
    return RecoveryError(
        f"{error.filename or log_dir}: {error.strerror or error}. The repair is decided and not finished, and "
        f"{log_dir} must not be used until it is: {remedy(error)}, and run the same command again. The backup is "
        f"in {work_dir}"
    )


def _is_complete(files: Files, record: RepairRecord) -> bool:
    """Return True if every file is in place and only the journal remains.

    A node may have run since then and changed its files, so their hashes are not compared.
    """
    meta = f"{record.log_dir}/{META_PROPERTIES_FILE}"
    removes_it = record.identity is not None and record.identity.after is None
    if files.exists(meta + HELD_SUFFIX) or files.exists(meta) == removes_it:
        return False
    written = [file for file in record.files if file.after is not None]
    return bool(written) and not any(files.exists(f"{record.log_dir}/{file.name}{NEW_SUFFIX}") for file in written)


def _close(files: Files, record: RepairRecord) -> RepairRecord:
    done = msgspec.structs.replace(record, state=DONE)
    save_audit(files, done)
    # Last: if a crash comes before, the next run finds the journal and closes the repair again.
    files.unlink(f"{record.log_dir}/{JOURNAL_FILE}")
    files.fsync_dir(record.log_dir)
    return done


def _take_out_of_use(files: Files, record: RepairRecord) -> None:
    """Move meta.properties aside, unless it is the only file that changes: then one rename is atomic."""
    if not record.others:
        return
    meta = f"{record.log_dir}/{META_PROPERTIES_FILE}"
    changed = record.identity
    found = sha256_of(files, meta)
    # An earlier run moved it aside already, or already put the new one in place.
    if found is None or (changed is not None and found == changed.after and changed.after != changed.before):
        return
    if files.exists(meta + HELD_SUFFIX) or (changed is not None and found != changed.before):
        raise RecoveryError(
            f"{meta} was written by another program while a repair was under way. If the directory was formatted by "
            "mistake, remove this file, and run the same command again to finish the repair"
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
            f"{path} was changed by another program while a repair was under way: put its backup back by hand, or "
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
    """Remove empty directories and the lock file that an undone repair had made.

    A directory that holds anything else by now is kept. The caller holds the lock, and no node starts from the
    directory: if a crash interrupts this, the leftovers do no harm.
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
