"""Orphaned files of a repair that was interrupted before its journal: the directory is unchanged except for them.

Must not know: how a repair is carried out. There is no journal, and the caller holds the lock.
"""

from __future__ import annotations

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.port import Files
from quorum.recovery.journal.repair_record import JOURNAL_FILE, NEW_SUFFIX, is_undecided, mark_of


def staged(files: Files, log_dir: str) -> list[str]:
    """Return the paths of staged files, and of a journal that was never renamed into place."""
    return [
        f"{directory}/{name}"
        for directory in (log_dir, f"{log_dir}/{METADATA_DIRECTORY}")
        if files.exists(directory)
        for name in files.listdir(directory)
        if name.endswith(NEW_SUFFIX) or name == f"{JOURNAL_FILE}.tmp"
    ]


def undecided(files: Files, log_dir: str, work_root: str) -> dict[str, str]:
    """Return the work directories of such repairs, the latest last, each with the name of its command."""
    mark, found = mark_of(log_dir), {}
    for name in sorted(files.listdir(work_root)) if files.exists(work_root) else ():
        path = f"{work_root}/{name}"
        if name.endswith(mark) and files.is_dir(path) and is_undecided(files, path):
            found[path] = name.removesuffix(mark).partition("-")[2]
    return found


def sweep(files: Files, log_dir: str, work_root: str) -> None:
    """Remove all orphaned files of this directory, and the work directories of its undecided repairs."""
    for path in staged(files, log_dir):
        files.unlink(path)
    for work_dir in undecided(files, log_dir, work_root):
        remove_tree(files, work_dir)


def remove_tree(files: Files, path: str) -> None:
    """Remove a directory and everything below it."""
    for name in files.listdir(path):
        child = f"{path}/{name}"
        if files.is_dir(child):
            remove_tree(files, child)
        else:
            files.unlink(child)
    files.rmdir(path)
