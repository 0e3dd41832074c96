"""The outcome of an analysis: which logs were read, how far they are committed, and the findings.

Decides: when a verdict is clean, and its sentence. Must not know: how it is shown.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from metadata_log.analysis.log_course import Progress
from metadata_log.tools.check.scope import NotJudged, not_judged_lines
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.findings.kinds import KINDS, NEWER_RELEASE
from metadata_log.tools.replicas.record_differences import RecordDifference
from metadata_log.tools.words import count_of, short_paths

CLEAN: Final = 0
FINDINGS: Final = 1
_PATH_ENDS: Final = r"(?![\w.-])"


class LeaderEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One epoch of the cluster's log: its leader (-1 without a LeaderChange), first offset and time."""

    epoch: int
    leader_id: int
    start_offset: int
    end_offset: int
    first_ms: int
    last_ms: int


class ReplicaSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One replica's log. Offsets are exclusive at their end; `epochs` are its own.

    `node_id` is `None` if the log's node is unknown.
    """

    label: str
    node_id: int | None
    directory_id: str
    path: str
    is_voter: bool
    start_offset: int
    end_offset: int
    last_epoch: int
    snapshot_end: int
    high_watermark: int | None
    batches: int
    records: int
    size_in_bytes: int
    epochs: tuple[LeaderEpoch, ...]
    progress: tuple[Progress, ...]


class EventKind(enum.StrEnum):
    """The kind of event: a change of topics, or the operator's mark."""

    CREATED = "created"
    DELETED = "deleted"
    MARKED = "marked"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event at a time; elections are in `Verdict.epochs`.

    It concerns `count` topics, from `offset` on: events close together are joined. A mark has neither topics nor an
    offset.
    """

    at_ms: int
    kind: EventKind
    text: str
    count: int = 1
    offset: int | None = None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas, by their labels, that hold one of several batches at an offset."""

    replicas: tuple[str, ...]
    epoch: int
    is_majority: bool


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A way in which replicas divide: first at `offset`, at `batches` offsets in all.

    Attributes:
        at_ms: the time of the first side's batch; -1 if it has none.
        records: the fields that differ at the first offsets; their values are in the order of `sides`.
        unread: labels of replicas whose records there cannot be read; then `records` is empty.
    """

    offset: int
    batches: int
    at_ms: int
    sides: tuple[Side, ...]
    records: tuple[RecordDifference, ...] = ()
    unread: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an analysis.

    Attributes:
        cluster_id: of most logs; empty if no meta.properties states one.
        paths: all paths that were read.
        replicas: by node id.
        voters: node ids of the voter set in force; empty if no log names one.
        lower, upper: committed bounds. Below `lower` every record was committed, from `upper` on none was; `upper` is
            None if unknown.
        because: the reason for `lower`.
        epochs: of the most advanced log.
        records_by_type: the count of each type in the most advanced log, the most frequent first.
        findings: those of `kraft check`, the gravest first.
        not_judged: the kinds that could not be judged, with the reason.
        differences: where replicas hold different batches, by offset.
        events: topics of the most advanced log and marks of the operator, by time.
        made_ms, made_by: time and program, with its version.
        elapsed_s: the duration.
        java: the Java that ran Spark.
    """

    cluster_id: str
    paths: tuple[str, ...]
    replicas: tuple[ReplicaSummary, ...]
    voters: tuple[int, ...]
    lower: int
    upper: int | None
    because: str
    epochs: tuple[LeaderEpoch, ...]
    records_by_type: tuple[tuple[str, int], ...]
    findings: tuple[Finding, ...]
    not_judged: tuple[NotJudged, ...]
    elapsed_s: float
    java: str
    differences: tuple[Difference, ...] = ()
    events: tuple[Event, ...] = ()
    made_ms: int = -1
    made_by: str = ""

    @property
    def is_clean(self) -> bool:
        """True if there are no findings but notes."""
        return not any(finding.counts for finding in self.findings)

    @property
    def exit_status(self) -> int:
        """0 if clean, 1 with findings. (2, wrong use, is an `AnalysisError`.)"""
        return CLEAN if self.is_clean else FINDINGS

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        cluster = f"cluster {self.cluster_id}" if self.cluster_id else "an unnamed cluster"
        logs = f"{count_of(len(self.replicas), 'log')} of {cluster}"
        errors = sum(finding.severity is Severity.ERROR for finding in self.findings)
        warnings = sum(finding.severity is Severity.WARNING for finding in self.findings)
        if self.is_clean:
            newer = [f"; {found.meaning}" for found in self.findings if found.kind == NEWER_RELEASE]
            notes = f", {count_of(len(self.findings), 'note')}" if self.findings else ""
            return f"No errors, no warnings{notes}: {logs}, {self._judged}{''.join(newer)}."
        parts = [count_of(errors, "error")] if errors else []
        parts += [count_of(warnings, "warning")] if warnings else []
        return f"Not clean: {' and '.join(parts)} in {logs}, {self._judged}."

    @property
    def judged_kinds(self) -> tuple[str, ...]:
        """The kinds of findings that were judged for every log."""
        without = {kind for one in self.not_judged for kind in one.kinds}
        return tuple(kind for kind in KINDS if kind not in without)

    @property
    def _judged(self) -> str:
        """The judged kinds and offsets, as a part of the sentence."""
        count = len(self.judged_kinds)
        kinds = f"{count} kinds of findings" if count == len(KINDS) else f"{count} of {len(KINDS)} kinds of findings"
        start = min((replica.start_offset for replica in self.replicas), default=0)
        end = max((replica.end_offset for replica in self.replicas), default=0)
        return f"{kinds}, offsets {start} to {end}, committed up to {self.lower}"

    @property
    def not_judged_lines(self) -> tuple[str, ...]:
        """A line for each reason why kinds were not judged."""
        return not_judged_lines(self.not_judged)

    def label_of(self, found: Finding) -> str:
        """Return the label of the replica that a finding concerns, else its node, else its file."""
        if found.file is not None:
            file = Path(found.file)
            holders = [replica for replica in self.replicas if file.is_relative_to(replica.path)]
            if holders:
                return max(holders, key=lambda replica: len(replica.path)).label
        if found.node_id is None:
            return found.file or "all"
        labels = [replica.label for replica in self.replicas if replica.node_id == found.node_id]
        return labels[0] if len(labels) == 1 else f"node {found.node_id}"

    def count_of(self, kind: str) -> int:
        """Return the number of findings of one kind that count."""
        return sum(finding.kind == kind and finding.counts for finding in self.findings)


