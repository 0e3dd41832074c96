"""The one job: from paths to a verdict, by way of Spark.

Decides: which query runs when, and what of their few rows goes where. Must not know: the rules themselves.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final

import msgspec
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from metadata_log.analysis import batch_checks, record_checks, session
from metadata_log.analysis.errors import AnalysisError
from metadata_log.analysis.findings import Finding, sort_findings
from metadata_log.analysis.inputs import ReplicaInput, directory_text, find_replicas
from metadata_log.analysis.judge import MAX_REPLICAS, Conflict, Judge, Place, Variant, holders_of
from metadata_log.analysis.newer import known_ranges, newer_findings
from metadata_log.analysis.replicas import ReplicaFacts, gather, is_voter, ranges_to_judge, voters_in_force
from metadata_log.analysis.report.verdict import (
    Difference,
    Event,
    EventKind,
    LeaderEpoch,
    Progress,
    ReplicaSummary,
    Side,
    Verdict,
)
from metadata_log.analysis.rows import BATCHES, RECORDS
from metadata_log.analysis.source import FORMAT, MetadataLogSource
from metadata_log.analysis.wording import (
    BREAKS_CHAIN,
    absent_voters,
    changed_file,
    replica_findings,
    rule_findings,
    topic_findings,
    unreadable_finding,
)
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.replicas.committed_bounds import committed_bounds
from metadata_log.tools.replicas.record_differences import Compared, compare_records
from metadata_log.tools.words import count_of

Told = Callable[[str], None]

_LARGE_BYTES: Final = 256 << 20
_POINTS: Final = 160
_DIFFERENCES_READ: Final = 20
"""Of so many differences the records are read."""
_HASH_CHUNK: Final = 4 << 20


def analyse(paths: Sequence[Path], *, tell: Told) -> Verdict:
    """Run the job; see `metadata_log.analysis.run_analysis`."""
    began, made_ms = time.monotonic(), time.time_ns() // 1_000_000
    replicas = find_replicas(paths)
    if len(replicas) > MAX_REPLICAS:
        raise AnalysisError(f"there are {len(replicas)} logs; {MAX_REPLICAS} can be compared at once: name fewer")
    size = sum(file.size for replica in replicas for file in replica.files)
    tell("starting Spark")
    spark = session.spark_session(large=size > _LARGE_BYTES)
    spark.dataSource.register(MetadataLogSource)
    tell(f"reading the batches of {count_of(len(replicas), 'log')}")
    batches = _table(spark, BATCHES, replicas).persist()
    try:
        found = _Found(replicas, batches, tell)
        verdict = found.verdict(spark)
        return msgspec.structs.replace(verdict, made_ms=made_ms, elapsed_s=round(time.monotonic() - began, 3))
    except (Py4JJavaError, PySparkException) as error:
        full = session.out_of_space(error)
        if full is None:
            raise
        raise full from error
    finally:
        batches.unpersist()


def _table(spark: SparkSession, table: str, replicas: Sequence[ReplicaInput]) -> DataFrame:
    return (
        spark.read.format(FORMAT)
        .option("table", table)
        .option("replicas", msgspec.json.encode(replicas).decode())
        .option("tasks", str(spark.sparkContext.defaultParallelism))
        .load()
    )


class _Found:
    """The rows that come back from Spark, and what they add up to."""

    def __init__(self, replicas: Sequence[ReplicaInput], batches: DataFrame, tell: Told) -> None:
        self._inputs = {replica.index: replica for replica in replicas}
        self._tell = tell
        broken = batch_checks.broken_rules(batches).collect()
        self._findings = [finding for row in broken for finding in rule_findings(row, self._inputs[row["replica"]])]
        broken_files = {(row["replica"], row["file"]) for row in broken if row["is_checkpoint"]}
        self._facts = gather(replicas, batch_checks.epoch_spans(batches).collect(), broken_files)
        self._broken_at = _first_breaks(broken)
        self._voters = voters_in_force(self._facts)
        self._bounds = committed_bounds([facts.extent for facts in self._facts], self._voters)
        tell("comparing the replicas")
        self._conflicts = [_conflict(row) for row in batch_checks.conflicts(batches).collect()]
        self._progress = self._read_progress(batches)

    def verdict(self, spark: SparkSession) -> Verdict:
        """Judge what was read, then the records."""
        judge = Judge(self._facts, self._voters, self._bounds)
        for conflict in sorted(self._conflicts, key=lambda conflict: conflict.offset):
            self._findings.extend(judge.on_conflict(conflict))
        self._findings.extend(_leader_findings(judge, self._facts))
        for facts in self._facts:
            self._findings.extend(replica_findings(facts))
        self._findings.extend(absent_voters(self._facts, self._voters))
        leading = _most_advanced(self._facts)
        types, events = self._judge_records(spark)
        self._findings.extend(self._changed_files())
        counted = _most_advanced([facts for facts in self._facts if facts.index in {index for index, _ in types}])
        by_type = [(kind, count) for (index, kind), count in types.items() if counted and index == counted.index]
        return Verdict(
            cluster_id=max(facts.source.cluster_id for facts in self._facts),
            replicas=tuple(self._summary(facts) for facts in self._facts),
            voters=tuple(sorted(voter.node_id for voter in self._voters)),
            lower=self._bounds.lower,
            upper=self._bounds.upper,
            because=self._bounds.because,
            epochs=() if leading is None else _epochs(leading),
            records_by_type=tuple(sorted(by_type, key=lambda pair: (-pair[1], pair[0]))),
            findings=sort_findings(list(_without_repeats(self._findings))),
            elapsed_s=0.0,
            java=f"Java {session.java().version} ({session.java().origin})",
            differences=tuple(_differences(self._conflicts, judge, self._inputs)),
            events=events,
        )

    def _judge_records(self, spark: SparkSession) -> tuple[Mapping[tuple[int, str], int], tuple[Event, ...]]:
        """Read the records of the replicas that stand for the others.

        Return how many there are of each type, and the events of the most advanced of these replicas.
        """
        divided = [pair for conflict in self._conflicts for pair in conflict.pairs()]
        ranges, stands_for = ranges_to_judge(self._facts, divided, self._broken_at)
        self._tell(f"reading the records of {count_of(len(ranges), 'log')}")
        chosen = [self._inputs[judged.replica] for judged in ranges]
        records = _table(spark, RECORDS, chosen).persist()
        try:
            counts = record_checks.counts(records).collect()
            for row in counts:
                if row["fault"] is not None:
                    self._findings.append(unreadable_finding(row, self._inputs[row["replica"]]))
            self._findings.extend(newer_findings(counts, self._inputs))
            known = known_ranges(ranges, counts)
            for row in record_checks.broken_topics(records, known).collect() if known else ():
                self._findings.extend(topic_findings(row, self._inputs, stands_for[row["replica"]]))
            events = self._topic_events(records, {judged.replica for judged in ranges})
        finally:
            records.unpersist()
        types: Counter[tuple[int, str]] = Counter()
        for row in counts:
            if not row["is_checkpoint"]:
                types[row["replica"], row["type"] or "unreadable"] += row["count"]
        return types, events

    def _topic_events(self, records: DataFrame, read: Set[int]) -> tuple[Event, ...]:
        leading = _most_advanced([facts for facts in self._facts if facts.index in read])
        times = self._times
        if leading is None or times is None:
            return ()
        first, bucket = times
        rows = record_checks.topic_events(records, replica=leading.index, first_ms=first, bucket_ms=bucket).collect()
        return tuple(sorted(map(_topic_event, rows), key=lambda event: (event.at_ms, event.offset or 0)))

    @property
    def _times(self) -> tuple[int, int] | None:
        """The first time in any log, and the width of the steps in which progress and events are shown."""
        times = [(facts.first_ms, facts.last_ms) for replica in self._facts for facts in replica.epochs]
        times = [(first, last) for first, last in times if first > 0]
        if not times:
            return None
        first, last = min(first for first, _ in times), max(last for _, last in times)
        return first, max(1, (last - first) // _POINTS)

    def _read_progress(self, batches: DataFrame) -> dict[int, tuple[Progress, ...]]:
        if self._times is None:
            return {}
        first, bucket = self._times
        points: dict[int, list[Progress]] = {}
        for row in batch_checks.progress(batches, first_ms=first, bucket_ms=bucket).collect():
            point = Progress(at_ms=row["at_ms"], end_offset=row["end_offset"], epoch=row["epoch"])
            points.setdefault(row["replica"], []).append(point)
        return {index: tuple(sorted(found, key=_along_the_log)) for index, found in points.items()}

    def _changed_files(self) -> Iterator[Finding]:
        """Exported files that are not what their manifest says, where nothing else is found in them that tells more."""
        told = {(finding.replica, finding.file) for finding in self._findings if finding.counts}
        for replica in self._inputs.values():
            for named in replica.manifest.files if replica.manifest is not None else ():
                what = _difference(Path(replica.path) / named.name, named.size, named.sha256)
                if what is not None and (replica.label, named.name) not in told:
                    yield changed_file(replica, named.name, what)

    def _summary(self, facts: ReplicaFacts) -> ReplicaSummary:
        return ReplicaSummary(
            label=facts.source.label,
            node_id=facts.source.key.node_id,
            directory_id=directory_text(facts.source),
            path=facts.source.path,
            is_voter=is_voter(facts, self._voters),
            start_offset=facts.start_offset,
            end_offset=facts.end_offset,
            last_epoch=facts.last_epoch,
            snapshot_end=facts.snapshot_end,
            high_watermark=facts.high_watermark,
            batches=facts.batches,
            records=facts.records,
            size_in_bytes=facts.size_in_bytes,
            epochs=_epochs(facts),
            progress=self._progress.get(facts.index, ()),
        )


def _most_advanced(replicas: Sequence[ReplicaFacts]) -> ReplicaFacts | None:
    return max(replicas, key=lambda facts: (facts.last_epoch, facts.end_offset), default=None)


def _conflict(row: Any) -> Conflict:
    variants = tuple(
        Variant(epoch=variant["epoch"], holders=holders_of(variant["holders"])) for variant in row["variants"]
    )
    places = tuple(
        Place(
            replica=place["replica"],
            file=place["file"],
            position=place["position"],
            at_ms=max(place["timestamp_ms"], -1),
        )
        for place in row["places"]
    )
    return Conflict(offset=row["offset"], count=row["count"], variants=variants, places=places)


def _differences(
    conflicts: Sequence[Conflict], judge: Judge, inputs: Mapping[int, ReplicaInput]
) -> Iterator[Difference]:
    """The conflicts in the words of a verdict, by offset; the first ones with the fields that differ."""
    for number, conflict in enumerate(sorted(conflicts, key=lambda conflict: conflict.offset)):
        majority = judge.majority_of([variant.holders for variant in conflict.variants])
        places = [(str(Path(inputs[place.replica].path) / place.file), place.position) for place in conflict.places]
        compared = compare_records(OsFiles(), places) if number < _DIFFERENCES_READ else Compared()
        sides = tuple(
            Side(
                replicas=tuple(inputs[index].label for index in sorted(variant.holders)),
                epoch=variant.epoch,
                is_majority=variant.holders is majority,
            )
            for variant in conflict.variants
        )
        yield Difference(
            offset=conflict.offset,
            batches=conflict.count,
            at_ms=conflict.places[0].at_ms,
            sides=sides,
            records=compared.records,
            unread=tuple(label for index in compared.unread for label in sides[index].replicas),
        )


def _topic_event(row: Any) -> Event:
    """Topics that were created, or deleted, close together."""
    is_creation = row["type"] == record_checks.CREATES
    first, last, count = row["first"], row["last"], row["count"]
    if not is_creation:
        text = "a topic is deleted" if count == 1 else f"{count} topics are deleted"
    elif count == 1:
        text = f"topic {first['name']} is created"
    else:
        text = f"{count} topics are created, from {first['name']} to {last['name']}"
    kind = EventKind.CREATED if is_creation else EventKind.DELETED
    return Event(at_ms=first["timestamp_ms"], kind=kind, text=text, count=count, offset=first["offset"])


def _first_breaks(broken: Sequence[Any]) -> dict[int, int]:
    """From which offset on each replica's log cannot be judged as a whole."""
    breaks: dict[int, int] = {}
    for row in broken:
        if not row["is_checkpoint"] and BREAKS_CHAIN.intersection(row["kinds"]):
            at = min(row["due"], row["due"] if row["base_offset"] is None else row["base_offset"])
            breaks[row["replica"]] = min(at, breaks.get(row["replica"], at))
    return breaks


