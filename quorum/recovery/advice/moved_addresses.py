"""The step that writes new addresses into the voters' logs, for a cluster whose hosts have moved.

Must not know: how they are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from metadata_log.voters import GRPC_LISTENER
from quorum.recovery.advice.clones import moved_clone
from quorum.recovery.advice.commands import ACCEPT_LOST_VOTE, absent_words, copy_words, named, vote_words
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step, command, step_of
from quorum.recovery.journal.repair_facts import LostRecords


def moved_addresses(known: RepairEvidence, sound: list[Copy], loses: Sequence[LostRecords]) -> list[Step]:
    """Return the step for new addresses. A voter that stays needs its directory here: its old log has the old ones.

    `loses`: the records that copies here hold and these voters do not.
    """
    voters = known.best_with_metadata.voters
    if voters is None or known.best_with_metadata.newer_voters is not None:
        return []
    if known.undecided is not None:  # no set of voters to write is certain before a leader has ended that change
        return []
    targets = [word for copy in sound for word in ("--dir", copy.place.log_dir)]
    present = {copy.node_id for copy in sound}
    sets = [
        word
        for voter in voters
        if voter.key.node_id in present
        for word in (
            "--set",
            f"{voter.key.node_id}@HOST:PORT" + ("/GRPC-PORT" if voter.endpoint(GRPC_LISTENER) else ""),
        )
    ]
    is_loss = any(one.committed != "never" for one in loses)
    accepted = ("--accept-data-loss",) if is_loss else ()
    words = (*targets, *sets, *copy_words(known, sound), *absent_words(known), *vote_words(known), *accepted)
    lines = (command("kraft", "recover", "voters", *words),)
    text = moved_clone(known)
    if text is None:
        text = "If they do not find each other because addresses changed: write the new ones into all of them"
    away = [str(node_id) for node_id in voters.node_ids if node_id not in present]
    if away:
        text += f". Name also directory and address of {', '.join(away)}, {_once_here(len(away) > 1)}"
    text += ". It discards the records named above" if is_loss else ""
    newer = [found for copy in sound for found in copy.unread if found.is_newer and not found.tells_epoch]
    if newer:
        names = ", ".join(found.path for found in newer)
        return [Step(text=f"{text}. Newer software wrote {names}: run this with a kraft of that version")]
    forgotten = [found.path for copy in named(known) for found in copy.unread if found.forgets]
    if forgotten:
        text += (
            f". {', '.join(forgotten)} held an epoch and a vote, which cannot be read: restore it from a backup first; "
            f"without one, {ACCEPT_LOST_VOTE} forgets them"
        )
    return [step_of(text=text, commands=lines)]


def _once_here(are_many: bool) -> str:
    if are_many:
        return "once they are here and sound; without them this takes their vote, and they join again as new ones"
    return "once it is here and sound; without it this takes its vote, and it joins again as a new one"
