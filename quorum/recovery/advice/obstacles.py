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
from quorum.recovery.advice.commands import undo_line
from quorum.recovery.advice.stale_replicas import unsettled_steps
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import Conflict
from quorum.recovery.evidence.electable import elects, unreached
from quorum.recovery.evidence.historical_extents import accepted_losses_of
from quorum.recovery.evidence.lost_records import lost_records
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.log_directories import Place
from quorum.recovery.journal.next_steps import Command, Step, command, step_of
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
    text="Inspect the copies of each cluster separately. Give a clone a new cluster id before anything starts from it "
    "(kraft recover cluster-id)"
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
        f"{work_root_of(log_dir)} has the same text: copy it to {log_dir}/{JOURNAL_FILE}, and inspect all again",
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
        steps.append(step_of(text=f"{one.problem}. Run it again: it goes on", commands=(again(record, one.log_dir),)))
        if record.undoes is None:
            line = undo_line(one.log_dir, record.root)
            steps.append(step_of(text="Or undo it, if it is not wanted", commands=(line,)))
    return Obstacle(
        situation=f"A repair was interrupted in {names}: no node starts from there until it is finished or undone. "
        "Do that before any other repair.",
        steps=(*steps, _look_again(paths)),
    )


def obstacle(files: Files, known: RepairEvidence) -> Obstacle | None:
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


def unsettled(known: RepairEvidence) -> Obstacle | None:
    """Return the obstacle of a node with two directories of one id, without which there is no majority; or None."""
    steps = unsettled_steps(known)
    if not steps:
        return None
    names = ", ".join(one.copy.label for one in known.stale if one.rivals)
    return Obstacle(
        situation=f"It is not known on which of {names} the node ran last, so none of them counts. Without it, no "
        "majority of the voters is here and sound.",
        steps=tuple(steps),
    )


def held_back(known: RepairEvidence, whole: Sequence[Copy]) -> Obstacle | None:
    """Return the obstacle of whole voters that are a majority only with those that must not start yet; or None.

    No repair is recommended: most of these cures lose nothing.
    """
    barred = [one for one in known.barred if any(one.copy is copy for copy in whole)]
    if not barred or not known.has_majority(whole):
        return None
    names = ", ".join(one.copy.label for one in barred)
    left = "If that is impossible, choose a repair: see above what each keeps and loses"
    return Obstacle(
        situation=f"The logs of a majority of the voters are here and whole, but {names} must not start yet, and "
        "without them no majority is left.",
        steps=(
            *(Step(text=f"{one.copy.label}: {one.found.advice}") for one in barred),
            _look_again(copy.place.log_dir for copy in known.copies),
            Step(text=left),
        ),
    )


def outvoted(known: RepairEvidence) -> tuple[Copy, ...]:
    """Return the copies of nodes that are no voters and that contradict one: a majority of the voters holds the same.

    Of two brokers' copies that contradict each other, the one that agrees with the voters is sound.
    """
    wrong = {id(one.wrong) for one in known.conflicts}
    electing = {id(copy) for copy in known.copies if elects(known, copy) and id(copy) not in wrong}
    apart = {id(copy) for one in known.conflicts if electing & {*map(id, one.copies)} for copy in one.copies} - electing
    return tuple(copy for copy in known.copies if id(copy) in apart and not known.is_voter(copy))


def _grave(known: RepairEvidence) -> list[Conflict]:
    """Return the conflicts that forbid a start: of copies that would elect, or without a majority that agrees."""
    electing = [copy for copy in known.copies if elects(known, copy)]
    among = [one for one in known.conflicts if one.wrong is None and all(copy in electing for copy in one.copies)]
    same = [copy for copy in electing if known.is_authoritative(copy) and copy.stop is None and copy.state is not None]
    if among or not known.has_majority(same):
        return list(known.conflicts)
    return []


