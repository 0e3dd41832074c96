"""Faults that keep a node from starting from a copy, and the repairs of that node alone that lose nothing.

Decides: which faults the node, a removed file or one command cures. Must not know: the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.counts import counted
from metadata_log.directory import META_PROPERTIES_FILE, PARTITION_METADATA_FILE, QUORUM_STATE_FILE
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.tools.findings.advice import NOT_NEEDED
from metadata_log.tools.verify.sidecar_files import strange_static_voters
from metadata_log.voters import majority_of
from quorum.recovery.advice.commands import cut_line
from quorum.recovery.advice.newer_release import who_votes
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.sidecar_files import Unread
from quorum.recovery.evidence.other_disks import not_here, of_other_nodes
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Command, Step, command, step_of


def fault_of(copy: Copy) -> str | None:
    """Return why a node does not start from this copy as it is, or not without loss; None if it does."""
    if copy.place.manifest is not None:
        return "it is an export, which no node starts from" + (f"; {copy.stop}" if copy.stop is not None else "")
    if copy.place.identity is None:
        return copy.place.complaint
    if copy.is_damaged:
        return f"it is damaged: {copy.stop}" + (f"; {copy.short}" if copy.short is not None else "")
    own = [found for found in copy.unread if not found.is_newer]  # a node of that release starts with them
    strange = next((f"{found.path}: {found.why}" for found in own if not (found.is_vote or found.is_epochs)), None)
    is_vote_newer = any(found.is_newer and found.is_vote for found in copy.unread)
    wrong = strange or copy.short or copy.prefix.problem or (None if is_vote_newer else copy.quorum_problem)
    if wrong is not None:
        return wrong
    return next(_small_faults(copy), None)


def fault_among(known: RepairEvidence, copy: Copy) -> str | None:
    """Return the same, with what the other copies prove: whose directory it is, and that a lost end was committed."""
    foreign = next((one for one in of_other_nodes(known) if one.copy is copy), None)
    if foreign is not None:
        return f"{META_PROPERTIES_FILE}: {foreign.facts.meaning()}"
    judged = msgspec.structs.replace(copy, short=None if end_note(known, copy) else _judged_end(known, copy))
    return fault_of(judged)


def rename_first(known: RepairEvidence) -> list[Step]:
    """Return the steps for misnamed checkpoints, as `kraft check` advises."""
    return [
        Step(
            text=f"Start nothing from {copy.label} as it is: it would go on from a wrong offset. Give "
            f"{' and '.join(copy.prefix.misnamed)} back {_own_names(copy)}, and inspect all again",
        )
        if copy.state is None
        else step_of(
            text=f"Do not start {copy.label} as it is: it would go on from a wrong offset. Its log has all without "
            f"{' and '.join(copy.prefix.misnamed)}: take that away first",
            commands=(drop_line(copy),),
        )
        for copy in known.copies
        if copy.prefix.misnamed
        and copy.place.manifest is None
        and (
            copy.state is None
            or (copy.prefix.checkpoints[0].is_misnamed and not (known.is_voter(copy) and mends(copy)))
        )
    ]


def _own_names(copy: Copy) -> str:
    return "their own names, if these are known" if len(copy.prefix.misnamed) > 1 else "its own name, if that is known"


def _begins_misnamed(known: RepairEvidence, copy: Copy) -> bool:
    """Return True if the newest checkpoint is misnamed, and no repair of the node's own takes it away."""
    return copy.prefix.checkpoints[0].is_misnamed and not (known.is_voter(copy) and mends(copy))


def end_note(known: RepairEvidence, copy: Copy) -> str | None:
    """Return the proof that the log once reached further, if nothing proves the missing records committed; or None."""
    return copy.short if copy.is_end_unproven and copy.end.offset >= known.bounds.lower else None


def note_of(known: RepairEvidence, copy: Copy) -> str | None:
    """Return `end_note`, or the fault of the static voters in quorum-state, or None."""
    state, note = copy.quorum_state, end_note(known, copy)
    strange = None if note is not None or state is None else strange_static_voters(state)
    return note if strange is None else f"{QUORUM_STATE_FILE}: {strange}"


def _judged_end(known: RepairEvidence, copy: Copy) -> str | None:
    if copy.short is None or not copy.is_end_unproven:
        return copy.short
    return f"{copy.proof_of_more}; all before offset {known.bounds.lower} was committed ({known.bounds.because})"


def _small_faults(copy: Copy) -> Iterator[str]:
    """Yield the faults that the node's own repairs cure."""
    if copy.prefix.checkpoints and copy.prefix.checkpoints[0].problem is not None:
        newest = copy.prefix.checkpoints[0]
        yield f"its newest checkpoint is damaged: {newest.problem}"
    if copy.passed_over is not None:
        yield (
            f"the beginning of its log is damaged: {copy.passed_over}; {copy.passed_over.held_by} holds everything "
            f"before offset {copy.start_offset}, and the log is intact from there on"
        )
    yield from (f"{found.path}: {found.why}" for found in unread_epochs(copy))


def lasting_fault(copy: Copy) -> str | None:
    """Return the fault that remains after the node's own repairs, with removed files replaced and epochs rebuilt."""
    epochs = unread_epochs(copy)
    lasting = tuple(found for found in copy.unread if not found.is_made_anew and found not in epochs)
    whole = tuple(found for found in copy.prefix.checkpoints if found.problem is None)
    prefix = msgspec.structs.replace(copy.prefix, checkpoints=whole, passed_over=None)
    return fault_of(msgspec.structs.replace(copy, unread=lasting, prefix=prefix))


