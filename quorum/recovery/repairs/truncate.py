"""Cut a log at an offset: a torn or damaged tail, or records that were never committed.

Decides: what proves that no committed record is lost, and what is lost otherwise. Must not know: how it is written.

A cut appends nothing and needs no new epoch: the node goes on as a follower from there, and keeps its vote.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.files.port import Files
from quorum.recovery.advice.commands import check_and_start, inspect_line
from quorum.recovery.advice.faults import fault_among, trim_line
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.advice.unable_to_follow import left_behind, set_aside, who_holds
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.abandoned_branch import bounds_of, judged_by
from quorum.recovery.evidence.conflicts import joined_end
from quorum.recovery.evidence.cut_parts import cut_parts
from quorum.recovery.evidence.electable import elects
from quorum.recovery.evidence.lost_records import shortfalls, superseded
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.guards.liveness import ProbeResult, silence
from quorum.recovery.guards.request import Proposal, Request, files_in, not_compared, refuse_unsafe, unlisted
from quorum.recovery.journal.changes import Rewrite
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_facts import LostRecords, ProvenCut, RepairFacts
from quorum.recovery.repairs.audit_facts import facts_of
from quorum.recovery.repairs.cut_advice import forgets, steps_of_a_voter, why_not
from quorum.recovery.repairs.new_log import cut_log
from quorum.recovery.repairs.targets import read_target


def propose_truncate(files: Files, target: str, copies: Sequence[str], to: int, request: Request) -> Proposal:
    """Cut the log of the directory `target` so that it ends at offset `to`.

    Raises:
        RefusedError: it is not safe. Nothing was changed.
        OSError: something cannot be read.
    """
    known, own = read_target(files, target, copies)
    _refuse_cutting_nothing(known, own, to)
    if to == 0:
        raise RefusedError(
            f"--to 0 would leave nothing of the log of {own.label}. Move its {METADATA_DIRECTORY} away, and let the "
            "node fetch the log again. If no controller has it, run `kraft recover inspect` on all copies"
        )
    kept = msgspec.structs.replace(
        read_copy(files, own.place, until=to, confirmed=own.confirmed, misnamed=own.prefix.misnamed),
        short=own.short,
        proof_of_more=own.proof_of_more,
        kept_committed=own.kept_committed,
        kept_id=own.kept_id,
    )
    if kept.state is None:
        raise RefusedError(
            f"{own.label} cannot be cut at {to}: "
            f"{kept.prefix.problem or 'neither a checkpoint nor the beginning of the log is left'}. Let the "
            "node fetch the log again instead"
        )
    asked = refuse_unsafe(known, request, is_one_nodes=True)
    parts = cut_parts(files, known, own, to)
    proof = _proof(files, known, own, to, parts)
    if proof is None and not request.accept_data_loss:
        raise RefusedError(f"this would lose {_said(known, own, parts)}{why_not(known, own, parts)}")
    if proof is not None:
        parts = tuple(msgspec.structs.replace(part, committed="never") for part in parts)
    return _proposal(files, known, own, kept, parts, proof, asked, request)


def _refuse_cutting_nothing(known: RepairEvidence, own: Copy, to: int) -> None:
    """Raise RefusedError if nothing would be cut. Never advise to start a node that does not start."""
    end = int(own.end.offset)
    is_cut_there = own.stop is not None or own.short is not None
    if to < end or (to == end and is_cut_there):
        return
    if to == end and own.passed_over is not None:
        raise RefusedError(
            f"{own.label} is damaged at its beginning, in what its checkpoint holds, and its end is sound: "
            f"{trim_line(own)}"
        )
    beyond = "its valid prefix ends" if own.stop is not None else "it ends"
    give = f"give at most {end}" if is_cut_there else "give an offset before that"
    fault = fault_among(known, own)
    other = "leave the log as it is and start the node"
    if fault is not None:
        other = f"see what {inspect_line(known)} recommends. Do not start the node as it is: {fault}"
    elif not known.is_authoritative(own) and known.is_voter(own):
        other = f"see what {inspect_line(known)} recommends, before the node starts"
    raise (AlreadyDoneError if to == end else RefusedError)(
        f"{own.label}: {beyond} at offset {end} already, so --to {to} cuts nothing: {give}, or {other}"
    )


def _said(known: RepairEvidence, own: Copy, parts: Sequence[LostRecords]) -> str:
    """Return a phrase for what may be lost."""
    said = list(map(str, parts))
    said += [] if own.stop is None else [f"all after {own.stop}"]
    said += [] if own.short is None else [f"the proof that more was there: {own.proof_of_more}"]
    holders = [copy.label for copy in known.copies if copy is not own and _goes_on(known, own, copy)]
    return "; ".join([*said, *([f"{', '.join(holders)} went on from there"] if holders else [])])


def _goes_on(known: RepairEvidence, own: Copy, copy: Copy) -> bool:
    """Return True if `copy` has the whole valid prefix of `own`, and more."""
    return copy.end.offset > own.end.offset and joined_end(known.copies, own, copy) == own.end.offset


def _proof(files: Files, known: RepairEvidence, own: Copy, to: int, parts: Sequence[LostRecords]) -> ProvenCut | None:
    """Return the proof that the cut loses no committed record, or None."""
    end = max(own.proved_end, int(own.end.offset))
    if not parts:
        held = _held_elsewhere(known, own, to)
        if held is not None:
            return held
        is_torn = own.stop is not None and own.stop.is_torn and own.short is None
        # If another copy goes on from there, it may hold the torn batch whole: the write may have been acknowledged.
        if is_torn and not any(_goes_on(known, own, copy) for copy in known.copies):
            return ProvenCut(reason="unfinished", start=to, end=end)
    upper = bounds_of(known.copies, known.bounds, own).upper
    if upper is not None and upper <= to:
        return ProvenCut(reason="minority", start=to, end=end, epoch=known.greatest_epoch, fork=upper)
    if not parts or own.short is not None or own.proved_end > own.end.offset:
        return None
    for copy in known.copies:
        start = joined_end(known.copies, own, copy)
        if start is None or start > to or copy.end.offset <= start:
            continue
        if superseded(files, known, copy, own, start) == "never":
            return ProvenCut(
                reason="superseded",
                start=to,
                end=end,
                epoch=int(own.end.epoch),
                log=copy.label,
                fork=int(start),
                later_epoch=int(copy.epoch_at(start)),
            )
    return None


def _held_elsewhere(known: RepairEvidence, own: Copy, to: int) -> ProvenCut | None:
    """Return the proof that a majority without this node holds its log's historical extent and its unfinished write."""
    reach = max(own.proved_end, int(own.end.offset) + 1)
    holders = [
        copy
        for copy in known.copies
        if copy.node_id is not None and copy.node_id != own.node_id and known.is_authoritative(copy)
        if copy.stop is None and copy.end.offset >= reach and _goes_on(known, own, copy)
    ]
    if not known.has_majority(holders):
        return None
    names = tuple(sorted({int(copy.node_id) for copy in holders if copy.node_id is not None}))
    epoch = max(int(copy.epoch_at(reach - 1)) for copy in holders)
    return ProvenCut(reason="held", start=to, end=reach, epoch=epoch, voters=names)


