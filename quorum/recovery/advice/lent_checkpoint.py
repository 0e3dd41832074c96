"""A log whose own checkpoint is damaged, and that can go on from another copy's intact one.

Decides: whose checkpoint fits, and the commands that copy it. Must not know: other ways out.

A checkpoint holds only committed records (KIP-630). If the log has a record of the checkpoint's epoch just before its
end, both are the same up to there (log matching, Raft 5.3). The log then goes on from it as from its own.
"""

from __future__ import annotations

from metadata_log.tools.prefix.prefix_parts import CheckpointFile
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.journal.next_steps import Step, command, step_of


def lender(known: RepairEvidence, copy: Copy) -> tuple[Copy, CheckpointFile] | None:
    """Return the copy with the newest checkpoint that `copy` can go on from; None if it needs none, or none fits."""
    if copy.state is not None or copy.held_more or copy.place.manifest is not None:
        return None
    found = [
        (other, other.origin)
        for other in known.copies
        if other is not copy and other.origin is not None and other.place.manifest is None
        if shows_one_log(copy, other) and _goes_on_from(copy, other.origin)
    ]
    return max(found, key=lambda one: int(one[1].end.offset), default=None)


def _goes_on_from(copy: Copy, checkpoint: CheckpointFile) -> bool:
    end, unplayed = int(checkpoint.end.offset), copy.prefix.unplayed
    if unplayed is not None and end <= unplayed:
        return False  # replay from there fails at the same record
    return copy.start_offset < end <= copy.end.offset and copy.epoch_at(end - 1) == checkpoint.end.epoch


def or_lent(known: RepairEvidence, copy: Copy, why: str | None) -> str | None:
    """Return why a copy cannot be used, with the checkpoint of another copy that would change that."""
    found = lender(known, copy)
    if why is None or found is None:
        return why
    return f"{why}. It goes on from {found[1].name} of {found[0].label}: brought over, all of this log can be kept"


def borrow(known: RepairEvidence, copy: Copy, least: tuple[int, int]) -> list[Step]:
    """Return the steps that give `copy` such a checkpoint, if its log is ahead of `least` (last epoch and end)."""
    found = lender(known, copy)
    if found is None or copy.rank <= least:
        return []
    other, checkpoint = found
    aside = f"{copy.place.log_dir}.damaged-checkpoints"
    damaged = [f"{copy.place.metadata}/{one.name}" for one in copy.prefix.checkpoints if one.problem is not None]
    moves = (command("mkdir", "-p", aside), command("mv", *damaged, aside)) if damaged else ()
    bring = command("cp", "-p", f"{other.place.metadata}/{checkpoint.name}", f"{copy.place.metadata}/")
    again = command("kraft", "recover", "inspect", *(one.place.log_dir for one in known.copies))
    return [
        step_of(
            text=f"The log of {copy.label} is intact up to offset {copy.end.offset} of epoch {copy.end.epoch}, and "
            f"only lacks an intact checkpoint. The log continues from that of {other.label}, {checkpoint.name}: copy "
            f"it over, with the owner of the files there. Start nothing from {copy.label} before it is repaired",
            commands=(*moves, bring),
        ),
        step_of(text="Then inspect all again: that log is then kept whole", commands=(again,)),
    ]
