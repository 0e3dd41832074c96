"""What follows a repair, kept in its audit file: for whoever asks after the command has told it.

Decides: what is kept there, and how long it is told again. Must not know: what the steps are.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.advice.commands import check_result
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import Survey
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.repair_facts import Step
from quorum.recovery.journal.repair_record import AUDIT_FILE, RepairRecord, audits, of_directory, standing, work_root_of

STEPS: Final = "steps"
"""Among a record's facts: what follows, for other nodes as well."""
TOGETHER: Final = "log_dirs"
"""Among a record's facts: all directories that one command has repaired."""


def recorded(proposal: Proposal) -> tuple[Rewrite, ...]:
    """What a repair does, with what its audit files say of all of it."""
    dirs = [rewrite.log_dir for rewrite in proposal.rewrites]
    of_all = {TOGETHER: dirs} if len(dirs) > 1 else {}
    steps = [msgspec.to_builtins(step) for step in proposal.steps]
    return tuple(
        msgspec.structs.replace(rewrite, facts={**rewrite.facts, **of_all, STEPS: steps})
        for rewrite in proposal.rewrites
    )


def tells_steps(files: Files, log_dir: str) -> bool:
    """Whether the last repair of a directory has left steps."""
    return bool(_steps_of(_last(files, log_dir)))


def steps_left(files: Files, known: Survey, copies: Sequence[Copy]) -> list[Step]:
    """Return the steps that are left after the repairs of these, each once; none where one of them waits for none.

    Left out are the check of the result, and repairs of other directories that have had the same one since.
    """
    found: list[Step] = []
    repaired = {(one.action, one.log_dir) for copy in known.copies if (one := _last(files, copy.place.log_dir))}
    for copy in copies:
        record = _last(files, copy.place.log_dir)
        if record is None or not _waits(known, copy, record):
            return []
        steps = _steps_of(record)
        if steps and record.log_dir != copy.place.log_dir:  # its commands name a directory that was moved since
            steps = [Step(text=f"What follows the repair stands in {record.work_dir}/{AUDIT_FILE}, under {STEPS}")]
        found += [step for step in steps if step not in found and _is_left(step, repaired)]
    return found


def _is_left(step: Step, repaired: Collection[tuple[str, str]]) -> bool:
    return step.text != check_result([]).text and not any(_is_done(line, repaired) for line in step.commands)


def _is_done(line: str, repaired: Collection[tuple[str, str]]) -> bool:
    """Return True if a command repairs one directory, and that one has had the repair."""
    words = shlex.split(line)
    named = [word for option, word in pairwise(words) if option == "--dir"]
    return words[:2] == ["kraft", "recover"] and len(named) == 1 and (words[2], named[0]) in repaired


def _last(files: Files, log_dir: str) -> RepairRecord | None:
    """None also where the audit files cannot be read, which is said elsewhere."""
    root = work_root_of(log_dir)
    if not files.exists(root) or not files.is_dir(root):
        return None
    try:
        left = standing(of_directory(files, audits(files, root).records, log_dir))
    except OSError:
        return None
    return left[-1] if left else None


def _steps_of(record: RepairRecord | None) -> list[Step]:
    """None of a record that was written before steps were kept."""
    try:
        return [] if record is None else msgspec.convert(record.facts.get(STEPS, []), list[Step])
    except msgspec.ValidationError:
        return []


def _waits(known: Survey, copy: Copy, record: RepairRecord) -> bool:
    """Whether its node has not run since; or whether voters that the repair took away have not joined again."""
    if copy.place.log_dir in known.undoable:
        return True
    facts, voters = record.facts, [] if copy.voters is None else [*map(str, copy.voters)]
    before = facts.get("voters_before")
    is_last = copy.repair is not None and facts.get("new_epoch") == copy.repair.epoch
    return is_last and isinstance(before, list) and voters == facts.get("voters_after") and len(before) > len(voters)
