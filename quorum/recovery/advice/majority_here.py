"""The plan while a majority of the voters is here and sound: they start, and the others follow them.

Decides: which voters' copies are sound, and what they lack. Must not know: repairs that begin a new epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

from quorum.recovery.advice.clones import clone_of, clone_remark
from quorum.recovery.advice.discarded_records import danger, endangered, left_behind_here, not_whole
from quorum.recovery.advice.faults import end_note, fault_among, fault_of, lasting_fault, mend_first, move_away
from quorum.recovery.advice.moved_addresses import moved_addresses
from quorum.recovery.advice.obstacles import old_voters, outvoted
from quorum.recovery.advice.possible_repairs import Plan, Repair
from quorum.recovery.advice.repair_steps import controllers_named, start_as_they_are
from quorum.recovery.advice.stale_replicas import kept_out, outcome_of_majority, stale_remark
from quorum.recovery.advice.unable_to_follow import left_behind, set_aside
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.abandoned_branch import is_past_repair
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.journal.next_steps import Step


def sound_voters(known: RepairEvidence) -> list[Copy]:
    """Return those of the voters' copies that are authoritative."""
    return [copy for copy in whole_voters(known) if known.is_authoritative(copy)]


def whole_voters(known: RepairEvidence) -> list[Copy]:
    """Return the voters' copies of the best log from which a node starts, at once or after its own repair."""
    whole = [copy for copy in known.copies if known.is_voter(copy) and lasting_fault(copy) is None]
    return [copy for copy in whole if shows_one_log(whole[0], copy)]


def lacking(known: RepairEvidence, voters: Sequence[Copy]) -> str | None:
    """Return why these voters could elect a leader that lacks committed records, or None."""
    risky = endangered(known)
    if risky:
        return f"{danger(known, risky)}."
    best = max(voters, key=lambda copy: copy.rank)
    end = max(int(copy.end.offset) for copy in voters)
    if end >= known.bounds_left.lower:
        return None  # what is beyond was an accepted loss
    holders = [copy for copy in known.copies if copy.end.offset > end]
    if is_past_repair(best, holders):
        return None  # a repair discarded them, with notice
    names = ", ".join(str(copy.node_id) for copy in voters)
    return (
        f"A majority of the voters is here ({names}), but their logs end at offset {end}, and all before "
        f"{known.bounds_left.lower} was committed ({known.bounds_left.because}). These voters were restored from older "
        "copies, or copied before the others. If they start as they are, the committed records are lost."
    )


_NOTHING_YET = (
    "All their logs are empty. If started, these controllers begin a new cluster. If this cluster has run before, do "
    "not start them: find the directories that hold its metadata."
)


def majority_here(known: RepairEvidence, sound: list[Copy], repairs: tuple[Repair, ...]) -> Plan:
    """Return the plan with which `sound`, a majority of the voters, starts."""
    count = f"{len(sound)} of {len(known.voters)}: {controllers_named(sound)}"
    situation = f"A majority of the voters is here and sound ({count})"
    best = max(sound, key=lambda copy: copy.rank)
    loses = [one for repair in repairs if repair.on == best.label for one in repair.lost]
    lost = (*not_whole(known), *left_behind_here(known, loses))
    if lost:
        situation += f". But metadata is lost, or may be: {'; '.join(lost)}."
    else:
        situation += f": {outcome_of_majority(known)}" if best.end.offset > 0 else f". {_NOTHING_YET}"
    situation += stale_remark(known) + clone_remark(known)
    faulty = [copy for copy in known.copies if known.is_authoritative(copy) and lasting_fault(copy) is not None]
    as_they_are = [copy for copy in sound if fault_of(copy) is None]
    steps = [*old_voters(known), *set_aside(left_behind(known, best, adds_voters=False)), *mend_first(sound)]
    steps += move_away(sound)
    move, is_clone = moved_addresses(known, sound, loses), clone_of(known) is not None
    waits = len(as_they_are) < len(sound) or (is_clone and bool(move))
    steps += move if is_clone else []
    steps.append(Step(text=start_as_they_are(sound, waits=waits)))
    steps += [*kept_out(known, leads=True), *(_replace(known, copy) for copy in faulty)]
    steps += [
        Step(
            text=f"{copy.label} contradicts the voters, which agree: never start it from that log again. Move the log "
            "away, and let the node fetch it again"
        )
        for copy in outvoted(known)
    ]
    steps += [] if is_clone else move
    return Plan(is_whole=known.has_majority(as_they_are), situation=situation, repairs=repairs, steps=tuple(steps))


def _replace(known: RepairEvidence, copy: Copy) -> Step:
    """Return the step for a damaged voter beside an intact majority: with a false epoch it might be elected."""
    note = end_note(known, copy)
    if note is not None and fault_among(known, copy) is None:
        return Step(text=f"Start {copy.label} only once the others lead, and it fetches the rest: {note}")
    is_false = copy.stop is not None and copy.stop.false_epoch is not None
    what = f"Never start {copy.label}" if is_false else f"Do not start {copy.label}"
    why = fault_among(known, copy)
    return Step(
        text=f"{what}: {why}. Once the others have a leader, remove it from the voters, format its directory again, "
        "let it fetch the log, and add it again"
    )
