"""A quarantine moves partition directories out of a broker's way, never deletes them, and moves them back.

Decides: the new names, the journal, and when to refuse. Must not know: why a directory is moved.

The broker must be stopped: the quarantine holds its `.lock`. Each move is written to the journal, a file in the log
directory, before it is made. So after a crash in between, `undo` finds nothing to move back for that entry. A log
directory that was copied or moved took its journal along. Then `undo` works beside that journal, never in the directory
where it was written.

The new name is Kafka's own, `topic-partition.<32 hex digits>-stray` of at most 255 characters, which brokers ignore. Or
the directory moves out of log.dirs, to another path on the same file system.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.directory.lock import LOCK_FILE, DirectoryLock
from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.files.json_files import decode_json
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_file
from metadata_log.ids import id_text
from metadata_log.tools.new_files import naming
from metadata_log.tools.partitions.audit import Audited

JOURNAL_FILE: Final = "kraft-quarantine.jsonl"
_LONGEST_NAME: Final = 255
_LONGEST_LINE: Final = 1 << 16
_BEGINNING: Final = b'{"source":'
"""First bytes of each line."""


class QuarantineError(MetadataLogError):
    """A directory cannot be moved, or not moved back."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the journal.

    Attributes:
        source, target: absolute paths; `is_undone`: the directory went back from target to source.
        at_ms: time of the move, in ms since 1970.
        topic_id: as text; None if the directory has none.
        kind, why: the verdict.
    """

    source: str
    target: str
    at_ms: int
    topic_id: str | None
    kind: str
    why: str
    is_undone: bool = False


def quarantine(wrong: Sequence[Audited], *, unique: Sequence[str], now_ms: int, to: Path | None = None) -> list[Move]:
    """Move these directories, and return the moves.

    Args:
        unique: for each directory 32 random hexadecimal digits of its new name.
        to: a directory outside log.dirs, on the same file system; None: rename to `-stray` in place.

    Raises:
        QuarantineError: `to` is on another file system or within a log directory. Or a directory would stay in place,
            and brokers would not ignore it there. Or the journal is invalid: then no move could be undone.
        DirectoryLockedError: a broker runs on a log directory.
    """
    moves = [_planned(audited, digits, now_ms, to) for audited, digits in zip(wrong, unique, strict=True)]
    with _locked({audited.log_dir for audited in wrong}):
        for audited in wrong:
            read_journal(audited.log_dir)
            _drop_unfinished(audited.log_dir)
        if to is not None:
            _prepare(to, wrong)
        for audited, move in zip(wrong, moves, strict=True):
            _write(audited.log_dir, move)  # before the move: a crash in between leaves an entry that `undo` ignores
            _rename(Path(move.source), Path(move.target))
    return moves


def undo(log_dirs: Sequence[Path], *, now_ms: int) -> list[Move]:
    """Move back the directories that these journals list as moved and that are still there, the last one first.

    Raises:
        QuarantineError: the old name exists again, because a broker created a new directory. Or this is a copy of a log
            directory whose partitions were moved out of it.
        DirectoryLockedError: a broker runs on a log directory.
    """
    undone: list[Move] = []
    with _locked(set(log_dirs)):
        pending = [(log_dir, move) for log_dir in log_dirs for move in _standing(log_dir)]
        for _, move in pending:
            if Path(move.source).exists():
                raise QuarantineError(
                    f"{move.source} is there again, so that {move.target} cannot go back: move one of them yourself"
                )
        for log_dir in log_dirs:
            _drop_unfinished(log_dir)
        for log_dir, move in reversed(pending):
            _rename(Path(move.target), Path(move.source))
            # After the move: if a crash comes in between, the target is gone, so the entry no longer counts.
            back = msgspec.structs.replace(move, at_ms=now_ms, is_undone=True)
            _write(log_dir, back)
            undone.append(back)
    return undone


def read_journal(log_dir: Path) -> list[Move]:
    """Return every line of a log directory's journal; none without a journal.

    A line that a power cut left unfinished is skipped: its move was not made.

    Raises:
        QuarantineError: the file is no journal.
    """
    path = log_dir / JOURNAL_FILE
    try:
        data = read_file(OsFiles(), str(path))
        return [decode_json(line, Move) for line in data[: _finished(data)].splitlines()]
    except FileNotFoundError:
        return []
    except (CorruptFileError, msgspec.DecodeError) as error:
        what = error.what if isinstance(error, CorruptFileError) else error
        raise QuarantineError(f"{path} is no journal of a quarantine: {what}") from error


def _finished(data: bytes) -> int:
    """Return the end of the journal's last whole line. Only the beginning of a line, or zeros, may follow.

    Raises:
        CorruptFileError: other bytes follow.
    """
    end = data.rfind(b"\n") + 1
    rest = data[end:].rstrip(b"\0")
    if len(data) - end > _LONGEST_LINE or not (_BEGINNING.startswith(rest) or rest.startswith(_BEGINNING)):
        raise CorruptFileError(JOURNAL_FILE, f"the bytes after byte {end} do not begin a line of it")
    return end


def _drop_unfinished(log_dir: Path) -> None:
    """Cut an unfinished line, so that the next one begins at a line's start."""
    with suppress(FileNotFoundError), (log_dir / JOURNAL_FILE).open("r+b") as journal, naming(log_dir / JOURNAL_FILE):
        journal.truncate(_finished(journal.read()))
        os.fsync(journal.fileno())


