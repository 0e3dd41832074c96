"""The directories in which `kraft recover` works and keeps its backups, from its options.

Decides: which directories are refused before any is locked.
"""

from __future__ import annotations

import errno
import os
import pwd
from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.files.port import Files
from quorum.cli.recover.author import author
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.errors import RefusedError, WrongOptionError
from quorum.recovery.journal.repair_record import AUDIT_COPY_FILE, AUDIT_FILE, JOURNAL_FILE, work_root_of


def refuse_places(files: Files, targets: Sequence[Path], work: Path | None) -> None:
    """Refuse directories that no repair could use, before any is locked.

    Raises:
        RefusedError: a path is not UTF-8.
        WrongOptionError: two targets are one directory, or `work` lies in a log directory.
    """
    _refuse_no_text([author().command, *map(os.path.realpath, targets)])
    _refuse_twice(targets)
    _refuse_within(files, work)


def _refuse_no_text(texts: Sequence[str]) -> None:
    """Refuse a path that the audit file, which is JSON, cannot hold.

    Raises:
        RefusedError: a path is not UTF-8.
    """
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RefusedError(
                f"{text}: a path in it is no UTF-8, so no audit file could name it: rename the directory, or "
                "repair a copy of it at another path"
            ) from error


def _refuse_twice(targets: Sequence[Path]) -> None:
    """Refuse a directory that is named twice. Its second lock would seem to be another process's.

    Raises:
        WrongOptionError: two of the targets are one directory.
    """
    if len({os.path.realpath(target) for target in targets}) < len(targets):
        raise WrongOptionError("a directory is named twice: name each once")


def _refuse_within(files: Files, work: Path | None) -> None:
    """Refuse a `work` within a log directory: Kafka does not start with a directory there that is not a partition's.

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
    """Return the proposal of a dry run, with a warning for each place to which no backup could be written."""
    roots = dict.fromkeys(work_root(rewrite.log_dir, work) for rewrite in proposal.rewrites)
    found = [
        f"--apply could not write its backup below {root} ({why}): see to that first, or name another place with --work"
        for root in roots
        if (why := _why_closed(Path(root))) is not None
    ]
    return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, *found))


def _why_closed(root: Path) -> str | None:
    """Return why `root` could not be created or written, by its nearest existing parent, or None."""
    there = next(path for path in (root, *root.parents) if os.path.lexists(path))
    if not there.is_dir():
        return f"{there}: {os.strerror(errno.ENOTDIR)}"
    if os.access(there, os.W_OK | os.X_OK):
        return None
    is_read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return f"{there}: {os.strerror(errno.EROFS if is_read_only else errno.EACCES)}"


def work_root(log_dir: str, work: Path | None) -> str:
    """Return the directory of the backups of `log_dir`."""
    return work_root_of(log_dir, None if work is None else str(work.absolute()))


class NewOwner(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a new log directory: that of `path`.

    Its mode is that of `mode_of`, with all rights for the owner.
    """

    log_dir: str
    path: str
    mode_of: str

    def told(self, proposal: Proposal) -> Proposal:
        """Return the proposal with a sentence or a warning about the owner."""
        if os.geteuid() != 0:
            name = _name_of(os.stat(self.log_dir).st_uid if os.path.isdir(self.log_dir) else os.geteuid())
            said = f"{self.log_dir} belongs to {name}: its node must run as the same user"
            return msgspec.structs.replace(proposal, says=(*proposal.says, said))
        name = _name_of(os.stat(self.path).st_uid)
        said = f"{self.log_dir} belongs to {name}, as {self.path} does"
        if os.stat(self.path).st_uid != 0:
            return msgspec.structs.replace(proposal, says=(*proposal.says, said))
        warning = f"{said}: if its node runs as another user, chown -R USER {self.log_dir} before it starts"
        return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, warning))


def owner_of_new(log_dir: str, copy: str) -> NewOwner:
    """Return the owner of a log directory that is made from `copy`.

    The first of these that is not root counts: the owner of an existing directory, of the nearest existing parent, of
    the copy. Root makes directories for other users, so its ownership proves nothing.
    """
    above = log_dir
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    parent = os.path.dirname(log_dir) if above == log_dir else above
    wished = [os.path.join(log_dir, META_PROPERTIES_FILE), log_dir, parent, copy]
    there = [path for path in wished if os.path.exists(path)]
    path = next((path for path in there if os.stat(path).st_uid != 0), parent)
    return NewOwner(log_dir=log_dir, path=path, mode_of=copy)


def _name_of(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def give_to_owner(log_dir: str, owner: os.stat_result) -> None:
    """Give files that root has written to the directory's owner: the node must be able to write them."""
    if os.geteuid() != 0 or (owner.st_uid, owner.st_gid) == (0, 0):
        return
    metadata = os.path.join(log_dir, METADATA_DIRECTORY)
    for directory in (log_dir, metadata):
        if os.path.isdir(directory):
            names = [os.path.join(directory, name) for name in os.listdir(directory)]
            for path in (directory, *(name for name in names if os.path.isfile(name))):
                if os.stat(path).st_uid == 0:
                    os.chown(path, owner.st_uid, owner.st_gid)


def give_audits(root: str, log_dir: str) -> None:
    """Give audit files that root has written to the owner of the log directory."""
    if not os.path.isdir(log_dir):  # an undone repair has removed the directory that it had made
        return
    owner = os.stat(log_dir)
    if os.geteuid() != 0 or (owner.st_uid, owner.st_gid) == (0, 0):
        return
    for path in (path for name in (AUDIT_FILE, AUDIT_COPY_FILE) for path in Path(root).glob(f"*/{name}")):
        if path.stat().st_uid == 0 and path.parent.stat().st_uid == owner.st_uid:
            os.chown(path, owner.st_uid, owner.st_gid)
