"""Copies that a later release, or a vendor's software, has written to: what a repair says of them, and where it stops.

Decides: which parts keep a repair from writing what it has to. Must not know: how copies are read.

A repair writes LeaderChange, VotersRecord and quorum-state as the newest known release does, which every later one
reads. It cannot know their form where the log says who votes in a form that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable

from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import Survey, newer_of
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.repair_facts import Step


def not_checked(copies: Iterable[Copy]) -> tuple[str, ...]:
    """Return a sentence that names what a later release wrote, and so was not checked; none where there is nothing."""
    newer = newer_of(copies)
    return (newer.text("not checked"),) if newer else ()


def why_not_written(copy: Copy) -> str | None:
    """Return why no repair can append to this copy's log; None: one can."""
    if copy.newer_voters is None:
        return None
    return (
        f"a later release wrote who votes ({copy.newer_voters}), in a form that is not known here: no repair "
        "appends to the log. Use the kraft that knows that release; truncate, drop-snapshot, rebuild-indexes, "
        "cluster-id, verify and undo work with this one"
    )


def refuse_newer_voters(copy: Copy) -> None:
    """Refuse a repair that writes voters into this copy's log, where it cannot know their form.

    Raises:
        RefusedError: a later release wrote that in a form that is not known.
    """
    why = why_not_written(copy)
    if why is not None:
        raise RefusedError(f"{copy.label}: {why}")


def refuse_newer_files(copy: Copy) -> None:
    """Refuse a repair of files of a later release beside the log. Of quorum-state it needs the epoch alone.

    Raises:
        RefusedError: naming one that a later release wrote.
    """
    for found in copy.unread:
        if found.is_newer and not found.tells_epoch:
            raise RefusedError(f"{found.path}: {found.why}. Use a kraft of that version; nothing is written over it")


def leave_to_its_release(known: Survey) -> list[Step]:
    """Return what to do where no copy can be repaired, because a later release wrote who votes; else nothing."""
    hiding = _hiding(known)
    if hiding is None:
        return []
    return [
        Step(
            text=f"Start the controllers that are here with the release that wrote {hiding}: a majority of them elects "
            "a leader. Where they elect none, go on with a kraft that knows that release"
        )
    ]


def _hiding(known: Survey) -> str | None:
    return next((copy.newer_voters for copy in known.copies if copy.newer_voters is not None), None)


def who_votes(known: Survey) -> str:
    """Return why the voters are not known, as the end of a sentence."""
    hiding = _hiding(known)
    return "no copy here says who votes" if hiding is None else f"a later release wrote that ({hiding})"
