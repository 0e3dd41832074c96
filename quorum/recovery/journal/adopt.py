"""An interrupted repair whose directory was moved, copied, or is now reached by another path.

Decides: whether the journal belongs to this directory, and where its backup is. The repair goes on here and nowhere
else. Must not know: how a repair is finished. The caller holds the directory's lock.
"""

from __future__ import annotations

import os

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.directory.repair_files import HELD_SUFFIX
from metadata_log.files.port import Files, parent_of, replace_file
from quorum.recovery.journal.changes import chunks, make_directories, sha256_of, write_durably
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.repair_record import (
    AUDIT_FILE,
    BACKUP_DIRECTORY,
    JOURNAL_FILE,
    NEW_SUFFIX,
    ChangedFile,
    RepairRecord,
    encode,
    pending,
    save_audit,
    work_root_of,
)


def adopt(files: Files, log_dir: str) -> RepairRecord | None:
    """Return the interrupted repair of this directory with this directory's paths, or None.

    If the journal has another path, it is rewritten. The directory at that path, and its backup, stay unchanged.

    Raises:
        RefusedError: the journal cannot belong to this directory.
        OSError: a call failed; another run goes on.
    """
    record = pending(files, log_dir)
    if record is None or record.log_dir == log_dir:
        return record
    here = msgspec.structs.replace(record, log_dir=log_dir)
    _refuse_foreign(files, here, record.log_dir)
    here = msgspec.structs.replace(here, work_dir=_work_dir(files, record, log_dir))
    # The order is backup, audit file, journal: the journal keeps its old path until its new work directory is complete.
    if not files.exists(f"{here.work_dir}/{AUDIT_FILE}"):
        _copy_backup(files, msgspec.structs.replace(record, log_dir=log_dir), here.work_dir)
    save_audit(files, here)
    replace_file(files, f"{log_dir}/{JOURNAL_FILE}", encode(here))
    return here


def _work_dir(files: Files, record: RepairRecord, log_dir: str) -> str:
    """Return the work directory next to this directory, or the old one if no other directory can own it."""
    beside = f"{work_root_of(log_dir)}/{os.path.basename(record.work_dir)}"
    if files.exists(f"{beside}/{AUDIT_FILE}") or files.exists(record.log_dir) or not files.exists(record.work_dir):
        return beside
    return record.work_dir


def _copy_backup(files: Files, record: RepairRecord, work_dir: str) -> None:
    """Copy the files of the backup that still exist: a repair can be finished without one, only not be undone."""
    make_directories(files, work_dir, like=record.log_dir)
    for file in record.files:
        source = f"{record.work_dir}/{BACKUP_DIRECTORY}/{file.name}"
        if file.before is None or sha256_of(files, source) != file.before:
            continue
        target = f"{work_dir}/{BACKUP_DIRECTORY}/{file.name}"
        make_directories(files, parent_of(target), like=record.log_dir)
        write_durably(files, target, chunks(files, source), like=source)
        files.fsync_dir(parent_of(target))


def _refuse_foreign(files: Files, record: RepairRecord, before: str) -> None:
    """Refuse a journal if a file differs from all that the repair saw, staged or wrote.

    meta.properties, if the repair does not change it, must be the one that the repair saw.
    """
    wrong = next((file.name for file in record.files if not _fits(files, record.log_dir, file)), None)
    if wrong is None and record.identity is None and record.meta_sha256 is not None:
        meta = f"{record.log_dir}/{META_PROPERTIES_FILE}"
        if record.meta_sha256 not in (sha256_of(files, meta), sha256_of(files, meta + HELD_SUFFIX)):
            wrong = META_PROPERTIES_FILE
    if wrong is not None:
        raise RefusedError(
            f"{record.log_dir}/{JOURNAL_FILE} is of an interrupted repair of {before}, and {wrong} here is not what "
            f"that repair saw or wrote: it is another directory's journal, or this one was changed since. Finish it in "
            f"the directory that was being repaired, or restore that from the backup in {record.work_dir}; remove the "
            "journal here only if this directory was never the one under repair"
        )


def _fits(files: Files, log_dir: str, file: ChangedFile) -> bool:
    path = f"{log_dir}/{file.name}"
    if file.after is not None and sha256_of(files, path + NEW_SUFFIX) == file.after:
        return True
    found = sha256_of(files, path)
    return found == file.after or (file.after is None and found == file.before)