def with_marks(verdict: Verdict, marks: Sequence[tuple[int, str]]) -> Verdict:
    """Return the verdict with the operator's marks (time in ms, text) among its events."""
    marked = (Event(at_ms=at_ms, kind=EventKind.MARKED, text=text) for at_ms, text in marks)
    events = sorted([*verdict.events, *marked], key=lambda event: (event.at_ms, event.kind, event.text))
    return msgspec.structs.replace(verdict, events=tuple(events))


def for_other_readers(verdict: Verdict) -> Verdict:
    """Return the verdict without this machine's paths, and without characters that would distort its texts.

    Each path is cut in all texts to the part that distinguishes the replicas. An unprintable character, such as one
    that reverses the direction of a text, becomes its escape.
    """
    replicas = [replica.path for replica in verdict.replicas]
    short = dict(zip(replicas, short_paths(replicas), strict=True))
    others = [path for path in verdict.paths if path not in short]
    short |= {path: Path(path).name or path for path in others}
    found = [re.escape(path) for path in sorted(short, key=len, reverse=True) if "/" in path]
    named = re.compile(f"(?<![\\w./-])(?:{'|'.join(found) or '(?!)'}){_PATH_ENDS}")

    def shown(value: Any) -> Any:
        if isinstance(value, str):
            return _printable(named.sub(lambda found: short[found[0]], value))
        if isinstance(value, dict):
            return {key: shown(each) for key, each in value.items()}
        return [shown(each) for each in value] if isinstance(value, list | tuple) else value

    return msgspec.convert(shown(msgspec.to_builtins(verdict)), Verdict)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