def _look_again(paths: Iterable[str]) -> Step:
    return step_of(text="Then inspect all again", commands=(command("kraft", "recover", "inspect", *paths),))


def _contradiction(known: RepairEvidence, found: Sequence[Conflict]) -> Obstacle:
    copies = [copy for copy in known.copies if any(copy in one.copies for one in found)]
    names, dirs = ", ".join(copy.label for copy in copies), [copy.place.log_dir for copy in copies]
    if any(one.metadata for one in found):  # what one log is compared by is not there to be compared
        situation = f"Copies are of several clusters: {'; '.join(map(str, found))}. Start none of {names} before it is "
        return Obstacle(situation=f"{situation}known which is which ({found[0].cause}).", steps=(_TWO_CLUSTERS,))
    wrong = [copy for copy in copies if any(_is_unplayed(one, copy) for one in found)]
    return Obstacle(
        situation=f"Copies contradict each other: {'; '.join(map(str, found))}. One at least is wrong "
        f"({found[0].cause}). Start none of {names} before it is known which is right.",
        steps=(
            step_of(
                text="Compare the copies where they first differ: other copies and backups show which was changed",
                commands=(command("kraft", "log", "diff", *dirs),),
            ),
            _leave_out(known, wrong),
        ),
    )


def _is_unplayed(found: Conflict, copy: Copy) -> bool:
    """Return True if where two copies part, the record of this one cannot be replayed and that of the other can."""
    if copy not in found.copies or found.end is None:
        return False
    other = next(one for one in found.copies if one is not copy)
    at, there = copy.prefix.unplayed, other.prefix.unplayed
    return at is not None and at < found.end and (there is None or there >= found.end)


def _leave_out(known: RepairEvidence, wrong: Sequence[Copy]) -> Step:
    """Return the step that leaves the wrong copies out, by name if their own records show that they are wrong."""
    again = "move the log away, and let the node fetch it from the others once they have a leader"
    rest = [copy.place.log_dir for copy in known.copies if copy not in wrong]
    if not wrong or not rest:
        return Step(
            text="Leave the wrong one out, and inspect the others again. Never start its node from that log again: "
            f"{again}"
        )
    said = "; ".join(f"{copy.label}: {copy.prefix.problem}" for copy in wrong)
    them = "these" if len(wrong) > 1 else "that"
    return step_of(
        text=f"A record cannot be replayed where the logs begin to differ: {said}. Leave {them} out, and inspect the "
        f"others again. Never start its node from that log again: {again}",
        commands=(command("kraft", "recover", "inspect", *rest),),
    )


def _rivalry(known: RepairEvidence, found: Sequence[Conflict]) -> Obstacle:
    """Return the obstacle of conflicting repairs, each of which made a quorum."""
    ours = [one for one in found if one.repairs is not None]
    copies = [copy for copy in known.copies if any(copy in one.copies for one in ours)]
    kept = next((copy for copy in copies if copy.place.log_dir not in known.undoable), copies[0])
    others = [copy for copy in copies if copy is not kept]
    stuck = [copy.label for copy in others if copy.place.log_dir not in known.undoable]
    return Obstacle(
        situation=f"Several repairs were done where only one may be: {'; '.join(map(str, ours))}. Each made a separate "
        f"quorum: start none of {', '.join(copy.label for copy in copies)} until all but one are undone.",
        steps=(
            Step(
                text="Choose the repair that stays: the one that nodes already run with, or, if nothing has started "
                f"from any, that of {kept.label}"
            ),
            *_take_back(undo_lines(known, others), "Undo all others. These commands do so, if that one is to stay"),
            *_never_again(stuck),
            _look_again(copy.place.log_dir for copy in known.copies),
        ),
    )


def _take_back(lines: tuple[Command, ...], text: str) -> Iterator[Step]:
    if lines:
        yield step_of(text=text, commands=lines)


