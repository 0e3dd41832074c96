"""The evidence of copies whose records are judged, too, as `kraft check` judges them.

Decides: when records are judged, and what a log with an impossible one still proves. Must not know: the plan.

A record that an intact majority holds, or that was committed, is no reason to cut: a quorum ran with it. Nor is one
that a node may start with, by the advice of `kraft check`.

Reading a copy judges bytes, epochs and replay. But a log may hold a record that can be replayed, and that no controller
writes. Then `recover verify` calls the log wrong, whatever a repair makes of it. Nor may such a log accuse another.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metadata_log.files.port import Files
from metadata_log.tools.findings.finding import Cause, Finding, sort_findings
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.log_verification import Verification
from quorum.recovery.copies.log_copy import Copy, Impossible
from quorum.recovery.copies.read_copies import batches_from
from quorum.recovery.evidence.repair_evidence import RepairEvidence, evidence_of


def judged_evidence(files: Files, copies: Sequence[Copy]) -> RepairEvidence:
    """Compare these copies, see `evidence_of`.

    All records are judged first in three cases. A copy is held against another. Reading found an impossible record. No
    intact majority is here, so that one copy may become the quorum's log.

    Raises:
        RefusedError: they are of several clusters, or there are no copies.
        OSError: a copy cannot be read again.
    """
    known = evidence_of(copies)
    is_accused = any(one.newer is None and not one.rivals for one in known.stale)
    intact = [copy for copy in known.copies if known.is_authoritative(copy) and not copy.held_more and copy.state]
    if not is_accused and not any(map(_shows_impossible, copies)) and known.has_majority(known.startable(intact)):
        return known
    judged = [(copy, _with_records(files, copy)) for copy in copies]
    lived_with = {_record(one) for _, one in judged if known.has_majority(_holders(one, judged, intact))}
    lived_with |= {_record(one) for _, one in judged if _is_committed(known, one, intact)}
    after = [msgspec.structs.replace(one, impossible=None) if _record(one) in lived_with else one for _, one in judged]
    return evidence_of(after) if any(one is not copy for copy, one in judged) else known


def _is_committed(known: RepairEvidence, copy: Copy, intact: Sequence[Copy]) -> bool:
    """Return True if the impossible record of a copy was committed: the quorum ran with it, and all after it.

    A cut would lose that. Beside an intact majority nothing is lost, since the node can fetch the log again. Where a
    control record is impossible, the voters themselves are in doubt.
    """
    if copy.impossible is None or copy.impossible.is_control or known.has_majority(known.startable(intact)):
        return False
    return (copy.impossible.found.offset or 0) < known.bounds.lower


def _shows_impossible(copy: Copy) -> bool:
    facts = None if copy.replica is None else copy.replica.facts
    return facts is not None and any(one.bars_start for one in _of_records(facts, copy))


def _record(copy: Copy) -> tuple[str, int | None] | None:
    found = None if copy.impossible is None else copy.impossible.found
    return None if found is None else (found.kind, found.offset)


def _holders(copy: Copy, judged: Sequence[tuple[Copy, Copy]], among: Sequence[Copy]) -> list[Copy]:
    """Return those copies of `among` that hold the impossible record of this one: a majority lives with it."""
    record = _record(copy)
    return [
        before for before, one in judged if record is not None and _record(one) == record and _is_one_of(before, among)
    ]


def _is_one_of(copy: Copy, copies: Sequence[Copy]) -> bool:
    return any(one is copy for one in copies)


def _with_records(files: Files, copy: Copy) -> Copy:
    """Return the copy with the findings on the records of its valid prefix; the copy itself without any."""
    facts, replica = _judged(files, copy), copy.replica
    found = [] if facts is None else _of_records(facts, copy)
    if not found or facts is None or replica is None:
        return copy
    known = [one for one in replica.facts.findings if one not in found]
    own = msgspec.structs.replace(
        replica.facts, findings=sort_findings((*known, *found)), committed_before=facts.committed_before
    )
    committed = min(copy.prefix.committed_before, facts.committed_before)
    begin = 0 if copy.origin is None else int(copy.origin.end.offset)  # its metadata is replayed from there
    errors = [one for one in found if one.bars_start and (one.offset or 0) >= begin]
    first = min(errors, key=lambda one: one.offset or 0, default=None)
    return msgspec.structs.replace(
        copy,
        replica=msgspec.structs.replace(replica, facts=own),
        prefix=msgspec.structs.replace(copy.prefix, committed_before=committed),
        impossible=None if first is None or copy.state is None else _impossible(files, copy, first),
    )


def _judged(files: Files, copy: Copy) -> LogFacts | None:
    replica = copy.replica
    if replica is None or replica.source.metadata is None:
        return None
    directory, denied = copy.place.metadata, copy.prefix.misnamed
    return Verification(files, directory, replica.source, depth=Depth.REPLAY, probes=frozenset(), denied=denied).run()


def _of_records(facts: LogFacts, copy: Copy) -> list[Finding]:
    """Return the errors and warnings about records in the segments of the valid prefix."""
    return [
        one
        for one in facts.findings
        if one.cause is Cause.RECORDS and one.counts and one.file in facts.segments
        if copy.start_offset <= (one.offset or 0) < copy.end.offset
    ]


def _impossible(files: Files, copy: Copy, found: Finding) -> Impossible:
    offset = found.offset or 0
    header = next((one.header for one in batches_from(files, copy, offset)), None)
    if header is None:
        return Impossible(found=found, batch=offset)
    return Impossible(found=found, batch=int(header.base_offset), is_control=header.is_control)
