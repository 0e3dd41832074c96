"""Compares the time in a checkpoint's header with the times that other replicas' logs have at its end.

Decides: which replicas are witnesses. Must not know: the replica's own log (`checkpoint_against_log` has compared it).

Logs with the same epoch before an offset hold the same batch there (log matching, KIP-595). So if the times differ, the
checkpoint's name is wrong. But Kafka's leader notes the time of its append, and followers fetch that checkpoint. So a
time that is a little later proves nothing, unless the log begins behind the ends of all checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator

from metadata_log.tools.findings.facts import Misnamed
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.times import time_text
from metadata_log.tools.verify.checkpoint import CheckpointReport
from metadata_log.tools.verify.checkpoint_against_log import APPEND_LAG_MS
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.words import join_names


def check_times(view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each misnamed checkpoint whose end is outside its own log.

    All logs must have been probed at the ends of all checkpoints.
    """
    for replica in view.replicas:
        for checkpoint in replica.facts.checkpoints:
            end, said = checkpoint.end, checkpoint.last_contained_ms or 0
            if end is None or end.offset == 0 or said <= 0 or _reaches(replica.facts, int(end.offset)):
                continue
            times = [(other, time) for other in view.replicas for time in _time_at(other, checkpoint)]
            lag = 0 if _leaves_hole(replica.facts) else APPEND_LAG_MS
            if not times or any(time is not None and time <= said <= time + lag for _, time in times):
                continue
            names = join_names([other.label for other, _ in times])
            there = f"{_there(times[0][1])} in the log of {names}"
            yield finding(
                Misnamed(end=int(end.offset), epoch=int(end.epoch), time_ms=said, there=there),
                node_id=replica.source.node_id,
                file=checkpoint.path,
                offset=int(end.offset),
                epoch=int(end.epoch),
            )


def _leaves_hole(report: LogFacts) -> bool:
    """Return True if the log starts after the ends of all its checkpoints. No node leaves such a gap."""
    return all(one.end is None or one.end.offset < report.start_offset for one in report.checkpoints)


def _reaches(report: LogFacts, offset: int) -> bool:
    return report.start_offset < offset <= report.end_offset


def _time_at(replica: Replica, checkpoint: CheckpointReport) -> Iterator[int | None]:
    """Yield the time before the checkpoint's end if the log has that epoch there; None if no batch ends there."""
    report, end = replica.facts, checkpoint.end
    if end is None or not report.is_sound or not _reaches(report, int(end.offset)):
        return
    if any(span.epoch == end.epoch and span.start_offset < end.offset <= span.end_offset for span in report.epochs):
        yield report.times.get(int(end.offset))


def _there(time_ms: int | None) -> str:
    return "no batch ends there" if time_ms is None else f"the batch before that offset is of {time_text(time_ms)}"