def _never_again(labels: Sequence[str]) -> Iterator[Step]:
    """Yield the step for repairs that cannot be undone."""
    if labels:
        yield Step(
            text=f"A node has run on {', '.join(labels)} since its repair, or its backup is gone: undo would be "
            "refused. Unless it is the one that stays, move that directory away, start nothing from it again, and let "
            "its node join the others from an empty one"
        )


def _half_done(files: Files, known: RepairEvidence, done: Copy, behind: tuple[Copy, ...]) -> Obstacle:
    begun = -1 if done.repair is None else int(done.repair.epoch)
    names = ", ".join(copy.label for copy in behind)
    return Obstacle(
        situation=f"A repair is half done: what began epoch {begun} on {done.label} has not reached {names}, or was "
        "undone there. Start none of them: they would go on with different voters.",
        steps=(
            step_of(text="Run the repair again on all its directories", commands=_said_by(files, done)),
            *_take_back(undo_lines(known, with_repair(known, done)), "Or undo it in every directory where it was done"),
        ),
    )


def _dropped(files: Files, known: RepairEvidence, done: Copy, behind: Sequence[Copy]) -> Obstacle | None:
    """Return the obstacle of a repair that passed over committed records whose loss no operator accepted; or None.

    The obstacle exists only while the repair can be undone.
    """
    lines = undo_lines(known, with_repair(known, done))
    accepted = [lost for _, lost in accepted_losses_of(done)]
    missed = [
        one
        for one in lost_records(files, known, done)
        if one.says_something and one.committed in ("was", "partly")
        if not any(lost.epoch == one.epoch and lost.start <= one.start and lost.end >= one.end for lost in accepted)
    ]
    if not lines or not missed:
        return None
    begun = -1 if done.repair is None else int(done.repair.epoch)
    names = ", ".join(copy.label for copy in behind)
    return Obstacle(
        situation=f"The repair that began epoch {begun} on {done.label} dropped committed records that copies here "
        f"still hold: {'; '.join(map(str, missed))}. Nothing has started from it yet.",
        steps=(
            step_of(text="Start nothing, and undo that repair", commands=lines),
            _look_again(copy.place.log_dir for copy in known.copies),
            Step(
                text=f"Only if all these records may be lost, go on with {done.label} instead: keep copies of {names} "
                "for good, and never start anything from these directories"
            ),
        ),
    )


def _said_by(files: Files, done: Copy) -> tuple[Command, ...]:
    """Return the command that began the last epoch of `done`, by its audit file; empty without one."""
    log_dir, begun = done.place.log_dir, None if done.repair is None else int(done.repair.epoch)
    records = audits(files, work_root_of(log_dir)).records
    return next((((again(one, log_dir)),) for one in reversed(records) if one.facts.new_epoch == begun), ())


def undo_lines(known: RepairEvidence, copies: Iterable[Copy]) -> tuple[Command, ...]:
    """Return the commands that undo the last repairs of these copies, where that is possible."""
    return tuple(undo_line(copy.place.log_dir) for copy in copies if copy.place.log_dir in known.undoable)


def with_repair(known: RepairEvidence, done: Copy) -> list[Copy]:
    """Return all copies that would elect and have the repair of `done`; only `done` if no copy does."""
    return [copy for copy in known.copies if copy.repair == done.repair and elects(known, copy)] or [done]


def old_voters(known: RepairEvidence) -> list[Step]:
    """Return the step for controllers that a repair removed as voters: by their own files they would still elect."""
    half = unreached(known)
    if half is None:
        return []
    done, behind = half
    names = ", ".join(copy.label for copy in behind)
    lines = undo_lines(known, with_repair(known, done))
    return [
        step_of(
            text=f"Never start {names} from these directories: they hold the voters from before the repair of "
            f"{done.label}, and would elect by those"
            f"{'. If they are the ones that go on, undo that repair, and inspect all again' if lines else ''}",
            commands=lines,
        )
    ]
