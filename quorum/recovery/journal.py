"""The record of one repair: the journal while it is under way, the audit file for ever after.

Decides: where both lie and what they say. Must not know: how a repair is carried out.

    DIR/kraft-recover.journal              from the moment that a repair is decided until it is done
    DIR.recovery/TIME-ACTION/audit.json    who, when, what, hashes before and after, offsets lost
    DIR.recovery/TIME-ACTION/backup/...    the files as they were
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.errors import CorruptFileError
from metadata_log.files import Files, read_file, replace_file
from quorum.recovery.errors import RefusedError

JOURNAL_FILE: Final = "kraft-recover.journal"
AUDIT_FILE: Final = "audit.json"
BACKUP_DIRECTORY: Final = "backup"
WORK_SUFFIX: Final = ".recovery"
NEW_SUFFIX: Final = ".recover-new"
FORMAT_VERSION: Final = 1

PREPARED: Final = "prepared"
DONE: Final = "done"
UNDONE: Final = "undone"


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after, by SHA-256; None: it was, or is, not there."""

    name: str
    before: str | None
    after: str | None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One repair of one log directory.

    Attributes:
        state: `prepared`, `done` or `undone`; in the journal always `prepared`.
        action: the command's name.
        work_dir: where audit file and backup lie.
        who, command: who asked, and with which words.
        at, at_ms: when it was decided.
        files: all that it changes.
        facts: what was known: cluster, node, epochs, offsets kept and lost.
        undoes: the work directory of the repair that this one takes back.
        meta_sha256: of meta.properties when it was decided: whose directory it is, at whatever path; None: none.
    """

    format_version: int = FORMAT_VERSION
    state: str
    action: str
    log_dir: str
    work_dir: str
    who: str
    command: str
    at: str
    at_ms: int
    files: tuple[ChangedFile, ...]
    facts: dict[str, object] = {}
    undoes: str | None = None
    meta_sha256: str | None = None

    @property
    def identity(self) -> ChangedFile | None:
        """What it does to meta.properties."""
        return next((file for file in self.files if file.name == META_PROPERTIES_FILE), None)

    @property
    def others(self) -> tuple[ChangedFile, ...]:
        """All files but that one."""
        return tuple(file for file in self.files if file.name != META_PROPERTIES_FILE)


def encode(record: Record) -> bytes:
    """As indented JSON."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def read_record(files: Files, path: str) -> Record:
    """A journal or an audit file.

    Raises:
        CorruptFileError: it is none, or of a version that we do not know.
        FileNotFoundError: there is none.
    """
    try:
        record = msgspec.json.decode(read_file(files, path), type=Record)
    except msgspec.DecodeError as error:
        raise CorruptFileError(path, f"it is no record of a repair: {error}") from error
    if record.format_version != FORMAT_VERSION:
        raise CorruptFileError(path, f"it is of version {record.format_version}: it was written by newer software")
    return record


def pending(files: Files, log_dir: str) -> Record | None:
    """The repair of this directory that was decided and is not done."""
    path = f"{log_dir}/{JOURNAL_FILE}"
    return read_record(files, path) if files.exists(path) else None


def refuse_pending(files: Files, log_dir: str) -> None:
    """A directory in the middle of a repair is not looked at as if it were whole.

    Raises:
        RefusedError: it is.
    """
    record = pending(files, log_dir)
    if record is None:
        return
    moved = "" if record.log_dir == log_dir else f" (the directory was {record.log_dir} then: name {log_dir} instead)"
    raise RefusedError(
        f"{log_dir}: a repair of {record.at} was interrupted here, and no node starts from the directory until it "
        f"is finished: run it again with --apply: {record.command}{moved}"
    )


def save_audit(files: Files, record: Record) -> None:
    """Write the audit file, durably."""
    replace_file(files, f"{record.work_dir}/{AUDIT_FILE}", encode(record))


def audits(files: Files, work_root: str) -> list[Record]:
    """The repairs whose audit files lie there, the latest last; `work_dir` is where each lies now.

    Raises:
        CorruptFileError: one cannot be read.
    """
    if not files.exists(work_root):
        return []
    work_dirs = [f"{work_root}/{name}" for name in files.listdir(work_root)]
    found = [
        msgspec.structs.replace(read_record(files, f"{path}/{AUDIT_FILE}"), work_dir=path)
        for path in work_dirs
        if files.exists(f"{path}/{AUDIT_FILE}")
    ]
    return sorted(found, key=lambda record: record.at_ms)


def work_root_of(log_dir: str, chosen: str | None = None) -> str:
    """Where the repairs of a log directory leave backups and audit files: beside it, unless chosen otherwise."""
    return chosen if chosen is not None else log_dir.rstrip("/") + WORK_SUFFIX
