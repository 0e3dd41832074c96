"""A command for a directory in which a repair was interrupted: the same command goes on, and undo restores the backup.

Decides: which command may go on; any other is refused. Must not know: how a repair is finished.
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
"""Options that determine the result. With other values it is another repair."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The user's command: the sub-command, and the whole command line."""

    action: str
    command: str


def resume(files: Files, log_dirs: Sequence[str], asked: Asked, root_of: Callable[[str], str]) -> list[RepairRecord]:
    """Finish interrupted repairs of these directories. `root_of`: returns the root of a directory's backups.

    Raises:
        RefusedError: another command was interrupted, or an undo would not find its backup.
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
    # Only after every directory was accepted: a refusal must not leave some of them finished.
    finished = [record for log_dir in log_dirs if (record := finish(files, log_dir)) is not None]
    for record in finished:
        clear_away(files, record)
    return finished


def is_all(finished: Sequence[RepairRecord], asked: Asked, targets: int) -> bool:
    """Return True if that was the whole command. A command for several directories goes on with the others."""
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
