"""A repair that was interrupted in a directory, when a command comes: the same one goes on, undo takes it back.

Decides: which command may go on from there; any other is refused. Must not know: how a repair is finished.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.advice.commands import undo_line
from quorum.recovery.journal.adopt import adopt
from quorum.recovery.journal.carry_out import clear_away, finish
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.repair_record import RepairRecord, again, pending
from quorum.recovery.repairs.undo import UNDO, refuse_lost_backup

_DECIDING: Final = ("--set", "--endpoint", "--to", "--node-id", "--checkpoint", "--epoch-gap")
"""Options that say what a directory becomes: with others it is another repair."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants now: the sub-command, and all its words as a line for a shell."""

    action: str
    command: str


def resume(files: Files, log_dirs: Sequence[str], asked: Asked, root_of: Callable[[str], str]) -> list[RepairRecord]:
    """Finish what was interrupted in these directories. `root_of`: where the user says that backups lie.

    Raises:
        RefusedError: another command was interrupted, or its backup is not there to take it back from.
        RecoveryError: it could not be finished.
    """
    for log_dir in log_dirs:
        record = pending(files, log_dir)
        if record is None:
            continue
        if not _takes_back(record, asked):
            _refuse_other(record, log_dir, asked, is_alone=len(log_dirs) == 1)
            continue
        here = adopt(files, log_dir)
        if here is not None:
            refuse_lost_backup(files, here, root_of(log_dir))
    finished = [record for log_dir in log_dirs if (record := finish(files, log_dir)) is not None]
    for record in finished:
        clear_away(files, record)
    return finished


def is_all(finished: Sequence[RepairRecord], asked: Asked, targets: int) -> bool:
    """Whether that was all that was asked: a repair of several directories goes on with the others."""
    return targets == 1 and any(not _takes_back(record, asked) for record in finished)


def _takes_back(record: RepairRecord, asked: Asked) -> bool:
    return asked.action == UNDO and record.undoes is None


def _refuse_other(record: RepairRecord, log_dir: str, asked: Asked, *, is_alone: bool) -> None:
    is_same = record.action == asked.action
    if is_same and not (is_alone and _deciding(record.command) != _deciding(asked.command)):
        return
    other = "another command" if not is_same else "the same command with other words"
    back = "" if record.undoes is not None else f"; or take it back: {undo_line(log_dir, record.root)}"
    raise RefusedError(
        f"{log_dir}: `kraft recover {record.action}` of {record.at} was interrupted here, and this is {other}: nothing "
        f"was done. Finish that one first: {again(record, log_dir)}{back}"
    )


def _deciding(line: str) -> list[tuple[str, str]]:
    words = [part for word in shlex.split(line) for part in (word.split("=", 1) if word.startswith("--") else [word])]
    return sorted((name, value) for name, value in pairwise(words) if name in _DECIDING)
