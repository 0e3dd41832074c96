"""The words about a cut: why it is refused, what the voter forgets, and the steps afterwards.

Must not know: which records are cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.tools.words import offsets
from quorum.recovery.advice.commands import inspect_line, undo_line
from quorum.recovery.advice.standalone_command import alone_line
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.abandoned_branch import bounds_of
from quorum.recovery.evidence.conflicts import joined_end
from quorum.recovery.evidence.electable import elects_once_cut
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step, command, step_of
from quorum.recovery.journal.repair_facts import LostRecords


def why_not(known: RepairEvidence, own: Copy, parts: Sequence[LostRecords]) -> str:
    """Return the rest of the sentence "this would lose ...": why the cut is refused, and what to do."""
    was = next((part for part in parts if part.committed == "was"), None)
    if was is not None:
        return f". {_proven(known, own, was)}. {_instead(own, parts)}"
    open_end = ", and nothing proves that it was never committed"
    open_end += "".join(f". Not counted: {one}" for one in known.stale)
    if known.absent_voters:
        return f"{open_end}. Name more copies (--copy): a majority proves it; or say --accept-data-loss"
    return f"{open_end}; copies of all voters are named. Only where it is to be lost, say --accept-data-loss"


def _proven(known: RepairEvidence, own: Copy, was: LostRecords) -> str:
    holders = sorted(
        {
            int(copy.node_id)
            for copy in known.copies
            if copy.node_id is not None and known.is_voter(copy) and copy.end.offset >= was.end
            if copy is own or (joined_end(known.copies, own, copy) or 0) >= was.end
        }
    )
    is_one = was.end - was.start == 1
    are, them = ("is", "it") if is_one else ("are", "them")
    held = f"voters {', '.join(map(str, holders))} hold {them}; " if len(holders) > 1 else ""
    bounds = bounds_of(known.copies, known.bounds, own)
    return (
        f"{offsets(was.start, was.end).capitalize()} {are} committed ({held}all before {bounds.lower}: "
        f"{bounds.because}), no copy can change that, and cutting {them} would lose {them} here"
    )


def _instead(own: Copy, parts: Sequence[LostRecords]) -> str:
    never = parts[-1]
    if never.committed == "never":
        return (
            f"--to {never.start} cuts only what was never committed; only where {own.label} is to lose more, say "
            "--accept-data-loss"
        )
    return f"Leave the log of {own.label} as it is; only where it is to lose that, say --accept-data-loss"


def forgets(own: Copy, parts: Sequence[LostRecords]) -> str:
    """Return a warning about a voter whose log is cut without proof."""
    lost = [part for part in parts if part.committed != "never"]
    them = "it" if lost and lost[-1].end - lost[0].start == 1 else "them"
    what = offsets(lost[0].start, lost[-1].end) if lost else f"what it held past offset {own.end.offset}"
    return (
        f"{own.label} votes, and forgets {what}, which it may have acknowledged: with another voter that lacks {them} "
        f"it could elect a leader who cuts {them} on all others, too"
    )


def steps_of_a_voter(known: RepairEvidence, own: Copy, work_root: str | None) -> tuple[Step, ...]:
    """Return the steps after a voter has lost records that it had acknowledged."""
    log_dir, others = own.place.log_dir, [copy.place.log_dir for copy in known.copies if copy is not own]
    steps = [
        step_of(
            text=f"Do not start {own.label} yet: it must not elect a leader with a voter that lacks what it forgot, "
            "too. Check it first, together with all other directories that are left (name them, too)",
            commands=(command("kraft", "recover", "verify", log_dir, *others),),
        ),
        Step(
            text="If a majority of other voters holds what it forgot, start those first. Start this node only once one "
            "of them leads: it fetches what it lacks from the leader"
        ),
    ]
    names = ", ".join(map(str, known.absent_voters))
    if known.absent_voters and elects_once_cut(known, own):  # a repair of this voter alone is refused then
        text = f"If voters {names} are gone for good, inspect all that are left. That shows how they go on together"
        steps.append(step_of(text=text, commands=(inspect_line(known),)))
    elif known.absent_voters:
        steps.append(
            step_of(
                text=f"If voters {names} are gone for good, begin a new epoch that no old voter can outvote, with this "
                "one alone. If other voters are left, inspect all first (`kraft recover inspect`)",
                commands=(alone_line(known, own),),
            )
        )
    steps.append(
        step_of(
            text="If a better copy turns up, or this cut was a mistake, undo it before anything starts",
            commands=(undo_line(log_dir, work_root),),
        )
    )
    return tuple(steps)