def _leader_findings(judge: Judge, replicas: Sequence[ReplicaFacts]) -> Iterator[Finding]:
    leaders: dict[int, dict[tuple[int, int], frozenset[int]]] = {}
    for facts in replicas:
        for epoch in facts.epochs:
            of_epoch = leaders.setdefault(epoch.span.epoch, {})
            for start in epoch.leaders:
                key = (start.leader_id, start.offset)
                of_epoch[key] = of_epoch.get(key, frozenset()) | {facts.index}
    for number, of_epoch in sorted(leaders.items()):
        if len(of_epoch) > 1:
            yield from judge.on_leaders(number, of_epoch)


def _epochs(facts: ReplicaFacts) -> tuple[LeaderEpoch, ...]:
    return tuple(
        LeaderEpoch(
            epoch=epoch.span.epoch,
            leader_id=epoch.leaders[0].leader_id if epoch.leaders else -1,
            start_offset=epoch.span.start_offset,
            end_offset=epoch.span.end_offset,
            first_ms=epoch.first_ms,
            last_ms=epoch.last_ms,
        )
        for epoch in facts.epochs
    )


def _along_the_log(point: Progress) -> tuple[int, int]:
    return point.at_ms, point.end_offset


def _difference(path: Path, size: int, sha256: str) -> str | None:
    """How a file differs from what a manifest says of it, or None."""
    if not path.is_file():
        return "it is gone"
    if path.stat().st_size != size:
        return f"it has {path.stat().st_size} bytes, not {size}"
    digest = hashlib.sha256()
    with path.open("rb") as reading:
        while chunk := reading.read(_HASH_CHUNK):
            digest.update(chunk)
    return None if digest.hexdigest() == sha256 else "its sha256 is another"


def _without_repeats(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Each place once: the first of what is found of one kind in one replica at one offset."""
    seen: set[tuple[object, ...]] = set()
    for finding in findings:
        place = (finding.kind, finding.replica, finding.file, finding.offset)
        if place not in seen:
            seen.add(place)
            yield finding
