"""The work of Spark's tasks, which check one log each by the rules of `kraft check`, and the judgment of all logs.

Decides: which results of a check are in a verdict. Must not know: Spark, or the rules themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.analysis.log_course import CourseReading, LogCourse, TopicChange
from metadata_log.analysis.report.verdict import (
    Difference,
    Event,
    EventKind,
    LeaderEpoch,
    ReplicaSummary,
    Side,
    Verdict,
)
from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import id_text
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.check.check import judge
from metadata_log.tools.check.evidence import Evidence
from metadata_log.tools.check.plan import Plan
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.read.readable import why_unread
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.diff import Divergence
from metadata_log.tools.replicas.record_differences import Compared, compare_records
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.verify_log import verify_file, verify_log

_DIFFERENCES_READ: Final = 20
"""The number of differences of which the records are read."""


class LogTask(msgspec.Struct, frozen=True, kw_only=True):
    """One log, or one file that was named on its own, for one task. `number`: its position in the plan."""

    number: int
    source: NodeSource | Path
    probes: frozenset[int] = frozenset()


class LogRead(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the task of one log."""

    number: int
    is_file: bool
    report: LogFacts
    course: LogCourse


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a task failed, as a sentence: Spark does not transfer exceptions whole."""

    why: str


def tasks_of(plan: Plan) -> list[LogTask]:
    """Return a task for each log and for each file of a plan."""
    logs = [LogTask(number=number, source=node, probes=plan.probes) for number, node in enumerate(plan.logs)]
    return [*logs, *(LogTask(number=number, source=path) for number, path in enumerate(plan.files))]


def read_log(task: LogTask) -> LogRead | Refused:
    """Check one log on its own, or one file."""
    try:
        if isinstance(task.source, Path):
            return LogRead(number=task.number, is_file=True, report=verify_file(task.source), course=LogCourse())
        report, course = _log_and_course(task.source, task.probes)
        return LogRead(number=task.number, is_file=False, report=report, course=course)
    except (MetadataLogError, OSError) as error:
        return Refused(why=why_unread(error))


def _log_and_course(source: NodeSource, probes: frozenset[int]) -> tuple[LogFacts, LogCourse]:
    """Return the results of one pass over a log, and its course; of the last pass if the log was changing."""
    readings: list[CourseReading] = []

    def listening() -> list[CourseReading]:
        readings.append(CourseReading())
        return readings[-1:]

    report = verify_log(source, probes=probes, listening=listening)
    return report, readings[-1].course()


def judge_logs(plan: Plan, read: Iterable[LogRead | Refused]) -> Verdict | Refused:
    """Judge the results of all tasks, as `kraft check` does."""
    logs: dict[int, LogRead] = {}
    files: dict[int, LogRead] = {}
    for one in read:
        if isinstance(one, Refused):
            return one
        (files if one.is_file else logs)[one.number] = one
    try:
        replicas = [
            Replica(
                source=node, facts=logs[number].report, label=node.label
            )  #   # the plan's node, which others compare by identity
            for number, node in enumerate(plan.logs)
        ]
        evidence = Evidence(plan, replicas, [files[number].report for number in range(len(plan.files))])
        course = {one.report.directory: one.course for one in logs.values()}
        return _verdict(evidence, course)
    except (MetadataLogError, OSError) as error:
        return Refused(why=why_unread(error))


def _verdict(evidence: Evidence, course: Mapping[str, LogCourse]) -> Verdict:
    plan, view, report = evidence.plan, evidence.proved, judge(evidence)
    replicas = sorted(view.replicas, key=lambda replica: (replica.source.node_id is None, replica.source.node_id or 0))
    summaries = [
        _summary(replica, course[replica.facts.directory], is_voter=view.is_listed_as_voter(replica))
        for replica in replicas
    ]
    leading = max(summaries, key=lambda one: (one.last_epoch, one.end_offset, -one.start_offset), default=None)
    of_leading = LogCourse() if leading is None else course[replicas[summaries.index(leading)].facts.directory]
    return Verdict(
        cluster_id=_cluster_id(plan.nodes),
        paths=tuple(dict.fromkeys(map(str, _paths(plan)))),
        replicas=tuple(summaries),
        voters=tuple(sorted({int(voter.node_id) for voter in view.voters.keys})),
        lower=report.bounds.lower,
        upper=report.bounds.upper,
        because=report.bounds.because,
        epochs=() if leading is None else leading.epochs,
        records_by_type=of_leading.records_by_type,
        findings=report.findings,
        not_judged=report.not_judged,
        elapsed_s=0.0,
        java="",
        differences=tuple(_differences(evidence.differences.partings)),
        events=tuple(map(_topic_event, of_leading.topics)),
    )


def _cluster_id(nodes: Sequence[NodeSource]) -> str:
    """Return the cluster id that most nodes have, or an empty text if none states one."""
    counts = Counter(node.identity.cluster_id for node in nodes if node.identity is not None)
    return max(counts, key=lambda cluster_id: (counts[cluster_id], cluster_id), default="")


def _paths(plan: Plan) -> Iterator[Path]:
    """Yield every path that was read: a page for others must contain none of them."""
    for node in plan.nodes:
        yield node.path
        yield from (disk.path for disk in node.log_directories)
    yield from (*plan.files, *plan.parents)
    yield from (Path(found.file) for found in plan.unread if found.file is not None)


def _summary(replica: Replica, course: LogCourse, *, is_voter: bool) -> ReplicaSummary:
    source, report = replica.source, replica.facts
    directory_id = None if source.identity is None else source.identity.directory_id
    return ReplicaSummary(
        label=replica.label,
        node_id=source.node_id,
        directory_id="" if directory_id is None else id_text(directory_id),
        path=str(source.path),
        is_voter=is_voter,
        start_offset=report.start_offset,
        end_offset=report.end_offset,
        last_epoch=report.last_epoch,
        snapshot_end=replica.snapshot_end,
        high_watermark=source.high_watermark,
        batches=report.batches,
        records=report.records,
        size_in_bytes=report.size_in_bytes,
        epochs=tuple(_epochs(report, course)),
        progress=course.progress,
    )


def _epochs(report: LogFacts, course: LogCourse) -> Iterator[LeaderEpoch]:
    leaders = {election.epoch: election.leader_id for election in reversed(report.elections)}
    for span in report.epochs:
        times = course.times.get(span.epoch)
        yield LeaderEpoch(
            epoch=span.epoch,
            leader_id=leaders.get(span.epoch, -1),
            start_offset=span.start_offset,
            end_offset=span.end_offset,
            first_ms=-1 if times is None else times.first_ms,
            last_ms=-1 if times is None else times.last_ms,
        )


def _differences(partings: Sequence[Divergence]) -> Iterator[Difference]:
    """Yield the divergences in the form of a verdict; the first ones with the fields that differ."""
    for number, parting in enumerate(partings):
        places = [(side.file, side.position) for side in parting.sides]
        compared = compare_records(OsFiles(), places) if number < _DIFFERENCES_READ else Compared()
        yield Difference(
            offset=parting.offset,
            batches=parting.batches,
            at_ms=_time_at(*places[0]),
            sides=tuple(
                Side(replicas=side.replicas, epoch=side.epoch, is_majority=side.is_majority) for side in parting.sides
            ),
            records=compared.records,
            unread=tuple(label for index in compared.unread for label in parting.sides[index].replicas),
        )


def _time_at(file: str, position: int) -> int:
    """Return the time of a batch in ms since 1970, or -1 if it has none or a running node has removed it."""
    with closing(LogReader(OsFiles(), [file], start=position).seen(past_removed=True)) as found:
        first = next(found, None)
    return max(first.header.max_timestamp, -1) if isinstance(first, LocatedBatch) else -1


def _topic_event(change: TopicChange) -> Event:
    """Return topics that were created, or deleted, close together as one event."""
    count = change.count
    if not change.is_creation:
        text = "a topic is deleted" if count == 1 else f"{count} topics are deleted"
    elif count == 1:
        text = f"topic {change.first} is created"
    else:
        text = f"{count} topics are created, from {change.first} to {change.last}"
    kind = EventKind.CREATED if change.is_creation else EventKind.DELETED
    return Event(at_ms=change.at_ms, kind=kind, text=text, count=count, offset=change.offset)
