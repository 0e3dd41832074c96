"""The record of one repair: the journal while the repair is under way, the audit file afterwards.

Decides: their paths and their contents. Must not know: how a repair is carried out.

    DIR/kraft-recover.journal              from the moment that a repair is decided until it is done
    DIR.recovery/TIME-ACTION-MARK/audit.json         who, when, what, hashes before and after, offsets lost
    DIR.recovery/TIME-ACTION-MARK/audit-copy.json    a second copy: without its hashes a backup proves nothing
    DIR.recovery/TIME-ACTION-MARK/backup/...         the files before the repair
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from metadata_log.directory import META_PROPERTIES_FILE, repair_audits
from metadata_log.directory.repair_files import REPAIR_JOURNAL_FILE
from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.json_files import decode_json
from metadata_log.files.port import Files, read_small_file, replace_file
from quorum.recovery.journal import version_1
from quorum.recovery.journal.changes import sha256_of
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.next_steps import Command, RecoverCommand
from quorum.recovery.journal.repair_facts import RepairFacts

JOURNAL_FILE: Final = REPAIR_JOURNAL_FILE
AUDIT_FILE: Final = repair_audits.AUDIT_FILE
AUDIT_COPY_FILE: Final = repair_audits.AUDIT_COPY_FILE
WORK_SUFFIX: Final = repair_audits.WORK_SUFFIX
BACKUP_DIRECTORY: Final = "backup"
NEW_SUFFIX: Final = ".recover-new"
FORMAT_VERSION: Final = 2

PREPARED: Final = "prepared"
DONE: Final = "done"


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after, by SHA-256. None: it does not exist."""

    name: str
    before: str | None
    after: str | None


class RepairRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One repair of one log directory.

    Attributes:
        state: `prepared` or `done`; in the journal always `prepared`.
        action: the command's name.
        work_dir: the directory of audit file and backup.
        who, command: the user and the command line.
        at, at_ms: when it was decided.
        files: all files that it changes.
        facts: cluster, node, epochs, and the offsets kept and lost.
        undoes: the work directory of the repair that this one undoes.
        made: of `.lock`, the metadata directory and the log directory (`.`) those that it had to make; not in `files`.
        unmakes: `made` of the repair that this one undoes.
        meta_sha256: of meta.properties at the decision, None without that file. It identifies a directory that was
        moved. facts_of_version_1: the facts as a file of version 1 has them; such a file stays of that version.
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
    facts: RepairFacts = RepairFacts()
    undoes: str | None = None
    meta_sha256: str | None = None
    made: tuple[str, ...] = ()
    unmakes: tuple[str, ...] = ()
    facts_of_version_1: dict[str, object] | UnsetType = UNSET

    @property
    def root(self) -> str:
        """The directory that holds `work_dir`."""
        return os.path.dirname(self.work_dir)

    @property
    def identity(self) -> ChangedFile | None:
        """The change to meta.properties, or None."""
        return next((file for file in self.files if file.name == META_PROPERTIES_FILE), None)

    @property
    def others(self) -> tuple[ChangedFile, ...]:
        """All changed files except meta.properties."""
        return tuple(file for file in self.files if file.name != META_PROPERTIES_FILE)


def record_data(record: RepairRecord) -> dict[str, object]:
    """Return the record as plain data, in the form of its file."""
    data: dict[str, object] = msgspec.to_builtins(record)
    if record.facts_of_version_1 is not UNSET:
        data["facts"] = data.pop("facts_of_version_1")
    return data