def _proposal(
    files: Files,
    known: RepairEvidence,
    own: Copy,
    kept: Copy,
    parts: Sequence[LostRecords],
    proof: ProvenCut | None,
    asked: Sequence[ProbeResult],
    request: Request,
) -> Proposal:
    to = int(kept.end.offset)
    log_dir = own.place.log_dir
    present = files_in(files, log_dir)
    proven = () if proof is not None else tuple(one for one in shortfalls(known) if one.label == own.label)
    losses = (*parts, *proven)
    is_forgetful = proof is None and (elects(known, own) or not known.voters)
    rewrite = Rewrite(
        action="truncate",
        log_dir=log_dir,
        changes=cut_log(kept, present),
        facts=_with_proof(facts_of(known, kept, lost=losses, asked=asked), proof),
    )
    accepted = "was committed" if _was_committed(known, own, to, losses) else "may have been committed"
    warnings = [] if proof is not None else [f"what is cut {accepted}: that was accepted", who_holds(to)]
    warnings += [forgets(own, parts)] if is_forgetful else []
    left = left_behind(known, kept, adds_voters=False)
    if left:
        warnings.append(f"{'; '.join(map(str, left))}: where a repair makes this log the quorum's, they cannot follow")
    return Proposal(
        action="truncate",
        rewrites=(rewrite,),
        says=(
            _found(own),
            f"changes: it ends at offset {to} then, in epoch {kept.end.epoch}, and all after that is cut"
            f"{_and_before(kept)}",
            *(() if proof is None else (f"proof: {proof}",)),
        ),
        keeps=f"everything up to offset {to} of epoch {kept.end.epoch}, and the node's vote: no new epoch begins",
        loses=losses,
        warnings=(*warnings, *silence(asked), *unlisted(known), *not_compared(known, own), *not_checked(known.copies)),
        asked=tuple(asked),
        steps=(
            *(
                steps_of_a_voter(known, own, request.work_root)
                if is_forgetful
                else check_and_start(known, own, "Start the node: it fetches what it lacks from the leader")
            ),
            *(_if_it_leads(step) for step in set_aside(left)),
        ),
    )


def _with_proof(facts: RepairFacts, proof: ProvenCut | None) -> RepairFacts:
    return facts if proof is None else msgspec.structs.replace(facts, proof=str(proof), proven=proof)


def _was_committed(known: RepairEvidence, own: Copy, to: int, losses: Sequence[LostRecords]) -> bool:
    """Return True if any of the cut records is proven committed, or any that the damage behind the cut destroyed."""
    bounds = bounds_of(known.copies, known.bounds, own)
    is_gone = own.proved_end > to and judged_by(bounds, to, own.proved_end) == "was"
    return is_gone or any(one.committed == "was" for one in losses)


def _found(own: Copy) -> str:
    """Return a phrase for the state of the log before the cut."""
    stops = filter(None, (own.passed_over, own.stop))
    wrong = [f"it was damaged at {stop}" for stop in stops]
    wrong += [] if own.proof_of_more is None else [own.proof_of_more]
    return "; ".join(
        [f"found: the log of {own.label} ends at offset {own.end.offset} of epoch {own.end.epoch}", *wrong]
    )


def _and_before(kept: Copy) -> str:
    """Return the end of a sentence about a damaged beginning that is dropped without loss, or nothing."""
    if kept.passed_over is None:
        return ""
    return f"; so is the log before offset {kept.start_offset}, which {kept.passed_over.held_by} holds"


def _if_it_leads(step: Step) -> Step:
    return msgspec.structs.replace(step, text=f"Only where a repair makes this log the quorum's: {step.text}")
