"""Copies whose nodes would elect a leader once they are started, also by voters that a repair has replaced."""

from __future__ import annotations

from metadata_log.tools.replicas.voters_in_force import is_voter
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence


def elects(known: RepairEvidence, copy: Copy) -> bool:
    """Return True if its node takes part in elections: by the voters in force, or by its own log or quorum-state."""
    key, own = copy.place.key, copy.voters
    if key is None:
        return False
    if copy.kraft_version == 0 and int(key.node_id) in copy.static_voters:
        return True
    return known.is_voter(copy) or (own is not None and is_voter(copy.place.key, own.keys))


def elects_once_cut(known: RepairEvidence, copy: Copy) -> bool:
    """Return True if its voter could elect a leader with intact copies here, once cut to its valid prefix."""
    whole = [
        one
        for one in known.copies
        if one is not copy and one.state is not None and not one.held_more and known.is_authoritative(one)
    ]
    return bool(whole) and known.is_voter(copy) and known.has_majority([copy, *whole])


def contradicting(known: RepairEvidence) -> tuple[Copy, ...]:
    """Return the copies that contradict others and that no start needs: those proven wrong, and those without a vote.

    A repair refuses to go on beside such a copy.
    """
    wrong = [one.wrong for one in known.conflicts if one.wrong is not None]
    open_ones = [copy for one in known.conflicts if one.wrong is None for copy in one.copies]
    wrong += [copy for copy in open_ones if not elects(known, copy)]
    return tuple(copy for copy in known.copies if any(copy is one for one in wrong))


def unreached(known: RepairEvidence) -> tuple[Copy, tuple[Copy, ...]] | None:
    """Return a repaired copy and the copies that would elect but that its repair has not reached, or None.

    A repair's epoch is above all that any copy knew. A log that the repair reached does not end in an older epoch.
    """
    repaired = [copy for copy in known.copies if copy.repair is not None]
    if not repaired:
        return None
    last = max(repaired, key=lambda copy: -1 if copy.repair is None else int(copy.repair.epoch))
    begun = -1 if last.repair is None else int(last.repair.epoch)
    behind = tuple(copy for copy in known.copies if copy.end.epoch < begun and elects(known, copy))
    return (last, behind) if behind else None
