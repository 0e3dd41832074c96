"""The report on where replicas diverge: the sides, the side that a majority holds, and the records that differ.

Must not know: how logs are compared (`divergence`) and judged (`judge`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Final

import msgspec

from metadata_log.errors import CorruptBatchError, RecordError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_records
from metadata_log.records import decode_control, decode_versioned
from metadata_log.records.json_form import data_of, json_text
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.findings.advice import TIE
from metadata_log.tools.findings.finding import Finding, finding, sort_findings
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.replicas.committed_bounds import CommittedBounds, limited_by
from metadata_log.tools.replicas.divergence import Conflict, compare
from metadata_log.tools.replicas.judge import Judge, leaders_of
from metadata_log.tools.replicas.record_differences import differences
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import (
    ReplicaSet,
    lost_commits,
    nothing_in_common,
    short_logs,
    voters_without_log,
)
from metadata_log.tools.verify.broker_advice import advised
from metadata_log.tools.verify.voters import among_replicas

RECORDS_SHOWN: Final = 10
_TEXT_SHOWN: Final = 160


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas that hold the same batches from a divergence on. `records`: the first of `record_count`, as text."""

    replicas: tuple[str, ...]
    epoch: int
    file: str
    position: int
    is_majority: bool
    record_count: int
    records: tuple[str, ...]


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """A divergence: before `offset` the replicas are equal. `batches`: the number of base offsets where they differ."""

    offset: int
    batches: int
    sides: tuple[Side, ...]
    differences: tuple[str, ...] = ()
    """The fields that differ, at the first offsets with different records."""


class ReplicaLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The summary of one replica. `is_compared`: False if it was left out, for the reason that a finding gives."""

    replica: str
    node_id: int | None
    path: str
    is_voter: bool
    start_offset: int
    end_offset: int
    last_epoch: int
    snapshot_end: int
    is_compared: bool = True


class DiffReport(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between replicas.

    Attributes:
        common_end: before this offset all replicas that reach it hold the same batches. If logs share no offset (the
            note `nothing_in_common`), it is only the end of the shortest.
        bounds: the committed bounds. A divergence in a tie limits `lower` to its offset.
    """

    replicas: tuple[ReplicaLine, ...]
    voters: tuple[str, ...]
    common_end: int
    bounds: CommittedBounds
    partings: tuple[Divergence, ...]
    findings: tuple[Finding, ...]


def diff_logs(view: ReplicaSet, files: Files | None = None) -> DiffReport:
    """Compare the replicas of a quorum, with a note on each pair of logs that share no offset.

    Raises:
        OSError: a segment cannot be read.
    """
    report = diff_and_odd(view, files)[0]
    return msgspec.structs.replace(report, findings=sort_findings([*report.findings, *nothing_in_common(view)]))


def diff_and_odd(view: ReplicaSet, files: Files | None = None) -> tuple[DiffReport, frozenset[int]]:
    """Return the report, and the indexes of the replicas that are at fault in a divergence; all of them in a tie.

    The metadata of these replicas must not judge anything.

    Raises:
        OSError: a segment cannot be read.
    """
    port = OsFiles() if files is None else files
    judge, conflicts, judged = _judged(view)
    fields = {conflict.offset: _differences(port, view, judge, conflict) for conflict in conflicts}
    found = list(
        dict.fromkeys(
            one
            for index, finding in judged
            for one in _advised(view.replicas[index], _with_fields(finding, fields.get(finding.offset or 0, ())))
        )
    )
    found += _two_leaders(view, judge)
    found += lost_commits(view)
    found += voters_without_log(view)
    found += short_logs(view)
    found += among_replicas([replica.voters_log for replica in view.replicas])
    read = [replica.facts.end_offset for replica in view.replicas if not replica.facts.is_unread]
    ends = [conflict.offset for conflict in conflicts] or read
    report = DiffReport(
        replicas=tuple(_line(view, replica) for replica in view.replicas),
        voters=tuple(map(str, view.voters.keys)),
        common_end=min(ends, default=0),
        bounds=limited_by(view.bounds, _tie(judge, conflicts)),
        partings=tuple(
            msgspec.structs.replace(_divergence(port, view, judge, conflict), differences=fields[conflict.offset])
            for conflict in conflicts
        ),
        findings=sort_findings(found),
    )
    return report, frozenset(index for index, _ in judged)


def odd_replicas(view: ReplicaSet) -> frozenset[int]:
    """Return the indexes of the replicas that are at fault in a divergence, see `diff_and_odd`."""
    return frozenset(index for index, _ in _judged(view)[2])


def judged_sides(view: ReplicaSet) -> tuple[tuple[tuple[int, Finding], ...], int | None]:
    """Return the replicas that are at fault in a divergence, by index, each with its finding; all of them in a tie.

    The second value is the first offset of a tie: nothing shows which side committed. It is None without a tie.

    Raises:
        OSError: a segment cannot be read.
    """
    judge, conflicts, judged = _judged(view)
    return tuple(judged), _tie(judge, conflicts)


def _judged(view: ReplicaSet) -> tuple[Judge, list[Conflict], list[tuple[int, Finding]]]:
    judge = Judge(view.views, len(view.voters.keys), view.bounds)
    conflicts = compare([replica.facts.sums for replica in view.replicas])
    judge.weigh(conflicts)
    return judge, conflicts, [one for conflict in conflicts for one in judge.judged(conflict)]


def _advised(replica: Replica, found: Finding) -> list[Finding]:
    return advised([found], replica.source, replica.facts)


def with_lines(report: DiffReport, alone: ReplicaSet) -> DiffReport:
    """Return the report with the lines of logs that were compared with no other."""
    lines = [msgspec.structs.replace(_line(alone, replica), is_compared=False) for replica in alone.replicas]
    return msgspec.structs.replace(report, replicas=(*report.replicas, *lines))


