"""The run of a repair from the command line: locks, an interrupted repair first, the dry run or not, the report.

Decides: that order. Must not know: what a repair does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from metadata_log.directory import LOCK_FILE
from metadata_log.directory.lock import DirectoryLock
from metadata_log.errors import DirectoryError, DirectoryLockedError
from metadata_log.files.own_files import OwnFiles
from metadata_log.files.port import Files
from quorum.cli.errors import CliError, say
from quorum.cli.output import OutputFormat, show_json
from quorum.cli.recover.author import author
from quorum.cli.recover.places import (
    NewOwner,
    give_audits,
    give_to_owner,
    owner_of_new,
    refuse_places,
    with_warnings_of_places,
    work_root,
)
from quorum.cli.recover.show import file_lines, step_data, step_lines
from quorum.cli.tables import print_wrapped
from quorum.recovery.advice.commands import undo_line, verify_line
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.carry_out import carry_out, clear_away, remedy
from quorum.recovery.journal.changes import make_directories
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.log_directories import find_target
from quorum.recovery.journal.orphaned_files import sweep
from quorum.recovery.journal.repair_record import JOURNAL_FILE, RepairRecord, pending, record_data
from quorum.recovery.repairs.follow_up import recorded, tells_steps
from quorum.recovery.repairs.resume import Asked, resume
from quorum.recovery.repairs.resume import is_all as is_all_of


def run_repair(
    propose: Callable[[Files], Proposal],
    targets: Sequence[Path],
    *,
    apply: bool,
    work: Path | None,
    output: OutputFormat,
    action: str,
    is_new: bool = False,
    owner_of: Path | None = None,
) -> None:
    """Propose a repair, and apply it with `apply`. An interrupted one is finished first; see `resume`.

    `is_new`: the target need not be a log directory yet. `owner_of`: the copy that it is made from.
    """
    files = OwnFiles(strict=False)
    with ExitStack() as held:
        log_dirs = [_log_dir(files, target, is_new=is_new) for target in targets]
        owner = None if owner_of is None else owner_of_new(str(targets[0].absolute()), str(owner_of))
        refuse_places(files, targets, work)
        made: dict[str, tuple[str, ...]] = {}
        for log_dir in log_dirs:
            if log_dir is not None:
                made[log_dir] = () if files.exists(f"{log_dir}/{LOCK_FILE}") else (LOCK_FILE,)
                _lock(files, log_dir, held, apply=apply)
            if log_dir is not None and apply:
                held.callback(give_to_owner, log_dir, os.stat(log_dir if owner is None else owner.path))
        if apply:
            held.enter_context(_told_when_interrupted(files, [path for path in log_dirs if path is not None]))
        asked = Asked(action=action, command=author().command)
        known = [path for path in log_dirs if path is not None]
        finished = resume(files, known, asked, lambda path: work_root(path, work)) if apply else []
        is_all = is_all_of(finished, asked, len(targets))
        if finished and (is_all or output is not OutputFormat.JSON):
            _show_records(output, finished, "Finished what was interrupted")
        if is_all:
            return
        try:
            proposal = propose(files)
        except AlreadyDoneError as error:
            if finished:
                return
            raise _with_what_follows(files, error, known) from error
        proposal = proposal if owner is None else owner.told(proposal)
        changes = _changes(files, proposal, work)
        if not apply:
            show_proposal(output, with_warnings_of_places(proposal, work), changes)
            return
        records = _carry_out(files, proposal, made, work, held, owner)
    _tell_what_was_done(output, proposal, changes, finished, records)


def _with_what_follows(files: Files, error: AlreadyDoneError, log_dirs: Sequence[str]) -> AlreadyDoneError:
    """Return the same error, with the command that prints the next steps of the completed repair."""
    if not any(tells_steps(files, path) for path in log_dirs):
        return error
    return AlreadyDoneError(f"{error}. What follows the repair that was done: {verify_line(log_dirs)}")


def _changes(files: Files, proposal: Proposal, work: Path | None) -> tuple[str, ...]:
    """Return the changes to files as lines.

    They are computed before the repair, while the removed files have a size.
    """
    return tuple(
        line
        for rewrite in proposal.rewrites
        for line in (
            f"In {rewrite.log_dir}:",
            *(f"  {one}" for one in file_lines(files, rewrite, work_root(rewrite.log_dir, work))),
        )
    )


def _tell_what_was_done(
    output: OutputFormat,
    proposal: Proposal,
    changes: Sequence[str],
    finished: Sequence[RepairRecord],
    records: Sequence[RepairRecord],
) -> None:
    """Print the report of a repair.

    Raises:
        CliError: standard output cannot be written. The message says that the repair is done nevertheless.
    """
    try:
        _show_done(output, proposal, changes, finished, records)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        places = " ".join(record.log_dir for record in records)
        raise CliError(
            f"standard output: {error.strerror}. The repair IS done, but its report could not be printed: go on with "
            f"`kraft recover verify {places}`, and `kraft recover inspect` of all copies for the next steps"
        ) from error


def _show_done(
    output: OutputFormat,
    proposal: Proposal,
    changes: Sequence[str],
    finished: Sequence[RepairRecord],
    records: Sequence[RepairRecord],
) -> None:
    if output is OutputFormat.JSON:
        show_json({**_data(proposal, applied=True), "records": [*map(record_data, (*finished, *records))]})
        return
    for line in (*_lines(proposal, applied=True), *changes):
        print_wrapped(line)
    _show_records(output, records, "Done")
    for line in step_lines(proposal.steps, "Next:"):
        print(line)


@contextmanager
def _told_when_interrupted(files: Files, log_dirs: Sequence[str]) -> Iterator[None]:
    """On Ctrl-C, which may come at any moment, report the directories whose repair is not finished."""
    try:
        yield
    except KeyboardInterrupt:
        waiting = [log_dir for log_dir in log_dirs if files.exists(f"{log_dir}/{JOURNAL_FILE}")]
        said = (
            f"the repair of {', '.join(waiting)} is decided and not finished: run the same command again, and start "
            "nothing before"
            if waiting
            else "each directory is as it was, or is repaired already: run the same command again"
        )
        say(f"kraft: interrupted: {said}")
        raise


def _carry_out(
    files: Files,
    proposal: Proposal,
    made: dict[str, tuple[str, ...]],
    work: Path | None,
    held: ExitStack,
    owner: NewOwner | None,
) -> list[RepairRecord]:
    """Apply the repair. `made`: the locked directories, each with the files that were created for its lock."""
    for log_dir in proposal.leavings:
        sweep(files, log_dir, work_root(log_dir, work))
    records = []
    by = author()
    for rewrite in recorded(proposal):
        new = made.get(rewrite.log_dir, ())
        if rewrite.log_dir not in made and owner is not None:
            new = (LOCK_FILE,) if files.exists(rewrite.log_dir) else (LOCK_FILE, ".")
            make_directories(files, rewrite.log_dir, like=owner.mode_of, owner_of=owner.path)
            held.callback(give_to_owner, rewrite.log_dir, os.stat(owner.path))
            held.callback(DirectoryLock(files, rewrite.log_dir).release)
        root = work_root(rewrite.log_dir, work)
        held.callback(give_audits, root, rewrite.log_dir)
        records.append(carry_out(files, rewrite, author=by, work_root=root, made=new))
        clear_away(files, records[-1])
    return records


def _log_dir(files: Files, target: Path, *, is_new: bool) -> str | None:
    """Return the log directory of an existing target, or None if it is yet to be created."""
    path = str(target.absolute())
    if not files.exists(path) or (files.is_dir(path) and not files.listdir(path)):
        return None
    if files.is_dir(path) and pending(files, path) is not None:
        return path
    try:
        return find_target(files, path).log_dir
    except RefusedError:
        if is_new:
            return None
        raise


def _lock(files: Files, log_dir: str, held: ExitStack, *, apply: bool) -> None:
    """Lock a directory against other processes. A dry run writes nothing, not even a lock file.

    Raises:
        RefusedError: a node runs on the directory, or a repair to be applied cannot lock it.
    """
    if not apply and not files.exists(f"{log_dir}/{LOCK_FILE}"):
        return
    try:
        held.callback(DirectoryLock(files, log_dir).release)
    except DirectoryLockedError as error:
        raise RefusedError(
            f"{log_dir}/{LOCK_FILE} is locked: another process, a node or another repair, uses {log_dir}. Stop it and "
            "run the command again, or name a copy of the directory"
        ) from error
    except DirectoryError as error:
        if apply:
            cause = error.__cause__
            what_to_do = remedy(cause) if isinstance(cause, OSError) else "see what is there"
            raise RefusedError(f"{error}. Nothing was changed: {what_to_do}, and run the command again") from error


def show_proposal(output: OutputFormat, proposal: Proposal, changes: Sequence[str]) -> None:
    """Print a dry run. `changes`: lines about files, for people."""
    if output is OutputFormat.JSON:
        show_json(_data(proposal, applied=False))
        return
    for line in (*_lines(proposal, applied=False), *changes):
        print_wrapped(line)
    for line in step_lines(proposal.steps if proposal.is_a_part else (), "Next:"):
        print(line)
    print()
    print("Nothing was changed. Say --apply to do it.")


def _data(proposal: Proposal, *, applied: bool) -> dict[str, object]:
    return {
        "action": proposal.action,
        "applied": applied,
        "says": list(proposal.says),
        "keeps": proposal.keeps,
        "loses": [msgspec.to_builtins(lost) for lost in proposal.loses],
        "may_lose": None if proposal.may_lose is None else str(proposal.may_lose),
        "warnings": list(proposal.warnings),
        "asked": [str(answer) for answer in proposal.asked],
        "changes": [
            {
                "log_dir": rewrite.log_dir,
                "files": [
                    {"name": change.name, "becomes": "removed" if change.content is None else "written"}
                    for change in rewrite.changes
                ],
            }
            for rewrite in proposal.rewrites
        ],
        "steps": list(map(step_data, proposal.steps)),
    }


def _lines(proposal: Proposal, *, applied: bool) -> Iterator[str]:
    yield f"{'Did' if applied else 'Would do'}: kraft recover {proposal.action}"
    yield from (f"  {said}" for said in proposal.says)
    if proposal.keeps is not None:
        yield f"Keeps {proposal.keeps}."
        yield from (f"Loses {lost}." for lost in proposal.loses)
        if not proposal.loses:
            yield "Loses nothing that a copy here holds."
    if proposal.may_lose is not None:
        yield f"May lose {proposal.may_lose}."
    if proposal.asked:
        yield "Asked for a live leader:"
        yield from (f"  {answer}" for answer in proposal.asked)
    yield from (f"WARNING: {warning}." for warning in proposal.warnings)


def _show_records(output: OutputFormat, records: Sequence[RepairRecord], title: str) -> None:
    if output is OutputFormat.JSON:
        show_json({"records": [record_data(record) for record in records]})
        return
    for record in records:
        print(f"{title}: kraft recover {record.action} in {record.log_dir}.")
        print(f"  backup and audit file: {record.work_dir}")
        if record.undoes is None:
            print(f"  to take it back, before anything starts: {undo_line(record.log_dir, record.root)}")
