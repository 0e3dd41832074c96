"""Obstacles that must be settled before any repair is chosen, and before any node starts.

They are: an interrupted repair, copies that contradict each other, a repair that only some directories have, and a
repair that passed over committed records. Must not know: which repair follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.directory.repair_files import HELD_SUFFIX
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files
from quorum.recovery.advice.commands import command, undo_line
from quorum.recovery.advice.stale_replicas import unsettled_steps
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import Conflict
from quorum.recovery.evidence.electable import elects, unreached
from quorum.recovery.evidence.historical_extents import let_go_by
from quorum.recovery.evidence.lost_records import excess
from quorum.recovery.evidence.repair_evidence import Survey
from quorum.recovery.journal.log_directories import Place
from quorum.recovery.journal.repair_facts import Step
from quorum.recovery.journal.repair_record import (
    AUDIT_FILE,
    JOURNAL_FILE,
    RepairRecord,
    again,
    audits,
    pending,
    work_root_of,
)

_TWO_CLUSTERS: Final = Step(
    text="Inspect the copies of each cluster by themselves. A clone gets a cluster id of its own before anything "
    "starts from it (kraft recover cluster-id)"
)


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """The situation, and the steps that settle it. Nothing else is recommended until then."""

    situation: str
    steps: tuple[Step, ...]


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """A directory in the middle of a repair. Without a `record`, its journal cannot be read; `problem` says why."""

    log_dir: str
    record: RepairRecord | None
    problem: str


def interruption(files: Files, place: Place) -> Interruption | None:
    """Return the interrupted repair of this directory, or None."""
    log_dir = place.log_dir
    try:
        record = pending(files, log_dir)
    except CorruptFileError as error:
        return Interruption(log_dir=log_dir, record=None, problem=str(error))
    if record is not None:
        problem = f"`kraft recover {record.action}` of {record.at} was interrupted in {log_dir}"
        return Interruption(log_dir=log_dir, record=record, problem=problem)
    if not files.exists(f"{log_dir}/{META_PROPERTIES_FILE}{HELD_SUFFIX}"):
        return None
    return Interruption(
        log_dir=log_dir,
        record=None,
        problem=f"a repair was interrupted in {log_dir}, and its {JOURNAL_FILE} is gone. The newest {AUDIT_FILE} below "
        f"{work_root_of(log_dir)} holds the same words: copy it to {log_dir}/{JOURNAL_FILE}, and inspect all once more",
    )


def of_interruptions(found: Sequence[Interruption], paths: Iterable[str]) -> Obstacle:
    """Return the obstacle of repairs that wait to be finished. `paths`: all directories of the command."""
    names = ", ".join(one.log_dir for one in found)
    steps: list[Step] = []
    for one in found:
        record = one.record
        if record is None:
            steps.append(Step(text=one.problem))
            continue
        steps.append(Step(text=f"{one.problem}. Run it again: it goes on", commands=(again(record, one.log_dir),)))
        if record.undoes is None:
            line = undo_line(one.log_dir, record.root)
            steps.append(Step(text="Or take it back, where it is not what is wanted", commands=(line,)))
    return Obstacle(
        situation=f"A repair was interrupted in {names}: no node starts from there until it is finished or taken back, "
        "and no other repair is of use before.",
        steps=(*steps, _look_again(paths)),
    )


def obstacle(files: Files, known: Survey) -> Obstacle | None:
    """Return what forbids any repair or start of these copies, or None."""
    grave = _grave(known)
    if grave:
        return _rivalry(known, grave) if any(one.repairs for one in grave) else _contradiction(known, grave)
    half = unreached(known)
    if half is None:
        return None
    if any(known.is_voter(copy) for copy in half[1]):
        return _half_done(files, known, *half)
    return _dropped(files, known, *half)


def unsettled(known: Survey) -> Obstacle | None:
    """Return the obstacle of a node with two directories of one id, without which there is no majority; or None."""
    steps = unsettled_steps(known)
    if not steps:
        return None
    names = ", ".join(one.copy.label for one in known.stale if one.rivals)
    return Obstacle(
        situation=f"On which of {names} the node ran last is not known, and none of them is counted: no majority of "
        "the voters is here and sound without that.",
        steps=tuple(steps),
    )


def outvoted(known: Survey) -> tuple[Copy, ...]:
    """Return the copies of nodes that are no voters and that contradict a majority of the voters."""
    return tuple(copy for copy in known.copies if not elects(known, copy) and _conflicts_with(known, copy))


def _conflicts_with(known: Survey, copy: Copy) -> bool:
    return any(copy in one.copies for one in known.conflicts)


def _grave(known: Survey) -> list[Conflict]:
    """Return the conflicts that forbid a start: of copies that would elect, or without a majority that agrees."""
    electing = [copy for copy in known.copies if elects(known, copy)]
    among = [one for one in known.conflicts if all(copy in electing for copy in one.copies)]
    same = [copy for copy in electing if known.is_authoritative(copy) and copy.stop is None and copy.state is not None]
    if among or not known.has_majority(same):
        return list(known.conflicts)
    return []


def _look_again(paths: Iterable[str]) -> Step:
    return Step(text="Then inspect all once more", commands=(command("kraft", "recover", "inspect", *paths),))


def _contradiction(known: Survey, found: Sequence[Conflict]) -> Obstacle:
    copies = [copy for copy in known.copies if any(copy in one.copies for one in found)]
    names, dirs = ", ".join(copy.label for copy in copies), [copy.place.log_dir for copy in copies]
    if any(one.metadata for one in found):  # what one log is compared by is not there to be compared
        situation = f"Copies are of several clusters: {'; '.join(map(str, found))}. Start none of {names} before it is "
        return Obstacle(situation=f"{situation}known which is which ({found[0].cause}).", steps=(_TWO_CLUSTERS,))
    return Obstacle(
        situation=f"Copies contradict each other: {'; '.join(map(str, found))}. One at least is wrong "
        f"({found[0].cause}). Start none of {names} before it is known which is right.",
        steps=(
            Step(
                text="See what each holds where they part: which was changed, and what the others and backups say",
                commands=(command("kraft", "log", "diff", *dirs),),
            ),
            Step(
                text="Leave the wrong one out, and inspect the others once more. Its node never starts from that log "
                "again: move it away, and let the node fetch it from the others when they lead"
            ),
        ),
    )


def _rivalry(known: Survey, found: Sequence[Conflict]) -> Obstacle:
    """Return the obstacle of conflicting repairs, each of which made a quorum."""
    ours = [one for one in found if one.repairs is not None]
    copies = [copy for copy in known.copies if any(copy in one.copies for one in ours)]
    kept = next((copy for copy in copies if copy.place.log_dir not in known.undoable), copies[0])
    others = [copy for copy in copies if copy is not kept]
    stuck = [copy.label for copy in others if copy.place.log_dir not in known.undoable]
    return Obstacle(
        situation=f"Several repairs were done where one must be: {'; '.join(map(str, ours))}. Each has made a quorum "
        f"of its own: start none of {', '.join(copy.label for copy in copies)} until all but one are undone.",
        steps=(
            Step(
                text="Choose the one that stays: that which nodes run with by now; where nothing has started from any, "
                f"that of {kept.label}"
            ),
            *_take_back(undo_lines(known, others), "Take all others back. These commands do, if that one is to stay"),
            *_never_again(stuck),
            _look_again(copy.place.log_dir for copy in known.copies),
        ),
    )


def _take_back(lines: tuple[str, ...], text: str) -> Iterator[Step]:
    if lines:
        yield Step(text=text, commands=lines)


def _never_again(labels: Sequence[str]) -> Iterator[Step]:
    """Yield the step for repairs that cannot be undone."""
    if labels:
        yield Step(
            text=f"A node has run on {', '.join(labels)} since its repair, or its backup is gone: undo would be "
            "refused. Unless it is the one that stays, move that directory away, start nothing from it again, and let "
            "its node join the others from an empty one"
        )


def _half_done(files: Files, known: Survey, done: Copy, behind: tuple[Copy, ...]) -> Obstacle:
    begun = -1 if done.repair is None else int(done.repair.epoch)
    names = ", ".join(copy.label for copy in behind)
    return Obstacle(
        situation=f"A repair is half done: what began epoch {begun} on {done.label} has not reached {names}, or was "
        "undone there. Start none of them: they would go on with different voters.",
        steps=(
            Step(text="Run the repair again on all its directories", commands=_said_by(files, done)),
            *_take_back(undo_lines(known, with_repair(known, done)), "Or take it back wherever it was done"),
        ),
    )


def _dropped(files: Files, known: Survey, done: Copy, behind: Sequence[Copy]) -> Obstacle | None:
    """Return the obstacle of a repair that passed over committed records whose loss no operator accepted; or None.

    The obstacle exists only while the repair can be undone.
    """
    lines = undo_lines(known, with_repair(known, done))
    accepted = [lost for _, lost in let_go_by(done)]
    missed = [
        one
        for one in excess(files, known, done)
        if one.says_something and one.committed in ("was", "partly")
        if not any(lost.epoch == one.epoch and lost.start <= one.start and lost.end >= one.end for lost in accepted)
    ]
    if not lines or not missed:
        return None
    begun = -1 if done.repair is None else int(done.repair.epoch)
    names = ", ".join(copy.label for copy in behind)
    return Obstacle(
        situation=f"The repair that began epoch {begun} on {done.label} passed over what was committed and stands on "
        f"copies here: {'; '.join(map(str, missed))}. Nothing has started from it yet.",
        steps=(
            Step(text="Start nothing, and take that repair back", commands=lines),
            _look_again(copy.place.log_dir for copy in known.copies),
            Step(
                text=f"Only where all that is to be lost, go on with {done.label} instead: keep copies of {names} for "
                "good, and never start anything from these directories"
            ),
        ),
    )


def _said_by(files: Files, done: Copy) -> tuple[str, ...]:
    """Return the command that began the last epoch of `done`, by its audit file; empty without one."""
    log_dir, begun = done.place.log_dir, None if done.repair is None else int(done.repair.epoch)
    records = audits(files, work_root_of(log_dir)).records
    return next((((again(one, log_dir)),) for one in reversed(records) if one.facts.new_epoch == begun), ())


def undo_lines(known: Survey, copies: Iterable[Copy]) -> tuple[str, ...]:
    """Return the commands that undo the last repairs of these copies, where that is possible."""
    return tuple(undo_line(copy.place.log_dir) for copy in copies if copy.place.log_dir in known.undoable)


def with_repair(known: Survey, done: Copy) -> list[Copy]:
    """Return all copies that would elect and have the repair of `done`; only `done` if no copy does."""
    return [copy for copy in known.copies if copy.repair == done.repair and elects(known, copy)] or [done]


def old_voters(known: Survey) -> list[Step]:
    """Return the step for controllers that a repair removed as voters: by their own files they would still elect."""
    half = unreached(known)
    if half is None:
        return []
    done, behind = half
    names = ", ".join(copy.label for copy in behind)
    lines = undo_lines(known, with_repair(known, done))
    return [
        Step(
            text=f"Never start {names} from these directories: they hold the voters from before the repair of "
            f"{done.label}, and would elect by those"
            f"{'. If they are the ones that go on, undo that repair, and inspect all again' if lines else ''}",
            commands=lines,
        )
    ]
