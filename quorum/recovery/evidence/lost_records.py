"""Lost records: other copies hold them and the kept one does not.

Decides: which records these are, and whether they were committed, as exactly as the copies allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.errors import RecordError, UnknownRecordError
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_values
from metadata_log.records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    TopicRecord,
    VotersRecord,
    decode_record,
)
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.prefix.prefix_parts import control_records, opens_repair
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.read_copies import batches_from
from quorum.recovery.evidence.abandoned_branch import bounds_of, judged_by, repair_beside
from quorum.recovery.evidence.authoritative import is_proved
from quorum.recovery.evidence.conflicts import joined_end
from quorum.recovery.evidence.historical_extents import forgetful
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.evidence.same_log import shows_one_log
from quorum.recovery.journal.repair_facts import OF_LATER_RELEASE, LostRecords

_MOST_TOPICS: Final = 20


def lost_records(files: Files, known: RepairEvidence, kept: Copy) -> list[LostRecords]:
    """Return the records that other copies hold and `kept` does not, one entry a copy."""
    found = []
    for copy in known.copies:
        joined = joined_end(known.copies, kept, copy)
        is_uncompared = not shows_one_log(kept, copy) or joined is None
        start = 0 if joined is None else joined
        if copy is kept or copy.end.offset <= start:
            continue
        more = _lost_records(files, _bounds_on(files, known, copy), copy, start)
        # A voter that was cut no longer shows that it once acknowledged these records.
        if more.committed == "never" and forgetful(known.copies, copy, start):
            more = msgspec.structs.replace(more, committed="may")
        judged = superseded(files, known, kept, copy, start)
        if is_uncompared:
            more = msgspec.structs.replace(more, committed="may", is_uncompared=True)
        elif judged is not None:
            more = msgspec.structs.replace(more, committed=judged)
        found.append(more)
    return found


def _bounds_on(files: Files, known: RepairEvidence, copy: Copy) -> CommittedBounds:
    """Return the committed bounds for the records of `copy`.

    After it diverges from the best copy, commits of other records at the same offsets prove nothing about its own.
    Those count only if some log proves them, or once held them.
    """
    bounds = bounds_of(known.copies, known.bounds, copy)
    fork = joined_end(known.copies, known.best, copy)
    if fork is None or fork >= copy.end.offset or not shows_one_log(known.best, copy):
        return bounds
    if repair_beside(known.copies, copy) is not None or forgetful(known.copies, copy, fork):
        return bounds
    if any(is_proved(one, copy, fork) for one in known.copies):
        return bounds
    upper = bounds.upper
    if superseded(files, known, known.best, copy, fork) == "never":
        upper = fork if upper is None else min(fork, upper)
    return msgspec.structs.replace(bounds, lower=min(bounds.lower, fork), upper=upper)


def superseded(files: Files, known: RepairEvidence, kept: Copy, copy: Copy, start: int) -> str | None:
    """Return `never` if a leader elected later than all of this branch of `copy` began its epoch in `kept` at `start`.

    An elected leader has every record that older epochs committed (Raft 5.4.3), and this leader has none of the branch.
    Return `may` if one of its electors had forgotten the branch, or has only stale copies here. Return None if there is
    no
    such leader: a repair began the epoch, without an election. Return None, too, if the branch is proven committed:
    then voters elected that leader that had been restored from older copies.
    """
    is_fork = shows_one_log(kept, copy) and joined_end(known.copies, kept, copy) == start
    if copy.end.epoch >= kept.epoch_at(start) or not is_fork:
        return None
    if any(is_proved(one, copy, start) for one in known.copies):
        return None
    if copy.origin is not None and copy.origin.end.offset > start:
        return None
    first = next(batches_from(files, kept, start), None)
    if first is None or first.header.base_offset != start or not first.header.is_control:
        return None
    elected = control_records(first)[0]
    if not isinstance(elected, LeaderChangeMessage) or opens_repair(first):
        return None
    electors = {int(voter.voter_id) for voter in elected.granting_voters}
    return "may" if electors & (forgetful(known.copies, copy, start) | known.stale_voters) else "never"


def shortfalls(known: RepairEvidence) -> list[LostRecords]:
    """Return the records that logs here once held and that no copy here holds any more.

    The proof is in sidecar files, in bytes behind the damage, or a partition directory.
    """
    found = []
    for copy in known.copies:
        follows = [other for other in known.copies if joined_end(known.copies, copy, other) == copy.end.offset]
        start = max(int(other.end.offset) for other in (copy, *follows))
        if copy.proved_end > start and copy.held_more:
            has_bytes = any(part.size > part.valid_size for part in copy.prefix.segments)
            follows_it = "sound batches follow" if has_bytes else "an empty segment follows"
            found.append(
                LostRecords(
                    label=copy.label,
                    node_id=copy.node_id,
                    start=start,
                    end=copy.proved_end,
                    records={},
                    topics=(),
                    committed=judged_by(bounds_of(known.copies, known.bounds, copy), start, copy.proved_end),
                    proof=copy.proof_of_more or f"{follows_it} the damage at {copy.stop}",
                )
            )
    return [*found, *_beyond_all(known)]


def _beyond_all(known: RepairEvidence) -> Iterator[LostRecords]:
    """Yield the records that a partition directory proves committed, and that no log here reaches."""
    end = max(int(copy.end.offset) for copy in known.copies)
    proven = [copy.proven for copy in known.copies if copy.proven is not None and copy.proven.end > end]
    for proof in proven[:1]:
        yield LostRecords(
            label="a log of the quorum that is not here",
            node_id=None,
            start=end,
            end=proof.end,
            records={},
            topics=(),
            committed="was",
            proof=proof.because,
        )


def cut_off(files: Files, known: RepairEvidence, whole: Copy, start: int, end: int | None = None) -> LostRecords | None:
    """Return the records that cutting a copy at `start` takes from it, up to `end` (by default its end), or None."""
    if start >= whole.end.offset:
        return None
    return _lost_records(files, _bounds_on(files, known, whole), whole, start, end)


def _lost_records(
    files: Files, bounds: CommittedBounds, copy: Copy, start: int, until: int | None = None
) -> LostRecords:
    end = int(copy.end.offset) if until is None else until
    counts: Counter[str] = Counter()
    topics: list[str] = []
    if copy.origin is not None and copy.start_offset > start:
        counts[f"checkpoint, which holds all up to offset {copy.start_offset}"] = 1
    for batch in batches_from(files, copy, start):
        if batch.header.base_offset >= end:
            break
        if batch.header.is_control:
            counts.update(_members(batch))
            continue
        for value in batch_values(batch.buffer, batch.header, batch.at):
            try:
                record = decode_record(value)
            except UnknownRecordError:
                counts[OF_LATER_RELEASE] += 1
                continue
            except RecordError:
                counts["unknown record"] += 1
                continue
            if not isinstance(record, NoOpRecord):
                counts[type(record).__name__.removesuffix("Record")] += 1
            if isinstance(record, TopicRecord):
                topics.append(record.name)
    return LostRecords(
        label=copy.label,
        node_id=copy.node_id,
        start=start,
        end=end,
        records=dict(sorted(counts.items())),
        topics=tuple(topics[:_MOST_TOPICS]),
        committed=judged_by(bounds, start, end),
        epoch=int(copy.end.epoch) if end == copy.end.offset else copy.epoch_at(end - 1),
    )


def _members(batch: LocatedBatch) -> Iterator[str]:
    """Yield the types of a control batch's records that change voters. Elections and checkpoints do not matter."""
    try:
        records = control_records(batch)
    except RecordError:
        yield "unknown record"
        return
    for record in records:
        if isinstance(record, UnknownRecordError) and record.api_key != LeaderChangeMessage.CONTROL_TYPE:
            yield OF_LATER_RELEASE
        elif isinstance(record, VotersRecord | KRaftVersionRecord):
            yield type(record).__name__.removesuffix("Record")