def own_findings(replica: Replica, view: ReplicaSet) -> list[Finding]:
    """Return the faults of a replica by itself. The advice depends on its role, by the voters that all logs name."""
    return advised(replica.facts.findings, replica.source, replica.facts, view.voters.keys)


def _tie(judge: Judge, conflicts: Sequence[Conflict]) -> int | None:
    """Return the first offset at which replicas part in a tie, or None."""
    return min((conflict.offset for conflict in conflicts if judge.is_tie(conflict)), default=None)


def _line(view: ReplicaSet, replica: Replica) -> ReplicaLine:
    return ReplicaLine(
        replica=replica.label,
        node_id=replica.source.node_id,
        path=str(replica.source.path),
        is_voter=view.is_listed_as_voter(replica),
        start_offset=replica.facts.start_offset,
        end_offset=replica.facts.end_offset,
        last_epoch=replica.last_epoch,
        snapshot_end=replica.snapshot_end,
    )


def _two_leaders(view: ReplicaSet, judge: Judge) -> Iterator[Finding]:
    """Yield a finding for each epoch with two leaders in different logs; the side in the minority is at fault."""
    elections = {
        index: [(change.epoch, change.leader_id, change.offset) for change in replica.facts.elections]
        for index, replica in enumerate(view.replicas)
    }
    for epoch, leaders in leaders_of(elections):
        places = {
            index: (change.file, change.position)
            for index, replica in enumerate(view.replicas)
            for change in replica.facts.elections
            if change.epoch == epoch
        }
        reference = judge.reference_among([(at, held) for (_, at), held in leaders.items()], places)
        said = {key: f"node {key[0]} at offset {key[1]} on {judge.names(holders)}" for key, holders in leaders.items()}
        if reference is None:
            meaning = f"epoch {epoch} has as its leader {' and '.join(said.values())}: one epoch has one"
            what = f"{meaning}, and nothing says which it is"
            yield finding("two_leaders", what, offset=min(at for _, at in leaders), epoch=epoch, advice=TIE)
            continue
        for key, holders in leaders.items():
            others = ", ".join(text for other, text in said.items() if other != key)
            if holders is not reference:
                yield from _other_leader(view, epoch, key, others, holders)


def _other_leader(
    view: ReplicaSet, epoch: int, key: tuple[int, int], others: str, holders: frozenset[int]
) -> Iterator[Finding]:
    leader_id, offset = key
    for index in sorted(holders):
        replica = view.replicas[index]
        change = next(
            known
            for known in replica.facts.elections
            if (known.epoch, known.leader_id, known.offset) == (epoch, leader_id, offset)
        )
        yield finding(
            "two_leaders",
            f"epoch {epoch} has node {leader_id} as its leader here, and {others}: one epoch has one",
            node_id=replica.source.node_id,
            file=change.file,
            position=change.position,
            offset=offset,
            epoch=epoch,
        )


def _differences(files: Files, view: ReplicaSet, judge: Judge, conflict: Conflict) -> tuple[str, ...]:
    sides = [(judge.names(side.holders), *conflict.places[min(side.holders)]) for side in conflict.sides]
    return differences(files, sides)


def _with_fields(found: Finding, fields: tuple[str, ...]) -> Finding:
    """Return the finding; if its subject is different bytes, the first fields that differ are added."""
    if found.kind not in ("log_mismatch", "uncommitted_tail") or not fields:
        return found
    return msgspec.structs.replace(found, meaning=f"{found.meaning}: {fields[0]}")


def _divergence(files: Files, view: ReplicaSet, judge: Judge, conflict: Conflict) -> Divergence:
    majority = judge.majority_of([side.holders for side in conflict.sides])
    is_fork = len({side.epoch for side in conflict.sides}) > 1
    sides = []
    for side in conflict.sides:
        first = view.replicas[min(side.holders)]
        file, position = conflict.places[min(side.holders)]
        count, records = _records(files, first.facts.segments, file, position, None if is_fork else 1)
        sides.append(
            Side(
                replicas=tuple(view.replicas[index].label for index in sorted(side.holders)),
                epoch=side.epoch,
                file=file,
                position=position,
                is_majority=side.holders is majority,
                record_count=count,
                records=records,
            )
        )
    return Divergence(offset=conflict.offset, batches=conflict.count, sides=tuple(sides))


def _records(
    files: Files, segments: Sequence[str], file: str, position: int, batches: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return the number of records from a batch on, and the first of them as text. `batches`: None reads to the end."""
    count, shown = 0, list[str]()
    reader = LogReader(files, segments[list(segments).index(file) :], start=position)
    with closing(reader.batches(past_removed=True)) as found:
        for batch in islice(found, batches):
            count += batch.header.count
            if len(shown) < RECORDS_SHOWN:
                shown += _texts(batch)
    return count, tuple(shown[:RECORDS_SHOWN])


def _texts(batch: LocatedBatch) -> Iterator[str]:
    try:
        records = batch_records(batch.buffer, batch.header, batch.at)
    except CorruptBatchError as error:
        yield f"{batch.header.base_offset}: {error.what}"
        return
    for record in records:
        try:
            if batch.header.is_control:
                control = decode_control(record.key or b"", record.value or b"")
                name, data = type(control).__name__, data_of(control, control.version)
            else:
                decoded, version = decode_versioned(record.value or b"")
                name, data = type(decoded).__name__, data_of(decoded, version)
        except RecordError as error:
            yield f"{record.offset}: {error}"
            continue
        text = f"{record.offset}: {name} {json_text(data)}"
        yield text if len(text) <= _TEXT_SHOWN else text[: _TEXT_SHOWN - 1] + "…"
