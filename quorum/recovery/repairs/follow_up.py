"""The steps that follow a repair, kept in its audit file. `kraft recover verify` prints those that are left.

Decides: how long a step is left. Must not know: what the steps are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.next_steps import VERIFY, RecoverCommand, Step
from quorum.recovery.journal.repair_record import AUDIT_FILE, RepairRecord, audits, of_directory, standing, work_root_of


def recorded(proposal: Proposal) -> tuple[Rewrite, ...]:
    """Return the rewrites of a repair, with all directories and the steps in the facts of each."""
    dirs = tuple(rewrite.log_dir for rewrite in proposal.rewrites)
    together = dirs if len(dirs) > 1 else ()
    return tuple(
        msgspec.structs.replace(
            rewrite, facts=msgspec.structs.replace(rewrite.facts, log_dirs=together, steps=proposal.steps)
        )
        for rewrite in proposal.rewrites
    )


def tells_steps(files: Files, log_dir: str) -> bool:
    """Return True if the last repair of a directory has recorded steps."""
    last = _last(files, log_dir)
    return last is not None and bool(last.facts.steps)


def steps_left(files: Files, known: RepairEvidence, copies: Sequence[Copy]) -> list[Step]:
    """Return the steps left after the repairs of these copies, each once; none if a copy is not waiting for any.

    The check of the result is left out, and so are repairs of other directories that have been done since.
    """
    found: list[Step] = []
    repaired = {(one.action, one.log_dir) for copy in known.copies if (one := _last(files, copy.place.log_dir))}
    for copy in copies:
        record = _last(files, copy.place.log_dir)
        if record is None or not _waits(known, copy, record):
            return []
        steps = record.facts.steps
        if steps and record.log_dir != copy.place.log_dir:  # its commands have the path before the directory was moved
            steps = (
                Step(text=f"Follow the steps of the repair: {record.work_dir}/{AUDIT_FILE} lists them, under steps"),
            )
        found += [step for step in steps if step not in found and _is_left(step, repaired)]
    return found


def _is_left(step: Step, repaired: Collection[tuple[str, str]]) -> bool:
    return not any(one.action == VERIFY or _is_done(one, repaired) for one in step.recovers)


def _is_done(asked: RecoverCommand, repaired: Collection[tuple[str, str]]) -> bool:
    """Return True if a command repairs one directory, and that directory has had the repair."""
    return len(asked.log_dirs) == 1 and (asked.action, asked.log_dirs[0]) in repaired


def _last(files: Files, log_dir: str) -> RepairRecord | None:
    """Return the last repair of a directory, or None. An unreadable audit file is reported elsewhere."""
    root = work_root_of(log_dir)
    if not files.exists(root) or not files.is_dir(root):
        return None
    try:
        left = standing(of_directory(files, audits(files, root).records, log_dir))
    except OSError:
        return None
    return left[-1] if left else None


def _waits(known: RepairEvidence, copy: Copy, record: RepairRecord) -> bool:
    """Return True if its node has not run since the repair, or voters that it removed have not joined again."""
    if copy.place.log_dir in known.undoable:
        return True
    facts, voters = record.facts, tuple(map(str, copy.voters or ()))
    before = facts.voters_before
    is_last = copy.repair is not None and facts.new_epoch == copy.repair.epoch
    return is_last and before is not None and voters == facts.voters_after and len(before) > len(voters)
