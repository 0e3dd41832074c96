"""Logs with a record that cannot be replayed, or that no controller writes: a cut before the record keeps the rest.

Decides: which logs are cut, and where. Must not know: other ways out, and how a log is cut.
"""

from __future__ import annotations

from metadata_log.files.port import Files
from quorum.recovery.advice.commands import cut_line, inspect_line
from quorum.recovery.advice.lent_checkpoint import lender
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.cut_parts import cut_parts
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step, step_of


def cut_at(known: RepairEvidence, copy: Copy) -> int | None:
    """Return the offset before such a record, if a cut there makes the log usable; or None."""
    to, place = copy.prefix.unplayed, copy.place
    if to is None and copy.impossible is not None:
        to = copy.impossible.batch
    if not to or place.manifest is not None or place.identity is None or lender(known, copy) is not None:
        return None
    return to


def or_cut(known: RepairEvidence, copy: Copy, why: str | None) -> str | None:
    """Return why a copy cannot be used, with the cut that would change that."""
    to = cut_at(known, copy)
    if why is None or to is None:
        return why
    return f"{why}. Cut there, all before can be kept: kraft recover truncate --to {to}"


def cut_unplayed(files: Files, known: RepairEvidence, fit: list[Copy], least: tuple[int, int] | None) -> list[Step]:
    """Return the steps that cut voters' logs before such a record, if nothing that is here keeps more.

    Args:
        fit: the voters' copies that could start as they are.
        least: last epoch and end of the best copy that a repair can keep without a cut; None without one.
    """
    cut = {copy.label: to for copy in known.copies if known.is_voter(copy) and (to := cut_at(known, copy)) is not None}
    copies = [copy for copy in known.copies if copy.label in cut]
    if not copies:
        return []
    kept = max(_rank_before(copy, cut[copy.label]) for copy in copies)
    most = [copy for copy in copies if _rank_before(copy, cut[copy.label]) == kept]
    if known.has_majority([*fit, *most]):
        copies = most  # a log that keeps less is fetched from these
    elects = known.has_majority([*fit, *copies])
    if least is not None and (kept < least or (kept == least and not elects)):
        return []
    steps = [_cut(files, known, copy, cut[copy.label]) for copy in copies]
    text = "Then inspect all again"
    text += ": after these cuts a majority of the voters is here" if elects else ""
    return [*steps, step_of(text=text, commands=(inspect_line(known),))]


def _rank_before(copy: Copy, to: int) -> tuple[int, int]:
    epoch = copy.epoch_at(to - 1)
    origin = copy.origin
    if epoch < 0 and origin is not None:
        epoch = int(origin.end.epoch)
    return epoch, to


def _cut(files: Files, known: RepairEvidence, copy: Copy, to: int) -> Step:
    parts = cut_parts(files, known, copy, to)
    is_proven = copy.short is None and all(one.committed == "never" for one in parts)
    line = cut_line(known, copy, to)
    line = line if is_proven else line.and_words("--accept-data-loss")
    starts = "No node starts" if copy.impossible is None else "Start nothing"
    problem = copy.prefix.problem if copy.impossible is None else copy.impossible.found.meaning
    return step_of(
        text=f"{starts} from {copy.label}: {problem}. Keep a copy of the directory, and cut the log "
        f"before that record; first without --apply. Only this is lost: {'; '.join(map(str, parts))}",
        commands=(line, line.and_words("--apply")),
    )
