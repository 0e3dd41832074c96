"""The repairs that are possible with these copies, and what each keeps and loses.

Must not know: which one is best, and how they are done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.files.port import Files
from metadata_log.image import MetadataImage
from quorum.recovery.advice.lent_checkpoint import or_lent
from quorum.recovery.advice.newer_release import why_not_written
from quorum.recovery.advice.unable_to_follow import left_behind
from quorum.recovery.advice.unplayed import or_cut
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.lost_records import lost_records, shortfalls
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_facts import LostRecords, MayLose, kept_words


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One repair, of one copy.

    Attributes:
        name: of the command; `start` if nothing needs a repair.
        on: the copy that is kept.
        keeps, loses: in sentences; `loses` has the known losses.
        may_lose: losses that cannot be known.
        cannot_follow: nodes that cannot go on from their copies here afterwards, in sentences.
        refused: why it is not possible, or None.
        lost: the known losses as data.
        is_behind: a copy here goes on past the kept one. If `lost` is empty, it has only NoOps and elections there.
    """

    name: str
    on: str
    keeps: str
    loses: tuple[str, ...] = ()
    may_lose: MayLose | None = None
    cannot_follow: tuple[str, ...] = ()
    refused: str | None = None
    lost: tuple[LostRecords, ...] = ()
    is_behind: bool = False


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The situation, every repair, and the recommended steps in order. `is_whole`: an intact majority is here."""

    is_whole: bool
    situation: str
    repairs: tuple[Repair, ...]
    steps: tuple[Step, ...]


_CONTRADICTED: Final = "copies contradict each other: leave the wrong one out first"


def usable(copy: Copy) -> str | None:
    """Return why its valid prefix cannot be made a controller's log; None if it can."""
    if copy.state is None:
        return f"its metadata cannot be read: {copy.prefix.problem}"
    if copy.place.manifest is not None and copy.is_damaged:
        return f"it is damaged at {copy.stop}, and no repair changes an export: name the directory it was made of"
    if copy.image is None or (copy.image.says_the_same_as(MetadataImage.empty()) and not copy.newer.hides_metadata):
        return "it holds no metadata yet"
    return None


def _wrong_afterwards(copy: Copy) -> str | None:
    """Return why `recover verify` would not accept the result, or None: a repair keeps all records of the copy."""
    found = copy.impossible
    return None if found is None else f"no controller writes what it holds: {found.found.meaning}"


def _nameless(known: RepairEvidence, copy: Copy) -> str | None:
    """Return why no controller's directory can be made without a cluster id, if no copy here has one; or None."""
    if known.cluster_id is not None:
        return None
    return (
        f"{copy.place.complaint}, and no copy here says which cluster this is: bring the file back, or name a whole "
        "log directory of another node, too"
    )


def may_lose(known: RepairEvidence, kept: Copy) -> MayLose | None:
    """Return the loss that no copy can show; None if no committed record can be missing from the copies."""
    if not known.majority_is_absent:
        return None
    if not known.voters:
        return MayLose()
    absent = tuple(map(int, known.unheard_voters))
    if known.undecided is not None:  # if voters dropped that change, their log diverged before it
        return MayLose(voters=absent, past_offset=int(known.bounds.lower), is_undecided=True)
    since_ms = kept.prefix.last_timestamp_ms if kept.prefix.last_timestamp_ms >= 0 else None
    return MayLose(voters=absent, since_ms=since_ms, past_offset=int(kept.end.offset))


def possible_repairs(files: Files, known: RepairEvidence) -> Iterator[Repair]:
    """Yield the repair that keeps each copy, in the order of the copies."""
    is_open = any(one.wrong is None for one in known.conflicts)
    for copy in known.copies:
        more = lost_records(files, known, copy)
        lost = (*(found for found in more if found.says_something), *shortfalls(known))
        name = "standalone" if known.is_voter(copy) else "from-broker"
        if copy.kraft_version == 0 and copy.static_voters:
            name = "static-voters" if known.is_voter(copy) else "from-broker"
        yield Repair(
            name=name,
            on=copy.label,
            keeps=kept_words(copy.end),
            loses=tuple(map(str, lost)),
            may_lose=may_lose(known, copy),
            cannot_follow=tuple(map(str, left_behind(known, copy))),
            refused=(_CONTRADICTED if is_open or any(one.wrong is copy for one in known.conflicts) else None)
            or or_cut(known, copy, or_lent(known, copy, usable(copy) or _wrong_afterwards(copy)))
            or why_not_written(copy)
            or _nameless(known, copy),
            lost=lost,
            is_behind=bool(more),
        )