def mends(copy: Copy) -> tuple[Command, ...]:
    """Return the commands that cure all that keeps the node from starting, without loss; empty if none do."""
    if lasting_fault(copy) is not None:
        return ()
    found = []
    newest = next(iter(copy.prefix.checkpoints), None)
    moved = {one.path for one in copy.unread if one.is_in_the_way}  # `move_away` has a step for each
    if newest is not None and newest.problem is not None and f"{copy.place.metadata}/{newest.name}" not in moved:
        found.append(drop_line(copy))
    if copy.passed_over is not None:
        found.append(trim_line(copy).and_words("--apply"))
    return tuple(found)


def drop_line(copy: Copy) -> Command:
    """Return the command that removes damaged checkpoints."""
    return _line(copy, "drop-snapshot").and_words("--apply")


def trim_line(copy: Copy) -> Command:
    """Return the command, without --apply, that drops the damaged beginning of a log."""
    return _line(copy, "truncate", "--before", copy.start_offset)


def _line(copy: Copy, name: str, *words: object) -> Command:
    return command("kraft", "recover", name, "--dir", copy.place.log_dir, *words, "--missing", "rest")


def mend_first(copies: Sequence[Copy]) -> list[Step]:
    """Return the repairs before any start: once a leader runs, every offline repair of a voter is refused."""
    return [
        step_of(
            text=f"{copy.label} does not start: {fault_of(copy)}. Before any controller starts, since this is refused "
            "once a leader answers",
            commands=lines,
        )
        for copy in copies
        if (lines := mends(copy))
    ]


def unread_epochs(copy: Copy) -> tuple[Unread, ...]:
    """Return the epoch histories that cannot be used, without those of newer software: these are never overwritten."""
    return tuple(one for one in copy.unread if one.is_epochs and not one.is_newer)


def rebuild_epochs(known: RepairEvidence, copies: Iterable[Copy]) -> list[Step]:
    """Return the steps that rebuild the epoch history of these copies from their logs, without loss."""
    return [
        step
        for copy in copies
        if copy.place.identity is not None and copy.place.manifest is None
        for found in unread_epochs(copy)
        for step in _rebuild(known, copy, found)
    ]


def _rebuild(known: RepairEvidence, copy: Copy, found: Unread) -> Iterator[Step]:
    start, aside = f"{copy.label} does not start: {found.path}: {found.why}", aside_lines(copy, found)
    if found.allows_start:
        start = f"Do not start {copy.label} as it is: {found.path}: {found.why}"
    if not copy.held_more and copy.passed_over is None:
        held = "all epochs" if found.allows_start else "the same epochs"
        yield step_of(
            text=f"{start}. Its log holds {held}, so nothing is lost: rebuild {EPOCH_FILE} from the log first",
            commands=(*aside, _epochs_line(known, copy)),
        )
    elif aside:
        yield step_of(text=f"{start}. The repair of its log writes it again: move it away first", commands=aside)


def aside_lines(copy: Copy, found: Unread) -> tuple[Command, ...]:
    """Return the command that moves a sidecar file away which no repair can back up; empty for a readable one."""
    name = found.path.rpartition("/")[2]
    return (command("mv", found.path, f"{copy.place.log_dir}.damaged-{name}"),) if found.is_unreadable else ()


def _epochs_line(known: RepairEvidence, copy: Copy) -> Command:
    """Return the command that rebuilds the epoch history. If a torn write must be cut, the cut rebuilds it, too."""
    if copy.stop is not None:
        return cut_line(known, copy).and_words("--apply")
    return command("kraft", "recover", "rebuild-indexes", "--dir", copy.place.log_dir, "--apply")


def no_majority(known: RepairEvidence) -> str:
    """Return the sentence that no majority of the voters is here and intact."""
    if not known.voters:
        return f"No majority of the voters is known to be here and sound: {who_votes(known)}."
    latest, *before = (len(voters) for voters in known.in_force.sets)
    needed = f"of {counted(latest, 'voter')} {_are(majority_of(latest))} needed"
    needed += "".join(f", and {majority_of(size)} of the {size} before" for size in before)
    return f"No majority of the voters is here and sound: {needed}{unsound(known)}{absent(known)}."


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def absent(known: RepairEvidence) -> str:
    """Return a phrase for the voters that are not here; empty if all are."""
    gone = not_here(known)
    return f"; not here: {', '.join(gone)}" if gone else ""


def unsound(known: RepairEvidence) -> str:
    """Return a phrase for the voters' copies that have a fault; empty if none has."""
    found = [copy.label for copy in known.copies if known.is_voter(copy) and lasting_fault(copy) is not None]
    return f"; not sound: {', '.join(found)}" if found else ""


def move_away(copies: Iterable[Copy]) -> list[Step]:
    """Return the steps for files that keep nodes from starting and whose removal loses nothing."""
    return [_move_one(copy, found) for copy in copies for found in copy.unread if found.is_made_anew]


def _move_one(copy: Copy, found: Unread) -> Step:
    start, log_dir = f"{copy.label} does not start as it should: {found.path}: {found.why}", copy.place.log_dir
    if found.is_in_the_way:
        name = found.path.rpartition("/")[2]
        return step_of(
            text=f"{start}. The node needs nothing from it: {NOT_NEEDED}",
            commands=(command("mv", found.path, f"{log_dir}.strange-{name}"),),
        )
    start = f"{copy.label} does not start: {found.path}: {found.why}"
    return step_of(
        text=f"{start}. Its log and its vote are intact: restore that one file from a backup of that directory, or "
        "move it away, and the node writes a new one",
        commands=(command("mv", found.path, f"{log_dir}.damaged-{PARTITION_METADATA_FILE}"),),
    )
