"""The steps that lead to a repair: the search for other copies, the fencing, and the repair's own commands.

Decides: their words and their order. Must not know: which repair is best, and how it is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.voters import majority_of
from quorum.recovery.advice.clones import clone_of, fence_of_clone
from quorum.recovery.advice.commands import (
    absent_words,
    asked_words,
    check_result,
    copy_words,
    cut_line,
    inspect_line,
    is_ours,
    new_controller_words,
    start_line,
    vote_words,
)
from quorum.recovery.advice.standalone_command import alone_line
from quorum.recovery.advice.unable_to_follow import left_behind, set_aside
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.electable import elects_once_cut
from quorum.recovery.evidence.other_disks import absent_voters
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Command, Step, command, step_of
from quorum.recovery.journal.repair_facts import LostRecords


def before_repair(known: RepairEvidence, fit: Sequence[Copy], *, asks_brokers: bool) -> list[Step]:
    """Return the steps before any repair. `fit`: voters' copies that could start as they are."""
    clone = clone_of(known)
    bring = Step(text="Bring a copy of every broker's metadata log here, and name it too: it may be the longest")
    brought = [bring] if asks_brokers else []
    if clone is not None:
        return [fence_of_clone(known, clone), *brought]
    fence = Step(
        text="Make sure that no other controller of this cluster runs or can come back: an old majority that was only "
        "cut off would go on by itself. Power it off, or block its ports"
    )
    return [*_look_for(known, fit), fence, *brought]


def _look_for(known: RepairEvidence, fit: Sequence[Copy]) -> list[Step]:
    """Return the step for voters without a copy here. They may be alive, and then no repair is needed."""
    absent = absent_voters(known)
    if not absent:
        return []
    many, names = len(absent) > 1, _and(absent)
    ids = sorted({int(copy.node_id) for copy in fit if copy.node_id is not None})
    text = f"Voter{'s' if many else ''} {names} {'are' if many else 'is'} not here. Where "
    text += "their disks live, name their directories" if many else "its disk lives, name its directory"
    text += f" or {'copies' if many else 'a copy'} too"
    if ids and len({*ids, *absent}) >= majority_of(len(known.voters)):
        node = f"node{'s' if len(ids) > 1 else ''} {_and(ids)}"
        text += f", or just start {node} beside {'them' if many else 'it'}: nothing is lost so"
    return [Step(text=f"{text}. Go on here only if {'they are' if many else 'it is'} gone for good")]


def _and(ids: Sequence[int]) -> str:
    return " and ".join(filter(None, (", ".join(map(str, ids[:-1])), str(ids[-1]))))


def _cut_first(known: RepairEvidence, chosen: Copy) -> list[Step]:
    """Return the step that drops damage in the middle of the log: every repair refuses to skip it silently."""
    if not chosen.is_damaged:
        return []
    line = cut_line(known, chosen).and_words("--accept-data-loss")
    return [
        step_of(
            text=f"The log of {chosen.label} is damaged, and what comes after that goes: keep a copy of the directory, "
            "and drop it; first without --apply",
            commands=(line, line.and_words("--apply")),
        )
    ]


def steps_for(known: RepairEvidence, chosen: Copy, loses: Sequence[LostRecords]) -> list[Step]:
    """Return the steps of the repair that goes on from `chosen`. `loses`: the records known to be lost by it."""
    cut = _cut_first(known, chosen)
    if cut and elects_once_cut(known, chosen):
        text = "Then inspect all again: with that log cut, a majority of the voters is here, and can start as it is"
        return [*cut, step_of(text=text, commands=(inspect_line(known),))]
    lost = [one for one in loses if one.committed != "never" and not (cut and one.label == chosen.label)]
    accepted = ("--accept-data-loss",) if lost else ()
    target = chosen.place.log_dir if known.is_voter(chosen) else "NEW_DATA_DIR"
    line = alone_line(known, chosen, *accepted) if known.is_voter(chosen) else _new_line(known, chosen, *accepted)
    loss = "; it loses what is said above, so look for more copies before" if lost else ""
    return [
        *cut,
        step_of(text=f"See what it would do; nothing is changed{loss}", commands=(line,)),
        step_of(text="Do it: it backs up first, and says how to undo it", commands=(line.and_words("--apply"),)),
        check_result([target]),
        *set_aside(left_behind(known, chosen)),
        step_of(
            text="Start it, then follow what the command printed for the other controllers",
            commands=(start_line(ours=is_ours(known.best_with_metadata.voters)),),
        ),
    ]


def _new_line(known: RepairEvidence, chosen: Copy, *more: str) -> Command:
    words = (
        *copy_words(known, [chosen]),
        *new_controller_words(known),
        *absent_words(known),
        *asked_words(known),
        *vote_words(known),
        *more,
    )
    return command("kraft", "recover", "from-broker", "--broker-dir", chosen.place.log_dir, *words)


def controllers_named(sound: list[Copy]) -> str:
    """Return the ids of these controllers after the word "controller" or "controllers"."""
    return f"controller{'s' if len(sound) > 1 else ''} {', '.join(str(copy.node_id) for copy in sound)}"


def start_as_they_are(sound: list[Copy], *, waits: bool) -> str:
    """Return the sentence to start these controllers. `waits`: another step comes first."""
    alone = len(sound) == 1
    start = f"{'Then start' if waits else 'Start'} {controllers_named(sound)}"
    start += "" if waits else " as it is" if alone else " as they are"
    start += ": it leads by itself" if alone else ": they elect a leader by themselves"
    if any(copy.why_older is not None for copy in sound):
        start += ". Apache Kafka up to 3.9 does so; this software's controllers refuse the log"
    return start
