"""Copies that a later release, or a vendor's software, has written to: how far a repair can handle them.

Decides: which of its parts prevent a repair. Must not know: how copies are read.

A repair writes LeaderChange, VotersRecord and quorum-state in the form of the newest known release, which every later
one reads. If the log holds the voters in an unknown form, a repair cannot write them.
"""

from __future__ import annotations

from collections.abc import Iterable

from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence, newer_of
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.next_steps import Step


def not_checked(copies: Iterable[Copy]) -> tuple[str, ...]:
    """Return a sentence about parts that a later release wrote and this one does not check; empty without any."""
    newer = newer_of(copies)
    return (newer.text("not checked"),) if newer else ()


def why_not_written(copy: Copy) -> str | None:
    """Return why no repair can append to this copy's log, or None."""
    if copy.newer_voters is None:
        return None
    return (
        f"a later release wrote the voters ({copy.newer_voters}) in a form that this release cannot read, so no repair "
        "can append to the log. Use a kraft that knows that release; truncate, drop-snapshot, rebuild-indexes, "
        "cluster-id, verify and undo work with this one"
    )


def refuse_newer_voters(copy: Copy) -> None:
    """Refuse a repair that writes voters into this copy's log if it does not know their form.

    Raises:
        RefusedError: a later release wrote the voters in an unknown form.
    """
    why = why_not_written(copy)
    if why is not None:
        raise RefusedError(f"{copy.label}: {why}")


def refuse_newer_files(copy: Copy) -> None:
    """Refuse a repair if a later release wrote a sidecar file. A quorum-state whose epoch can be read is accepted.

    Raises:
        RefusedError: with the file.
    """
    for found in copy.unread:
        if found.is_newer and not found.tells_epoch:
            raise RefusedError(f"{found.path}: {found.why}. Use a kraft of that version; nothing is written over it")


def leave_to_its_release(known: RepairEvidence) -> list[Step]:
    """Return the step if no copy can be repaired because a later release wrote the voters; else nothing."""
    hiding = _hiding(known)
    if hiding is None:
        return []
    return [
        Step(
            text=f"Start the controllers that are here with the release that wrote {hiding}: a majority of them elects "
            "a leader. If they elect none, go on with a kraft that knows that release"
        )
    ]


def _hiding(known: RepairEvidence) -> str | None:
    return next((copy.newer_voters for copy in known.copies if copy.newer_voters is not None), None)


def who_votes(known: RepairEvidence) -> str:
    """Return why the voters are unknown, as the end of a sentence."""
    hiding = _hiding(known)
    return "no copy here names the voters" if hiding is None else f"a later release wrote the voters ({hiding})"
