"""The parts of a log that a cut would remove: certainly, possibly and never committed.

Decides: where one part ends and the next begins. Must not know: whether the log is cut.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.files.port import Files
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.abandoned_branch import bounds_of
from quorum.recovery.evidence.conflicts import joined_end
from quorum.recovery.evidence.lost_records import cut_off, superseded
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.repair_facts import LostRecords


def cut_parts(files: Files, known: RepairEvidence, own: Copy, to: int) -> tuple[LostRecords, ...]:
    """Return the records of `own` from offset `to` on; none if its valid prefix ends there."""
    end = int(own.end.offset)
    forks = [(start, superseded(files, known, copy, own, start)) for copy, start in _forks(known, own)]
    bounds = bounds_of(known.copies, known.bounds, own)
    upper = bounds.upper
    ends = [start for start, judged in forks if judged == "never"] + ([] if upper is None else [upper])
    never = max(to, min([end, *ends]))
    was = max(to, min([bounds.lower, never, *(start for start, _ in forks)]))
    parts = ((to, was, "was"), (was, never, "may"), (never, end, "never"))
    found = [
        (cut_off(files, known, own, start, until), committed) for start, until, committed in parts if start < until
    ]
    return tuple(msgspec.structs.replace(part, committed=committed) for part, committed in found if part is not None)


def _forks(known: RepairEvidence, own: Copy) -> Iterator[tuple[Copy, int]]:
    """Yield the copies that diverge from `own` into a later epoch, each with the offset where they do.

    From there on the end of such a log says nothing about the records of `own`. A repair that diverges is left out: its
    leader was not elected.
    """
    for copy in known.copies:
        start = joined_end(known.copies, own, copy)
        if start is None or (copy.repair is not None and copy.repair.offset == start):
            continue
        if start < min(own.end.offset, copy.end.offset) and copy.epoch_at(start) > own.epoch_at(start):
            yield copy, start