def encode(record: RepairRecord) -> bytes:
    """Return the record as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(record_data(record)), indent=2) + b"\n"


def read_record(files: Files, path: str) -> RepairRecord:
    """Read a journal or an audit file.

    Raises:
        CorruptFileError: it holds no record of a repair.
        NewerFileError: newer software wrote it, in a version that this release does not know.
        FileNotFoundError: there is no such file.
    """
    try:
        data = read_small_file(files, path)
        version = decode_json(data, _Versioned).format_version
        if version == version_1.FORMAT_VERSION:
            return _of_version_1(data)
        if version == FORMAT_VERSION:
            return _with_commands(decode_json(data, RepairRecord))
    except msgspec.DecodeError as error:
        raise CorruptFileError(path, f"it is no record of a repair: {error}") from error
    raise NewerFileError(path, f"it is of version {version}: it was written by newer software")


class _Versioned(msgspec.Struct):
    """The version of a file. A file without one is of version 1."""

    format_version: int = version_1.FORMAT_VERSION


def _of_version_1(data: bytes) -> RepairRecord:
    written = decode_json(data, dict[str, object])
    facts = msgspec.convert(written.pop("facts", {}), dict[str, object])
    record = msgspec.convert({**written, "format_version": version_1.FORMAT_VERSION}, RepairRecord)
    return msgspec.structs.replace(record, facts=version_1.facts_of(facts), facts_of_version_1=facts)


def _with_commands(record: RepairRecord) -> RepairRecord:
    """Return the record with the commands of its steps as data, which the first files of version 2 lack, too."""
    steps = version_1.with_commands(record.facts.steps)
    return msgspec.structs.replace(record, facts=msgspec.structs.replace(record.facts, steps=steps))


def pending(files: Files, log_dir: str) -> RepairRecord | None:
    """Return the repair of this directory that was decided and is not done, or None.

    Raises:
        CorruptFileError: its journal cannot be read.
    """
    path = f"{log_dir}/{JOURNAL_FILE}"
    if not files.exists(path):
        return None
    try:
        return read_record(files, path)
    except NewerFileError as error:
        raise NewerFileError(
            path,
            f"{error.what}. A repair was interrupted here. Run its command again with the kraft that began it, or a "
            "later one, and start nothing before",
        ) from error
    except CorruptFileError as error:
        raise CorruptFileError(
            path,
            f"{error.what}. A repair was interrupted here, and its newest {AUDIT_FILE} below "
            f"{work_root_of(log_dir)} has the same text: copy it over this file, and run the same command again",
        ) from error


def refuse_pending(files: Files, log_dir: str) -> None:
    """Refuse a directory whose repair was interrupted: its files are partly old and partly new.

    Raises:
        RefusedError: it has a journal.
    """
    record = pending(files, log_dir)
    if record is None:
        return
    moved = "" if record.log_dir == log_dir else f" (the directory was {record.log_dir} then)"
    raise RefusedError(
        f"{log_dir}: a repair of {record.at} was interrupted here, and no node starts from the directory until it "
        f"is finished: run it again with --apply: {again(record, log_dir)}{moved}"
    )


def refuse_lost_work(files: Files, record: RepairRecord) -> None:
    """Refuse to finish a repair whose work directory is gone: it could neither be recorded as done nor be undone.

    Raises:
        RefusedError: the work directory is gone.
    """
    if files.exists(record.work_dir):
        return
    log_dir = record.log_dir
    raise RefusedError(
        f"{record.work_dir} is gone: it holds backup and audit file of the repair that was interrupted in {log_dir}, "
        f"and {log_dir} must not be used until that is finished. Nothing was changed now: bring it back (mount its "
        "disk, or move it back), and run the command again. Is it gone for good: "
        f"{shlex.join(['mkdir', '-p', record.work_dir])}, then {again(record, log_dir)}: that finishes the repair, "
        "which cannot be taken back then"
    )


def again(record: RepairRecord, log_dir: str) -> Command:
    """Return the command that began a repair, with the directory's present path `log_dir`."""
    then = record.facts.log_dirs or (record.log_dir,)
    dirs = tuple(log_dir if one == record.log_dir else one for one in then)
    return Command(_typed(record, log_dir), RecoverCommand(action=record.action, log_dirs=dirs))


def _typed(record: RepairRecord, log_dir: str) -> str:
    words = [log_dir if word == record.log_dir else word for word in shlex.split(record.command)]
    return shlex.join(words) if record.log_dir != log_dir else record.command


def save_audit(files: Files, record: RepairRecord) -> None:
    """Write the audit file and its copy, durably."""
    # The copy first: if a crash comes between the two writes, the copy is never the older one.
    for name in (AUDIT_COPY_FILE, AUDIT_FILE):
        replace_file(files, f"{record.work_dir}/{name}", encode(record))
        files.keep_private(f"{record.work_dir}/{name}")