def moved_away(log_dir: Path) -> dict[str, Move]:
    """Return the moves out of a log directory that can be undone, by the directory's former name.

    Each moved directory is at `target`, or beside the journal in a log directory that was copied or moved since.

    Raises:
        QuarantineError: the journal is invalid.
    """
    found: dict[str, Move] = {}
    for move in read_journal(log_dir):
        source, target = Path(move.source), Path(move.target)
        here = log_dir / target.name if target.parent == source.parent else target
        if move.is_undone:
            found.pop(source.name, None)
        elif here.is_dir():
            found[source.name] = msgspec.structs.replace(move, target=str(here))
    return found


def _standing(log_dir: Path) -> list[Move]:
    """Return the moves that are not undone, and whose directory is still at its target."""
    standing: dict[str, Move] = {}
    for move in read_journal(log_dir):
        here = _beside(log_dir, move)
        if here.is_undone:
            standing.pop(here.target, None)
        else:
            standing[here.target] = here
    return [move for move in standing.values() if Path(move.target).is_dir()]


def _beside(log_dir: Path, move: Move) -> Move:
    """Return the move with its paths in the log directory that holds the journal now."""
    source, target, home = Path(move.source), Path(move.target), log_dir.absolute()
    if _is_same(source.parent, home):
        return move
    if target.parent == source.parent:
        return msgspec.structs.replace(move, source=str(home / source.name), target=str(home / target.name))
    if source.parent.is_dir() and target.is_dir() and not move.is_undone:
        raise QuarantineError(
            f"{log_dir} is a copy of {source.parent}, out of which {target} was moved: undo that there, or move it "
            "yourself"
        )
    return msgspec.structs.replace(move, source=str(home / source.name))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except FileNotFoundError:
        return False


def _planned(audited: Audited, digits: str, now_ms: int, to: Path | None) -> Move:
    facts = audited.facts
    if to is not None:
        target = to.absolute() / f"{facts.name}.{digits}"
    elif facts.topic_name is None:
        raise QuarantineError(
            f"{audited.path} has no name of a partition, so that brokers accept no other name for it either: "
            "move it out of log.dirs with --to"
        )
    elif audited.is_unreadable:
        raise QuarantineError(
            f"{audited.path}: brokers read its partition.metadata whatever its name is, and do not start: restore that "
            "file, or move the directory out of log.dirs with --to"
        )
    else:
        rest = f"-{facts.partition}.{digits}-stray"
        target = audited.log_dir.absolute() / (facts.topic_name[: _LONGEST_NAME - len(rest)] + rest)
    return Move(
        source=str(audited.path.absolute()),
        target=str(target),
        at_ms=now_ms,
        topic_id=None if facts.topic_id is None else id_text(facts.topic_id),
        kind=audited.verdict.kind.value,
        why=audited.verdict.why,
    )


def _prepare(to: Path, wrong: Sequence[Audited]) -> None:
    inside = [audited.log_dir for audited in wrong if to.resolve().is_relative_to(audited.log_dir.resolve())]
    if inside:
        raise QuarantineError(f"{to} is within {inside[0]}: a broker would refuse to start on it")
    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    device = to.stat().st_dev
    for audited in wrong:
        if audited.path.stat().st_dev != device:
            raise QuarantineError(
                f"{to} is on another file system than {audited.path}: a move there would be a copy, not at one stroke"
            )


def _rename(source: Path, target: Path) -> None:
    files = OsFiles()
    os.rename(source, target)
    for parent in {source.parent, target.parent}:
        files.fsync_dir(str(parent))


def _write(log_dir: Path, move: Move) -> None:
    descriptor = os.open(log_dir / JOURNAL_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    size, line = os.fstat(descriptor).st_size, msgspec.json.encode(move) + b"\n"
    try:
        with naming(log_dir / JOURNAL_FILE):
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
    except OSError:
        # Take back a half-written line, so that the next one begins at a line's start.
        os.ftruncate(descriptor, size)
        raise
    finally:
        os.close(descriptor)
    OsFiles().fsync_dir(str(log_dir))


@contextmanager
def _locked(log_dirs: set[Path]) -> Iterator[None]:
    with ExitStack() as stack:
        for log_dir in sorted(log_dirs):
            stack.callback(DirectoryLock(OsFiles(), str(log_dir)).release)
            stack.callback(_give_to_owner, log_dir)
        yield


def _give_to_owner(log_dir: Path) -> None:
    """Give files that root created in a log directory to its owner: a broker that cannot open its lock does not
    start."""
    owner = log_dir.stat()
    for path in (log_dir / LOCK_FILE, log_dir / JOURNAL_FILE):
        if os.geteuid() == 0 and path.exists() and path.stat().st_uid == 0:
            os.chown(path, owner.st_uid, owner.st_gid)
