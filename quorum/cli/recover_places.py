"""Where `kraft recover` works and keeps its backups, as its options name it.

Decides: which places are refused before any is locked. Must not know: what is done there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.files.port import Files
from quorum.cli.recover_options import author
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.errors import RefusedError, WrongOptionError
from quorum.recovery.journal.repair_record import JOURNAL_FILE, work_root_of


def refuse_places(files: Files, targets: Sequence[Path], work: Path | None) -> None:
    """Before anything is done or locked.

    Raises:
        RefusedError: a path is no UTF-8.
        WrongOptionError: two targets are one directory, or `work` lies in a log directory.
    """
    _refuse_no_text([author().command, *map(os.path.realpath, targets)])
    _refuse_twice(targets)
    _refuse_within(files, work)


def _refuse_no_text(texts: Sequence[str]) -> None:
    """The audit file tells of directories by their paths, in JSON.

    Raises:
        RefusedError: a path is no UTF-8.
    """
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RefusedError(
                f"{text}: a path in it is no UTF-8, so that no audit file could tell of it: rename the directory, or "
                "repair a copy of it at another path"
            ) from error


def _refuse_twice(targets: Sequence[Path]) -> None:
    """Before any is locked: the second lock of the same directory would be said to be another process's.

    Raises:
        WrongOptionError: two of them are one directory.
    """
    if len({os.path.realpath(target) for target in targets}) < len(targets):
        raise WrongOptionError("a directory is named twice: name each once")


def _refuse_within(files: Files, work: Path | None) -> None:
    """Kafka does not start on a log directory that holds a directory which is no partition's.

    Raises:
        WrongOptionError: `work` is, or lies in, a log directory.
    """
    if work is None:
        return
    for path in (real := Path(os.path.realpath(work)), *real.parents):
        inside = path.name == METADATA_DIRECTORY or any(
            files.exists(str(path / name)) for name in (METADATA_DIRECTORY, META_PROPERTIES_FILE, JOURNAL_FILE)
        )
        if inside:
            raise WrongOptionError(
                f"--work {work} lies in the log directory {path}, and Kafka does not start with a strange directory in "
                "one: name a place outside of every log directory"
            )


def with_warnings_of_places(proposal: Proposal, work: Path | None) -> Proposal:
    """The proposal of a dry run, with what would keep its backup from being written."""
    roots = dict.fromkeys(work_root(rewrite.log_dir, work) for rewrite in proposal.rewrites)
    found = [
        f"--apply could not write its backup below {root} ({why}): see to that first, or name another place with --work"
        for root in roots
        if (why := _why_closed(Path(root))) is not None
    ]
    return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, *found))


def _why_closed(root: Path) -> str | None:
    """Why nothing can be made at `root` or, while that is not there, in what there is of its parents."""
    there = next(path for path in (root, *root.parents) if os.path.lexists(path))
    if not there.is_dir():
        return f"{there}: {os.strerror(errno.ENOTDIR)}"
    if os.access(there, os.W_OK | os.X_OK):
        return None
    is_read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return f"{there}: {os.strerror(errno.EROFS if is_read_only else errno.EACCES)}"


def work_root(log_dir: str, work: Path | None) -> str:
    """Where backups go."""
    return work_root_of(log_dir, None if work is None else str(work.absolute()))
