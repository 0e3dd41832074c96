"""How a repair is run from the command line: locks, the unfinished one first, dry run or not, what is shown.

Decides: that order. Must not know: what a repair does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from metadata_log.directory import LOCK_FILE, META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.directory_lock import DirectoryLock
from metadata_log.errors import DirectoryError, DirectoryLockedError
from metadata_log.files import Files
from metadata_log.os_files import OsFiles
from quorum.cli.output import OutputFormat, show_json
from quorum.cli.recover_options import author
from quorum.cli.recover_owner import NewOwner, give_audits, give_to_owner, owner_of_new
from quorum.cli.recover_show import step_lines
from quorum.recovery.advice import undo_line
from quorum.recovery.carry_out import carry_out, clear_away, remedy
from quorum.recovery.changes import make_directories
from quorum.recovery.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal import JOURNAL_FILE, Record, pending, work_root_of
from quorum.recovery.places import find_target
from quorum.recovery.request import Proposal
from quorum.recovery.resume import Asked, resume
from quorum.recovery.resume import is_all as is_all_of
from quorum.recovery.undo import TOGETHER


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
    """Propose a repair, and carry it out with `apply`. One that was interrupted is finished first, see `resume`.

    `is_new`: the target need not be a log directory yet; `owner_of` is the copy that it is made from.
    """
    files = OsFiles()
    with ExitStack() as held:
        log_dirs = [_log_dir(files, target, is_new=is_new) for target in targets]
        owner = None if owner_of is None else owner_of_new(str(targets[0].absolute()), str(owner_of))
        _refuse_within(files, work)
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
        except AlreadyDoneError:
            if finished:
                return
            raise
        if owner is not None:
            proposal = owner.told(proposal)
        if not apply:
            show_proposal(output, proposal)
            return
        records = _carry_out(files, proposal, made, work, held, owner)
    _show_done(output, proposal, finished, records)


def _show_done(output: OutputFormat, proposal: Proposal, finished: Sequence[Record], records: Sequence[Record]) -> None:
    if output is OutputFormat.JSON:
        show_json({**_data(proposal, applied=True), "records": [*map(msgspec.to_builtins, (*finished, *records))]})
        return
    for line in _lines(proposal, applied=True):
        print(line)
    _show_records(output, records, "Done")
    for line in step_lines(proposal.steps, "Next:"):
        print(line)


@contextmanager
def _told_when_interrupted(files: Files, log_dirs: Sequence[str]) -> Iterator[None]:
    """Ctrl-C may come at any moment: say which directories wait to be finished."""
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
        print(f"kraft: interrupted: {said}", file=sys.stderr)
        raise


def _carry_out(
    files: Files,
    proposal: Proposal,
    made: dict[str, tuple[str, ...]],
    work: Path | None,
    held: ExitStack,
    owner: NewOwner | None,
) -> list[Record]:
    """`made`: the directories that are locked, and what had to be made for that."""
    records = []
    by = author()
    together = [rewrite.log_dir for rewrite in proposal.rewrites]
    for proposed in proposal.rewrites:
        rewrite = proposed
        if len(together) > 1:
            rewrite = msgspec.structs.replace(proposed, facts={**proposed.facts, TOGETHER: together})
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


def _refuse_within(files: Files, work: Path | None) -> None:
    """Kafka does not start on a log directory that holds a directory which is no partition's.

    Raises:
        RefusedError: `work` is, or lies in, a log directory.
    """
    if work is None:
        return
    for path in (real := Path(os.path.realpath(work)), *real.parents):
        inside = path.name == METADATA_DIRECTORY or any(
            files.exists(str(path / name)) for name in (METADATA_DIRECTORY, META_PROPERTIES_FILE, JOURNAL_FILE)
        )
        if inside:
            raise RefusedError(
                f"--work {work} lies in the log directory {path}, and Kafka does not start with a strange directory in "
                "one: name a place outside of every log directory"
            )


def _log_dir(files: Files, target: Path, *, is_new: bool) -> str | None:
    """Of a target that is there; one that is to be made has none yet."""
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


def work_root(log_dir: str, work: Path | None) -> str:
    """Where backups go."""
    return work_root_of(log_dir, None if work is None else str(work.absolute()))


def _lock(files: Files, log_dir: str, held: ExitStack, *, apply: bool) -> None:
    """Nobody else may use the directory. A dry run writes nothing, not even a lock file.

    Raises:
        RefusedError: a node runs on it; or it cannot be locked, and something is to be done.
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


def show_proposal(output: OutputFormat, proposal: Proposal) -> None:
    """What a dry run says."""
    if output is OutputFormat.JSON:
        show_json(_data(proposal, applied=False))
        return
    for line in _lines(proposal, applied=False):
        print(line)
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
        "may_lose": proposal.may_lose,
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
        "steps": [msgspec.to_builtins(step) for step in proposal.steps],
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
    for rewrite in proposal.rewrites:
        yield f"In {rewrite.log_dir}:"
        for change in rewrite.changes:
            yield f"  {'remove' if change.content is None else 'write '} {change.name}"


def _show_records(output: OutputFormat, records: Sequence[Record], title: str) -> None:
    if output is OutputFormat.JSON:
        show_json({"records": [msgspec.to_builtins(record) for record in records]})
        return
    for record in records:
        print(f"{title}: kraft recover {record.action} in {record.log_dir}.")
        print(f"  backup and audit file: {record.work_dir}")
        if record.undoes is None:
            print(f"  to take it back, before anything starts: {undo_line(record.log_dir, record.root)}")