class Audits(msgspec.Struct, frozen=True, kw_only=True):
    """The audit files below a work root.

    Attributes:
        records: the repairs, the latest last; `work_dir` is the present path of each.
        notes: sentences about damaged audit files whose copy was read instead.
        unreadable: repairs of which neither file can be read, the latest last.
    """

    records: tuple[RepairRecord, ...] = ()
    notes: tuple[str, ...] = ()
    unreadable: tuple[UnreadableAudit, ...] = ()


class UnreadableAudit(msgspec.Struct, frozen=True, kw_only=True):
    """A repair of which neither the audit file nor its copy can be read. `is_newer`: newer software wrote them."""

    work_dir: str
    why: str
    is_newer: bool


def audits(files: Files, work_root: str) -> Audits:
    """Read all audit files below a work root. A damaged one hides no other."""
    records: list[RepairRecord] = []
    notes: list[str] = []
    unreadable: list[UnreadableAudit] = []
    for name in sorted(files.listdir(work_root)) if files.exists(work_root) else ():
        work_dir = f"{work_root}/{name}"
        errors: list[CorruptFileError | OSError] = []
        record = _read_either(files, work_dir, errors)
        if record is None and errors:
            is_newer = any(isinstance(error, NewerFileError) for error in errors)
            why = "; ".join(map(str, errors))
            unreadable.append(UnreadableAudit(work_dir=work_dir, why=why, is_newer=is_newer))
        if record is not None:
            records.append(msgspec.structs.replace(record, work_dir=work_dir))
            notes += [f"{error}: {AUDIT_COPY_FILE} beside it says the same, and was read instead" for error in errors]
    records.sort(key=lambda record: record.at_ms)
    return Audits(records=tuple(records), notes=tuple(notes), unreadable=tuple(unreadable))


def standing(records: Iterable[RepairRecord]) -> list[RepairRecord]:
    """Return the repairs that are done and were not undone, in the given order, without the undo repairs themselves."""
    done = [record for record in records if record.state == DONE]
    undone = {os.path.basename(record.undoes) for record in done if record.undoes is not None}
    return [record for record in done if record.undoes is None and os.path.basename(record.work_dir) not in undone]


def of_directory(files: Files, known: Sequence[RepairRecord], log_dir: str) -> list[RepairRecord]:
    """Return the repairs of a log directory.

    They are found by its path. If it was moved, copied or is reached by a symbolic link, meta.properties identifies it.
    """
    named = [record for record in known if record.log_dir in (log_dir, os.path.abspath(log_dir))]
    if named:
        return named
    meta = sha256_of(files, f"{log_dir}/{META_PROPERTIES_FILE}")
    if meta is None:
        return []
    last = next((record for record in reversed(known) if _left_meta(record) == meta), None)
    return [] if last is None else [record for record in known if record.log_dir == last.log_dir]


def _left_meta(record: RepairRecord) -> str | None:
    return record.meta_sha256 if record.identity is None else record.identity.after


def _read_either(files: Files, work_dir: str, errors: list[CorruptFileError | OSError]) -> RepairRecord | None:
    """Return the audit file, or its copy if that cannot be read. Append the error of each such file to `errors`."""
    for name in (AUDIT_FILE, AUDIT_COPY_FILE):
        path = f"{work_dir}/{name}"
        if not files.exists(path):
            continue
        try:
            return read_record(files, path)
        except (CorruptFileError, OSError) as error:
            errors.append(error)
    return None


def is_undecided(files: Files, work_dir: str) -> bool:
    """Return True if the repair of a work directory never wrote its journal."""
    errors: list[CorruptFileError | OSError] = []
    record = _read_either(files, work_dir, errors)
    if record is not None or errors:
        return record is not None and record.state == PREPARED
    # Before its audit file a repair writes only these names: a directory with another one is not removed.
    names = set(files.listdir(work_dir))
    return names <= {BACKUP_DIRECTORY, f"{AUDIT_FILE}.tmp", f"{AUDIT_COPY_FILE}.tmp"}


def mark_of(log_dir: str) -> str:
    """Return the suffix of a log directory's work directories: several log directories may share a root."""
    return f"-{hashlib.sha256(os.fsencode(log_dir)).hexdigest()[:8]}"


def work_root_of(log_dir: str, chosen: str | None = None) -> str:
    """Return the directory for a log directory's backups and audit files: next to it, unless `chosen` names another."""
    return chosen if chosen is not None else repair_audits.work_root(log_dir)
